"""A host whose name takes long to be found holds nobody up."""

from __future__ import annotations

import pytest

from proxyctl.admin.client import AdminClient
from proxyctl.admin.host_names import addresses_of
from proxyctl.admin.login import Login
from proxyctl.errors import InstanceError
from tests.slow_names import SLOW, slow_names


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
