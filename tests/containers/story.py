"""What the journeys have in common: the example is applied, and from then on nothing differs."""

from __future__ import annotations

from collections.abc import Callable

from tests.containers.conftest import HOSTS
from tests.containers.galera import wait_until
from tests.containers.proxysql import ProxySQLContainer
from tests.support.cli import proxyctl
from tests.support.placement_samples import settle

WRITER, *READERS = HOSTS
"""The example gives the first node the most weight."""


def short(host: str) -> str:
    """Return what a node calls itself."""
    return host.partition(".")[0]


def applied(*options: str) -> str:
    """Apply the files; return what was written."""
    done = proxyctl("apply", "--auto-approve", *options)
    assert done.code == 0, done.text
    return done.text


def bootstrap(proxysql: ProxySQLContainer) -> None:
    """Apply the example to a ProxySQL that has nothing, and wait for its monitor."""
    applied()
    settle(proxysql.instance, list(HOSTS))


def assert_in_sync() -> None:
    """Nothing that the monitor does is a difference, or something to apply."""
    for command in (["drift"], ["plan", "--detailed-exitcode"]):
        found = proxyctl(*command)
        assert found.code == 0, found.text


def in_sync_until(is_so: Callable[[], bool], what: str) -> None:
    """Wait for something, and look all the while whether anything differs."""

    def is_so_and_in_sync() -> bool:
        assert_in_sync()
        return is_so()

    wait_until(is_so_and_in_sync, what)
    assert_in_sync()
