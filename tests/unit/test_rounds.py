"""The loop of commands that work until a signal ends them."""

from __future__ import annotations

import gc
import signal
from collections.abc import Iterator

import pytest

from proxyctl.cli.rounds import run_rounds
from proxyctl.instance.interrupts import uninterrupted


@pytest.fixture(autouse=True)
def signals() -> Iterator[None]:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}
    yield
    gc.enable()
    for number, former in before.items():
        signal.signal(number, former)


def test_a_signal_ends_the_rounds() -> None:
    rounds = []

    def work() -> None:
        rounds.append(len(rounds))
        if len(rounds) == 3:
            signal.raise_signal(signal.SIGTERM)
            rounds.append("not reached")

    run_rounds(0.01, work)
    assert rounds == [0, 1, 2]


def test_a_signal_that_the_work_held_back_ends_them_after_the_round() -> None:
    rounds = []

    def work() -> None:
        with uninterrupted():
            signal.raise_signal(signal.SIGTERM)
        rounds.append("finished")

    run_rounds(3600, work)
    assert rounds == ["finished"]
