"""Signals that end a process: the first counts, later ones are ignored."""

from __future__ import annotations

import signal

import pytest

from proxyctl.instance.interrupts import interruptible, uninterrupted

ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def all_signals() -> None:
    for number in ENDS:
        signal.raise_signal(number)


@pytest.mark.parametrize("number", ENDS)
def test_only_the_first_interrupts(number: signal.Signals) -> None:
    """That holds also before and after the block that holds signals back."""
    passed = []
    with interruptible():
        try:
            signal.raise_signal(number)
            passed.append("the first")
        except KeyboardInterrupt:
            all_signals()
            with uninterrupted():
                all_signals()
            all_signals()
            passed.append("those behind it")
    all_signals()
    assert passed == ["those behind it"]


def test_blocks_inside_each_other_take_one_signal() -> None:
    passed = []
    with interruptible():
        try:
            with interruptible():
                signal.raise_signal(signal.SIGTERM)
            passed.append("the first")
        except KeyboardInterrupt:
            all_signals()
            passed.append("those behind it")
    assert passed == ["those behind it"]


def test_what_is_held_back_stays_so_inside() -> None:
    """A restore runs an apply inside the block."""
    with interruptible(), uninterrupted(), interruptible():
        all_signals()


def test_signals_do_as_before_where_none_was_taken() -> None:
    before = [signal.getsignal(number) for number in ENDS]
    with interruptible(), uninterrupted():
        all_signals()
    assert [signal.getsignal(number) for number in ENDS] == before


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    """A command under nohup goes on when its terminal is closed."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interruptible():
            signal.raise_signal(signal.SIGHUP)
            with uninterrupted():
                signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_command_that_goes_on_learns_what_was_held_back() -> None:
    with interruptible() as was_signalled:
        with uninterrupted():
            assert not was_signalled()
            signal.raise_signal(signal.SIGTERM)
        assert was_signalled()
