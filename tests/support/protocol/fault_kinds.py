"""The kinds of faults at one statement, each a function."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from tests.support.protocol.faulty_proxy import Exchange, ok_packet
from tests.support.protocol.packets import error_packet

DELAY_S = 0.05


def lost_before(exchange: Exchange) -> None:
    """The connection breaks, and ProxySQL never sees the statement."""
    exchange.hang_up()


def lost_after(exchange: Exchange) -> None:
    """The connection breaks after ProxySQL has executed the statement."""
    exchange.ask()
    exchange.hang_up()


def delayed(exchange: Exchange) -> None:
    """The statement takes its time."""
    time.sleep(DELAY_S)
    exchange.deliver(exchange.ask())


def half_an_answer(exchange: Exchange) -> None:
    """The connection breaks in the middle of the answer."""
    answer = exchange.ask()
    exchange.deliver(answer[: len(answer) // 2])
    exchange.hang_up()


def error(exchange: Exchange) -> None:
    """ProxySQL answers with an error."""
    exchange.deliver(error_packet("a fault of the test"))


def confirmed_but_not_done(exchange: Exchange) -> None:
    """ProxySQL answers OK, but did not execute the statement."""
    exchange.deliver(ok_packet(changed=1))


def frozen(exchange: Exchange) -> None:
    """No answer comes until proxyctl gives up, and ProxySQL never sees the statement."""
    exchange.wait_until_client_left()
    exchange.hang_up()


def late(exchange: Exchange) -> None:
    """No answer comes until proxyctl gives up; then ProxySQL executes the statement."""
    exchange.wait_until_client_left()
    exchange.ask()
    exchange.hang_up()


def killed_before(exchange: Exchange) -> None:
    """proxyctl is killed before its statement reaches ProxySQL."""
    exchange.kill_client()
    exchange.hang_up()


def killed_after(exchange: Exchange) -> None:
    """proxyctl is killed after ProxySQL has executed its statement."""
    exchange.ask()
    exchange.kill_client()
    exchange.hang_up()


KINDS: dict[str, Callable[[Exchange], None]] = {
    function.__name__.replace("_", " "): function
    for function in (
        lost_before,
        lost_after,
        delayed,
        half_an_answer,
        error,
        confirmed_but_not_done,
        frozen,
        late,
        killed_before,
        killed_after,
    )
}

_IS_READ_OR_LOCK = re.compile(
    r"SELECT|SET NAMES|CREATE TEMP |(?:INSERT INTO|UPDATE|DELETE FROM) proxyctl_lock"
)


def can_happen(kind: str, sql: str) -> bool:
    """Return whether this kind of fault can happen at a statement.

    A false OK makes no sense for a statement that only reads. The lock is no part of the change, so
    a false OK is not tried on it either.
    """
    return kind != "confirmed but not done" or not _IS_READ_OR_LOCK.match(sql)


FREEZES = ("frozen", "late")
"""The kinds that last until proxyctl gives up."""
