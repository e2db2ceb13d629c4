"""A host whose name takes long to be found holds nobody up."""

from __future__ import annotations

import socket
from contextlib import ExitStack

import pytest

from proxyctl.admin.client import AdminClient
from proxyctl.admin.host_names import addresses_of, connect_to
from proxyctl.admin.login import Login
from proxyctl.errors import InstanceError
from tests.support.slow_names import SLOW, slow_names


def test_a_name_that_is_not_found_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    with slow_names(monkeypatch):
        with pytest.raises(InstanceError) as raised:
            AdminClient(Login(host=SLOW, connect_timeout_s=1))
        assert raised.value.message == (
            f"cannot connect to {SLOW}:6032: its name is not found within 1 s"
        )


def test_addresses() -> None:
    assert addresses_of("127.0.0.1") == {"127.0.0.1"}
    assert addresses_of("no.such.name.invalid") == frozenset()
    assert addresses_of("a" * 70 + ".invalid") == frozenset()


def test_an_address_that_does_not_answer_leaves_time_for_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A listener with a full queue drops what comes, as a firewall does."""
    with ExitStack() as stack:
        silent, answering = (stack.enter_context(socket.socket()) for _ in range(2))
        for one, address in ((silent, "127.0.0.2"), (answering, "127.0.0.1")):
            one.bind((address, 0))
            one.listen(0)
        for _ in range(2):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(silent.getsockname())
        found = [
            (socket.AF_INET, socket.SOCK_STREAM, 0, "", one.getsockname())
            for one in (silent, answering)
        ]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
        opened = stack.enter_context(connect_to("two.example.com", 6032, 4))
        assert opened.getpeername() == answering.getsockname()
        assert (opened.gettimeout() or 0) > 0.5
