"""Real ProxySQL in one native cluster on loopback, for tests."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.support.servers import NO_BINARY, ProxySQL, proxysql_binary

ACCOUNT = "cluster"
POLL_MS = 200


@contextmanager
def members(
    folder: Path, count: int = 3, *, other: str | None = None, monitor: bool = False
) -> Iterator[list[ProxySQL]]:
    """Yield members that list one another and agree. `other`: the binary of one more."""
    binary = proxysql_binary()
    if binary is None:
        pytest.skip(NO_BINARY)
    binaries = [binary] * count + ([other] if other else [])
    with ExitStack() as stack:
        found = [
            stack.enter_context(ProxySQL(path, folder / f"member{number}", monitor=monitor))
            for number, path in enumerate(binaries, 1)
        ]
        # Closed before the processes end: a handle is no part of what is tested.
        for one in found:
            stack.callback(one.instance.close)
        for one in found:
            join(one, found)
        wait_until(lambda: all(agree(one, found[:count]) for one in found[:count]))
        yield found


def join(one: ProxySQL, listed: Sequence[ProxySQL]) -> None:
    """Make a ProxySQL a member that lists these; all of that is saved."""
    run = one.instance.execute
    run(f"SET admin-admin_credentials='admin:admin;radmin:radmin;{ACCOUNT}:{ACCOUNT}'")
    run(f"SET admin-cluster_username='{ACCOUNT}'")
    run(f"SET admin-cluster_password='{ACCOUNT}'")
    run(f"SET admin-cluster_check_interval_ms={POLL_MS}")
    run("LOAD ADMIN VARIABLES TO RUNTIME")
    run("SAVE ADMIN VARIABLES TO DISK")
    for peer in listed:
        run(f"INSERT INTO proxysql_servers (hostname, port) VALUES ('127.0.0.1', {peer.port})")
    run("LOAD PROXYSQL SERVERS TO RUNTIME")
    run("SAVE PROXYSQL SERVERS TO DISK")


def agree(one: ProxySQL, listed: Sequence[ProxySQL]) -> bool:
    """Return whether a member has seen all of these, and holds in every module what they do."""
    own = {name: checksum for name, (_, _, checksum) in checksums(one).items()}
    rows = one.instance.query(
        "SELECT port, name, checksum FROM stats_proxysql_servers_checksums WHERE version>0"
    )
    seen = {(port, name): checksum for port, name, checksum in rows}
    return all(
        seen.get((str(peer.port), name)) == checksum
        for peer in listed
        for name, checksum in own.items()
    )


def checksums(one: ProxySQL) -> dict[str, tuple[int, int, str]]:
    """Return version, epoch and checksum by name."""
    rows = one.instance.query(
        "SELECT name, version, epoch, checksum FROM runtime_checksums_values WHERE version>0"
    )
    return {
        str(name): (int(version or 0), int(epoch or 0), str(checksum))
        for name, version, epoch, checksum in rows
    }


def set_admin(one: ProxySQL, **variables: object) -> None:
    """Set variables of the administration at a member."""
    for name, value in variables.items():
        one.instance.execute(f"SET admin-{name}='{value}'")
    one.instance.execute("LOAD ADMIN VARIABLES TO RUNTIME")


def wait_until(is_so: Callable[[], bool], most_s: float = 60) -> None:
    """Wait until something holds."""
    end = time.monotonic() + most_s
    while not is_so():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.1)


def other_binary(release: str) -> str:
    """Return a binary of another release, from PROXYCTL_TEST_PROXYSQL_OTHERS (a list of paths)."""
    for path in os.environ.get("PROXYCTL_TEST_PROXYSQL_OTHERS", "").split(os.pathsep):
        if release in Path(path).name:
            return path
    pytest.skip(f"no ProxySQL {release}: name its binary in PROXYCTL_TEST_PROXYSQL_OTHERS")
