"""What a watch decides about one instance, round after round."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from proxyctl.plan.plan import Refusal
from proxyctl.watch.decision import (
    Action,
    Decision,
    InstanceMemory,
    InstanceReading,
    Situation,
    WatchRules,
    applied,
    failed,
    is_asked,
    judge,
    missed,
)

OLD = -100_000.0
"""A start long before the watch."""
IN_SYNC = InstanceReading(is_in_sync=True, desired=1, change=0, started_at=OLD)
EDITED = replace(IN_SYNC, is_in_sync=False, change=7)
CHANGED_FILES = replace(EDITED, desired=2)
PENDING = Refusal("pending_edit", "MYSQL SERVERS: 1 pending edit", fix="ask who made it")

NOTHING, REPORT, APPLY, WAIT = Action.NOTHING, Action.REPORT, Action.APPLY, Action.WAIT


@dataclass
class Watched:
    """An instance that is looked at again and again."""

    rules: WatchRules = field(default_factory=lambda: WatchRules(applies=True, grace_s=300))
    memory: InstanceMemory = field(default_factory=InstanceMemory)
    is_paused: bool = False

    def at(self, now: float, reading: InstanceReading) -> Decision:
        self.memory, decision = judge(
            self.memory, reading, self.rules, now, is_paused=self.is_paused
        )
        return decision

    def does(self, now: float, reading: InstanceReading) -> tuple[Action, Situation]:
        decision = self.at(now, reading)
        return decision.action, decision.situation


def test_a_hand_edit_is_taken_back_after_the_grace() -> None:
    one = Watched()
    assert one.does(0, IN_SYNC) == (NOTHING, Situation.IN_SYNC)
    assert one.does(60, EDITED) == (WAIT, Situation.EDITED)
    assert one.does(359, EDITED) == (WAIT, Situation.EDITED)
    assert one.does(360, EDITED) == (APPLY, Situation.DIFFERS)


def test_a_hand_edit_keeps_its_grace_when_it_grows_or_the_files_change() -> None:
    one = Watched()
    one.at(0, IN_SYNC)
    one.at(60, EDITED)
    assert one.does(120, replace(EDITED, change=8)) == (WAIT, Situation.EDITED)
    assert one.does(180, CHANGED_FILES) == (WAIT, Situation.EDITED)
    assert one.does(360, CHANGED_FILES) == (APPLY, Situation.DIFFERS)


def test_a_hand_edit_that_somebody_takes_back_is_forgotten() -> None:
    one = Watched()
    one.at(0, IN_SYNC)
    one.at(60, EDITED)
    one.at(120, IN_SYNC)
    assert one.does(400, EDITED) == (WAIT, Situation.EDITED)


def test_changed_files_do_not_wait() -> None:
    one = Watched()
    one.at(0, IN_SYNC)
    assert one.does(60, CHANGED_FILES) == (APPLY, Situation.DIFFERS)


@pytest.mark.parametrize(
    ("reading", "expected"),
    [
        (replace(EDITED, is_empty=True), (APPLY, Situation.DIFFERS)),
        (replace(EDITED, started_at=-20), (APPLY, Situation.DIFFERS)),
        (replace(EDITED, was_interrupted=True), (APPLY, Situation.DIFFERS)),
        (EDITED, (WAIT, Situation.EDITED)),
        (replace(EDITED, started_at=None), (WAIT, Situation.EDITED)),
    ],
    ids=["empty", "just started", "after a killed apply", "old", "of unknown age"],
)
def test_what_differs_at_first_sight(
    reading: InstanceReading, expected: tuple[Action, Situation]
) -> None:
    assert Watched().does(0, reading) == expected


def test_what_differed_at_first_sight_waits_for_the_grace_only() -> None:
    one = Watched()
    one.at(0, EDITED)
    assert one.does(300, EDITED) == (APPLY, Situation.DIFFERS)


def test_a_young_instance_stays_one_while_applies_are_paused() -> None:
    one, young = Watched(is_paused=True), replace(EDITED, started_at=-20)
    assert one.does(0, young) == (WAIT, Situation.PAUSED)
    one.is_paused = False
    assert one.does(10_000, young) == (APPLY, Situation.DIFFERS)


def test_a_restart_is_no_hand_edit() -> None:
    one = Watched()
    one.at(0, IN_SYNC)
    assert one.does(1000, replace(EDITED, started_at=950)) == (APPLY, Situation.DIFFERS)


def test_uptimes_in_whole_seconds_are_no_restart() -> None:
    one = Watched()
    one.at(0, IN_SYNC)
    assert one.does(60, replace(EDITED, started_at=OLD + 1.5)) == (WAIT, Situation.EDITED)
    slow = replace(EDITED, started_at=OLD + 6, answer_s=5)
    assert one.does(70, slow) == (WAIT, Situation.EDITED)
    assert one.does(80, EDITED) == (WAIT, Situation.EDITED)


def test_a_watch_that_only_reports() -> None:
    one = Watched(WatchRules(applies=False))
    one.at(0, IN_SYNC)
    assert one.does(60, EDITED) == (REPORT, Situation.DIFFERS)
    assert one.does(6000, EDITED) == (REPORT, Situation.DIFFERS)
    refused = replace(EDITED, refusals=[PENDING])
    assert one.does(6060, refused) == (REPORT, Situation.REFUSED)


def test_a_refused_change_is_never_applied() -> None:
    one = Watched()
    refused = replace(EDITED, is_empty=True, refusals=[PENDING])
    for now in range(0, 6000, 60):
        assert one.does(now, refused) == (REPORT, Situation.REFUSED)
    assert one.does(6000, replace(EDITED, is_empty=True)) == (APPLY, Situation.DIFFERS)


def test_a_failed_change_is_not_tried_again_until_something_changes() -> None:
    one, other = Watched(), replace(CHANGED_FILES, change=8)
    one.at(0, IN_SYNC)
    one.at(60, CHANGED_FILES)
    one.memory, _ = failed(one.memory, CHANGED_FILES, "it failed")
    assert one.does(120, CHANGED_FILES) == (WAIT, Situation.FAILED)
    assert one.does(180, other) == (APPLY, Situation.DIFFERS)
    one.memory, _ = failed(one.memory, other, "it failed")
    assert one.does(240, CHANGED_FILES) == (WAIT, Situation.FAILED)  # no way to go round in circles
    assert one.does(300, other) == (WAIT, Situation.FAILED)
    assert one.does(360, replace(other, started_at=350)) == (APPLY, Situation.DIFFERS)


def test_after_an_apply_a_difference_is_a_hand_edit() -> None:
    one = Watched()
    one.at(0, replace(EDITED, is_empty=True))
    one.memory, decision = applied(one.memory, EDITED)
    assert (decision.action, decision.situation) == (NOTHING, Situation.IN_SYNC)
    assert one.does(60, EDITED) == (WAIT, Situation.EDITED)


def test_a_lock_is_waited_for_and_decides_nothing() -> None:
    one = Watched()
    one.at(0, IN_SYNC)
    locked = replace(CHANGED_FILES, holder="apply by pid 1 on px")
    assert one.does(60, locked) == (WAIT, Situation.LOCKED)
    assert one.does(120, replace(locked, is_in_sync=True)) == (WAIT, Situation.LOCKED)
    assert one.does(180, CHANGED_FILES) == (APPLY, Situation.DIFFERS)


def test_an_instance_that_does_not_answer_is_asked_less_and_less() -> None:
    rules, memory = WatchRules(every_s=60), InstanceMemory()
    asked = []
    for number in range(30):
        now = number * 60.0
        if is_asked(memory, now):
            asked.append(number)
            memory, decision = missed(memory, "refused", rules, now)
            assert (decision.action, decision.situation) == (WAIT, Situation.UNREACHABLE)
    assert asked == [0, 1, 2, 4, 8, 13, 18, 23, 28]
    memory, _ = judge(memory, IN_SYNC, rules, 1800)
    assert is_asked(memory, 1800)


def test_rounds_further_apart_than_the_longest_backoff_ask_always() -> None:
    rules, memory = WatchRules(every_s=3600), InstanceMemory()
    for number in range(20):
        assert is_asked(memory, number * 3600)
        memory, _ = missed(memory, "refused", rules, number * 3600)


def test_a_line_is_for_a_new_situation_only() -> None:
    one = Watched(WatchRules(applies=False))
    first = one.at(0, IN_SYNC)
    assert first.is_new(None)
    assert not one.at(60, IN_SYNC).is_new(first)
    edited = one.at(120, EDITED)
    assert edited.is_new(first)
    assert not one.at(180, EDITED).is_new(edited)
    assert one.at(240, replace(EDITED, change=8)).is_new(edited)
