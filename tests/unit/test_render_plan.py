"""The plan for a terminal: which rows are listed, and what its last line says."""

from __future__ import annotations

from proxyctl.plan.diff import Surroundings
from proxyctl.plan.plan import Plan
from proxyctl.plan.steps import with_images
from proxyctl.render.plan import MOST_ADDED, plan_text
from proxyctl.render.style import Style
from tests.support.build import desired, diff, module_plan, rows

RULES = "mysql_query_rules"


def plan_of(count=1, current=(), **more):
    wanted = desired(RULES, *({"rule_id": n} for n in range(1, count + 1)))
    module = module_plan(diff(wanted, rows(RULES, *({"rule_id": n} for n in current))))
    (module,) = with_images([module], Surroundings(), frozenset())
    return Plan("h:6032", "h:6032", "2.7.1", [module], **more)


def test_a_long_list_of_new_rows_is_counted_and_every_deletion_is_listed():
    gone = range(10_000, 10_000 + MOST_ADDED + 50)
    text = plan_text(plan_of(MOST_ADDED + 5, gone))
    assert text.count("\n  + rule ") == MOST_ADDED
    assert "  + ... and 5 more new rows of mysql_query_rules (--format json lists all)\n" in text
    assert text.count("\n  - rule ") == len(gone)


def test_without_colour_it_reads_the_same():
    plan = plan_of(2, [2, 3])
    coloured = plan_text(plan, Style(is_coloured=True))
    for code in ("0", "1", "2", "31", "32", "33"):
        coloured = coloured.replace(f"\x1b[{code}m", "")
    assert coloured == plan_text(plan)
