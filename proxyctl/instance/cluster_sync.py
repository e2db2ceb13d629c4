"""Reads what an instance knows of its ProxySQL Cluster, and waits for the other members.

Each member polls the others every second, so proxyctl connects to one member only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from proxyctl.errors import InstanceError
from proxyctl.instance.client import AdminClient
from proxyctl.instance.facts import read_variables
from proxyctl.instance.members import (
    MODULES,
    MOST_AHEAD_S,
    Checksum,
    Member,
    Membership,
    travels,
)
from proxyctl.instance.read import refuse_lethal_numbers
from proxyctl.state.families import Node

_COARSE_S = 0.1
"""The clock behind an epoch lags some milliseconds behind the clock of SQL. Source: measured."""


_POLL_S = 0.5


_REPORTED_FROM_S = 2.0
"""A longer wait is reported."""


def read_peers(client: AdminClient) -> tuple[Node, ...]:
    """Return the members that RUNTIME lists. Raises: InstanceError."""
    refuse_lethal_numbers(client, "PROXYSQL SERVERS")
    rows = client.query(
        "SELECT hostname, port FROM runtime_proxysql_servers ORDER BY hostname, port"
    )
    return tuple((str(host), client.number(port)) for host, port in rows)


def read_membership(client: AdminClient) -> Membership:
    """Return the instance and its members, as it last saw them.

    Raises: InstanceError.
    """
    listed = read_peers(client)
    if not listed:
        return Membership()
    number = client.number
    checksums: dict[Node, dict[str, Checksum]] = {node: {} for node in listed}
    for host, port, name, version, epoch, checksum in client.query(
        "SELECT hostname, port, name, version, epoch, checksum"
        " FROM stats_proxysql_servers_checksums",
    ):
        found = checksums.get((str(host), number(port)))
        if found is not None:
            found[str(name)] = Checksum(number(version), number(epoch), checksum or "")
    own = client.query("SELECT name, version, epoch, checksum FROM runtime_checksums_values")
    silent_s = _silences(client)
    return Membership(
        tuple(Member(node, checksums[node], silent_s.get(node)) for node in listed),
        {
            str(name): Checksum(number(v), number(e), str(text))
            for name, v, e, text in own
            if travels(str(name), client.version)
        },
        read_variables(client, "admin-cluster_%", "admin-checksum_%"),
        _read_clock(client),
    )


def _silences(client: AdminClient) -> dict[Node, float]:
    """Return the seconds since the last answer of each member."""
    rows = client.query("SELECT hostname, port, last_check_ms FROM stats_proxysql_servers_metrics")
    return {
        (str(host), client.number(port)): client.number(checked or "0") / 1000
        for host, port, checked in rows
    }


def _read_clock(client: AdminClient) -> float:
    """Return the time of the instance's clock. Units: unix seconds."""
    rows = client.query("SELECT CAST((julianday('now')-2440587.5)*86400000 AS INT)")
    return client.number(rows[0][0]) / 1000


def wait_for_a_later_second(client: AdminClient, module: str, say: Callable[[str], None]) -> None:
    """Wait until a LOAD of an admin module would be newer than the last LOAD at any member.

    After two LOADs within one second members stay different.

    Raises: InstanceError, also if the wait would take too long.
    """
    membership = read_membership(client)
    if membership.name_of(module) is None or not membership.has_peers:
        return
    # A LOAD since the last poll is not visible here yet.
    time.sleep(_interval_s(membership))
    membership = read_membership(client)
    wait_s = membership.newest_epoch(module) + 1 + _COARSE_S - membership.now
    if wait_s <= 0:
        return
    if wait_s > MOST_AHEAD_S:
        raise InstanceError(f"{module}: its last LOAD by a member is ahead of this member's clock")
    if wait_s > _REPORTED_FROM_S:
        say(f"{module}: waiting {wait_s:.0f} s, so that its LOAD is the newest of the cluster")
    time.sleep(wait_s)


def wait_for_members(
    client: AdminClient,
    modules: Iterable[str],
    timeout_s: float,
    say: Callable[[str], None],
    renew: Callable[[], None],
) -> list[PeerResult]:
    """Wait until every member shows the checksums of the loaded modules.

    `modules`: the admin modules that were loaded; those that do not travel are skipped. `renew`
    keeps the lock. Returns the result of each listed member; empty if no module travels. Raises:
    InstanceError if this instance no longer answers.
    """
    end, announced = time.monotonic() + timeout_s, False
    while True:
        membership = read_membership(client)
        names = [name for module in modules if (name := membership.name_of(module)) is not None]
        if not names or not membership.has_peers:
            return []
        behind: dict[str, list[str]] = {one.name: [] for one in membership.listed}
        for name in names:
            for member, reason, fix in membership.not_following(name, _silence_s(membership)):
                behind[member.name].append(f"{MODULES[name]}: {reason}; {fix}")
        if not any(behind.values()) or time.monotonic() >= end:
            return [PeerResult(name, tuple(reasons)) for name, reasons in behind.items()]
        if not announced:
            waiting = ", ".join(name for name, reasons in behind.items() if reasons)
            say(f"waiting for the members of the ProxySQL Cluster: {waiting}")
            announced = True
        renew()
        time.sleep(_POLL_S)


def _silence_s(membership: Membership) -> float:
    """Return the seconds without an answer after which a member counts as down."""
    checks = membership.variables.get("admin-cluster_check_status_frequency", "10")
    return 2 + 2 * _interval_s(membership) * max(int(checks), 1)


def _interval_s(membership: Membership) -> float:
    """Return the seconds between two polls of a member."""
    return int(membership.variables.get("admin-cluster_check_interval_ms", "1000")) / 1000


@dataclass(frozen=True)
class PeerResult:
    """Whether a member follows a change; if not, the reasons."""

    name: str
    reasons: tuple[str, ...] = ()

    @property
    def follows(self) -> bool:
        """Whether the member holds the change."""
        return not self.reasons
