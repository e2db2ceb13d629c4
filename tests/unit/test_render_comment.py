"""The plan as markdown: its length, and escaped text."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from proxyctl.fleet.outcome import Fleet, Planned
from proxyctl.plan.plan import Plan, Refusal
from proxyctl.render.comment import LONGEST, plans_markdown
from tests.support.build import desired, diff, module_plan

RULES, SERVERS = "mysql_query_rules", "mysql_servers"
HOSTILE = "```\n</details>\n````diff @octocat <b>x</b> `y` ~~~ \r\n### x"


def plan_of(rules=1, servers=0, **values):
    given = [{"rule_id": n, "match_digest": f"^SELECT {n}", **values} for n in range(1, rules + 1)]
    modules = [module_plan(diff(desired(RULES, *given), {}))] if rules else []
    hosts = [{"hostgroup_id": 1, "hostname": f"db{n}"} for n in range(servers)]
    if hosts:
        modules.append(module_plan(diff(desired(SERVERS, *hosts), {})))
    return Plan("px1", "h:6032", "2.7.1", modules)


def comment(plan, **more):
    return plans_markdown(Fleet.of(plan), is_all=False, **more)


def fleet_of(plan, count):
    """A fleet of instances with the same changes; each has a warning of its own."""
    plans = (replace(plan, warnings=[*plan.warnings, f"of {n}"]) for n in range(count))
    return Fleet([Planned.of(instance_plan) for instance_plan in plans])


def counted(text, noun="row"):
    found = re.findall(rf"\.\.\. and ([\d,]+) more {noun}", text)
    return sum(int(number.replace(",", "")) for number in found)


def test_a_short_plan_is_not_cut():
    text = comment(plan_of(rules=300))
    assert text.count("\n+ rule ") == 300
    assert "more" not in text


@pytest.mark.parametrize("plans", [1, 12])
def test_a_long_plan_is_cut_at_a_row_and_says_how_many_are_missing(plans):
    fleet = fleet_of(plan_of(rules=2_000, servers=3), plans)
    text = plans_markdown(fleet, is_all=plans > 1)
    assert len(text) <= LONGEST
    assert len(text) > LONGEST // 2
    shown = text.count("### proxyctl plan")
    assert shown + counted(text, "instance") == plans
    assert text.count("\n+ rule ") + counted(text) == 2_000 * shown
    assert text.count("\n+ server ") == 3 * shown  # what is small is shown whole
    assert text.count("```") == 2 * text.count("<details open>") == 2 * text.count("</details>")
    assert "; see `proxyctl plan`" in text


def test_one_row_that_is_too_long_is_counted():
    text = comment(plan_of(replace_pattern="x" * 100, comment="y" * 500), limit=400)
    assert "... and 1 more instance" in text
    text = comment(plan_of(rules=40, comment="y" * 500), limit=4_100)
    assert counted(text) > 0
    assert len(text) <= 4_100


def test_refusals_and_remarks_are_limited_too():
    plan = replace(
        plan_of(rules=500),
        refusals=[
            Refusal("x", f"row {n} {'long ' * 200}", "--force", fix="wait") for n in range(1_000)
        ],
        left_alone=[f"row {n}" for n in range(10_000)],
    )
    text = comment(plan)
    assert len(text) <= LONGEST
    assert text.count("row ") > 40
    assert counted(text, "remark") > 10_000


def test_no_text_ends_its_block():
    text = comment(plan_of(comment=HOSTILE, match_digest=HOSTILE, replace_pattern=HOSTILE))
    inside = re.fullmatch(r".*?\n```diff\n(.*?)\n```\n\n</details>\n+", text, re.S)
    assert inside is not None
    assert all(line.startswith("+ ") for line in inside[1].splitlines())
    assert "```" not in inside[1]


def test_remarks_are_neither_markup_nor_html_nor_mentions():
    plan = replace(
        plan_of(),
        name=HOSTILE,
        refusals=[Refusal("x", HOSTILE + " &#64;octocat @team", None, fix=HOSTILE)],
        warnings=[HOSTILE],
        left_alone=[HOSTILE],
    )
    text = comment(plan)
    head, _, rest = text.partition("<details open>")
    assert rest.count("</details>") == 1
    assert "@o" not in head
    assert "@t" not in head
    assert "&#64;" not in head
    assert not re.search(r"(?<!\\)[<`]", head)
    assert len(head.splitlines()) == 9
