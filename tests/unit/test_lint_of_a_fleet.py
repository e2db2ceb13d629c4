"""The command that a plan prints for lint, where instances share the plan of any of them."""

from __future__ import annotations

from dataclasses import replace

from proxyctl.fleet.outcome import Fleet, Planned
from proxyctl.plan.plan import Plan
from proxyctl.render.plan import plan_text
from proxyctl.render.plans_of_fleet import in_sync_lines

SHARED = Plan("px2", "10.0.0.2:6032", "2.7.1", known_findings=2)


def test_the_command_names_the_instance_that_is_shown() -> None:
    shown = plan_text(Planned("px1", "10.0.0.1:6032", SHARED, []))
    assert "2 findings were there before: see proxyctl lint --instance px1" in shown


def test_instances_in_sync_with_one_remark_stay_on_one_line() -> None:
    plan = replace(SHARED, known_findings=0, skipped_checks=("PX101",))
    fleet = Fleet([Planned(f"px{n}", f"10.0.0.{n}:6032", plan, []) for n in (1, 2)])
    (line,) = in_sync_lines(fleet)
    assert line.startswith("px1, px2: in sync; lint: 1 check did not run: ")
    assert line.endswith("; run proxyctl lint --instance px1")
