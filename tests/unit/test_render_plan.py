"""The plan for a terminal: the listed rows, their text, and the width of lines."""

from __future__ import annotations

import pytest

from proxyctl.apply.result import ApplyResult
from proxyctl.fleet.outcome import Planned
from proxyctl.plan.plan import Plan, Refusal
from proxyctl.plan.steps import with_images
from proxyctl.proxysql.topology import Topology
from proxyctl.render.apply import apply_text
from proxyctl.render.drift import drift_text
from proxyctl.render.plan import MOST_ADDED, plan_text
from proxyctl.render.style import Style
from tests.support.build import desired, diff, module_plan, rows

RULES = "mysql_query_rules"


def plan_of(count=1, current=(), **more):
    wanted = desired(RULES, *({"rule_id": n} for n in range(1, count + 1)))
    module = module_plan(diff(wanted, rows(RULES, *({"rule_id": n} for n in current))))
    (module,) = with_images([module], Topology(), {})
    return Plan("h:6032", "h:6032", "2.7.1", [module], **more)


def test_a_long_list_of_new_rows_is_counted_and_every_deletion_is_listed():
    gone = range(10_000, 10_000 + MOST_ADDED + 50)
    text = plan_text(Planned.of(plan_of(MOST_ADDED + 5, gone)))
    assert text.count("\n  + rule ") == MOST_ADDED
    assert "  + ... and 5 more new rows of mysql_query_rules (--format json lists all)\n" in text
    assert text.count("\n  - rule ") == len(gone)


def test_without_colour_it_reads_the_same():
    plan = plan_of(2, [2, 3])
    coloured = plan_text(Planned.of(plan), Style(is_coloured=True))
    for code in ("0", "1", "2", "31", "32", "33"):
        coloured = coloured.replace(f"\x1b[{code}m", "")
    assert coloured == plan_text(Planned.of(plan))


PATTERN = "^SELECT .* FROM orders JOIN customers USING \\(customer_id\\) WHERE region"


def plan() -> Plan:
    """A plan with a new rule, a deleted rule, and everything that may follow them."""
    wanted = desired(
        RULES, {"rule_id": 1, "match_digest": PATTERN, "destination_hostgroup": 10, "timeout": 1000}
    )
    held = rows(RULES, {"rule_id": 2, "match_pattern": PATTERN, "comment": "of another team " * 3})
    return Plan(
        "px1",
        "127.0.0.1:6032",
        "2.7.1",
        [module_plan(diff(wanted, held))],
        refusals=[
            Refusal(
                "pending_edit",
                "MYSQL QUERY RULES: 1 pending edit; the files say otherwise",
                "--discard-pending",
                (
                    "take back:  UPDATE mysql_query_rules SET comment='a long statement to copy'"
                    " WHERE rule_id=7 AND username='somebody with a name of many words';",
                ),
                fix="put into the files what is to stay",
            )
        ],
        warnings=["a warning of many words, " * 8],
        left_alone=["mysql_query_rules: 3 rows outside rule_id 1 to 100", "db1:3306 drained"],
    )


@pytest.mark.parametrize("width", [80, 100, 120])
def test_lines_stay_within_the_width_and_words_stay_whole(width: int) -> None:
    whole = plan_text(Planned.of(plan()))
    lines = plan_text(Planned.of(plan()), Style(width=width)).splitlines()
    statements = [line for line in lines if line.lstrip().startswith("take back:")]
    assert all(len(line) <= width for line in lines if line not in statements)
    assert sorted(whole.split()) == sorted(" ".join(lines).split())
    assert len(statements) == 1


@pytest.mark.parametrize("width", [None, 80])
def test_a_pattern_follows_its_name_without_a_comma(width: int | None) -> None:
    pattern = "x" * 75
    row = {"rule_id": 1, "username": "app", "match_pattern": pattern, "timeout": 1000}
    found = Plan("px1", "1:6032", "2.7.1", [module_plan(diff(desired(RULES, row), rows(RULES)))])
    lines = plan_text(Planned.of(found), Style(width=width)).splitlines()
    place = next(n for n, line in enumerate(lines) if "username" in line)
    assert lines[place + 1] == f"        match_pattern {pattern}"


@pytest.mark.parametrize("width", [80, 120])
def test_so_do_drift_the_report_of_an_apply_and_a_saved_plan(width: int) -> None:
    style, found = Style(width=width), plan()
    done = ApplyResult(statements=1, notes=["a note of many words, " * 8], snapshot="/a/snapshot")
    lines = [
        *drift_text(found, style).splitlines(),
        *apply_text(found, done, style).splitlines(),
        *(part for line in plan_text(Planned.of(found)).splitlines() for part in style.line(line)),
    ]
    statements = [line for line in lines if line.lstrip().startswith("take back:")]
    assert all(len(line) <= width for line in lines if line not in statements)
    assert len(statements) == 1


def test_a_note_goes_below_its_row_when_there_is_no_room() -> None:
    lines = plan_text(Planned.of(plan()), Style(width=80)).splitlines()
    (place,) = (n for n, line in enumerate(lines) if "- rule 2" in line)
    assert "in no file" not in lines[place]
    assert "        in no file" in lines[place : place + 3]
    assert any(
        line.endswith("in no file") and "rule 2" in line
        for line in plan_text(Planned.of(plan())).splitlines()
    )
