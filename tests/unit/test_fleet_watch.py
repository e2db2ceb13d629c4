"""What a watch decides about the members of a ProxySQL Cluster."""

from __future__ import annotations

from proxyctl.fleet.outcome import Planned
from proxyctl.plan.plan import Plan
from proxyctl.watch.decision import Action, Decision, Situation
from proxyctl.watch.fleet_watch import hold_clusters_together

MEMBERS = ["10.0.0.1:6032", "10.0.0.2:6032"]
APPLY = Decision(Action.APPLY, Situation.DIFFERS, "the files changed")
REFUSED = Decision(Action.REPORT, Situation.REFUSED, "a guard")
IN_SYNC = Decision(Action.NOTHING, Situation.IN_SYNC, "matches")


def planned(name: str, members: list[str]) -> Planned:
    return Planned.of(Plan(name, f"{name}:6032", "2.7.1", members=members))


def held(**decisions: Decision) -> dict[str, Action]:
    """Return the actions for px1 and px2, members of a cluster, and px3, which is alone."""
    fleet = [planned("px1", MEMBERS), planned("px2", MEMBERS), planned("px3", [])]
    hold_clusters_together(fleet, decisions)
    return {name: decision.action for name, decision in decisions.items()}


def test_a_member_waits_for_one_that_must_not_change() -> None:
    assert held(px1=APPLY, px2=REFUSED, px3=APPLY) == {
        "px1": Action.WAIT,
        "px2": Action.REPORT,
        "px3": Action.APPLY,
    }


def test_a_member_that_matches_the_files_holds_nobody_back() -> None:
    assert held(px1=APPLY, px2=IN_SYNC, px3=REFUSED) == {
        "px1": Action.APPLY,
        "px2": Action.NOTHING,
        "px3": Action.REPORT,
    }
