"""Read what an instance knows of the members of its ProxySQL Cluster, and wait for them.

Each member polls the others every second, so proxyctl connects to one member only.

A member copies from a member whose version is above 1 and whose epoch is newer. A member at
version 1 copies from any member above version 1. Members with equal epochs and different
checksums stay different. Source: ProxySQL 2.7.1, run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from proxyctl.catalog import Version
from proxyctl.catalog.releases import SYNCS_PGSQL
from proxyctl.errors import InstanceError
from proxyctl.instance.client import AdminClient
from proxyctl.instance.facts import read_variables
from proxyctl.instance.lethal import reject_rows_that_crash_proxysql
from proxyctl.proxysql.topology import Node, node_text

MODULES = {
    "admin_variables": "ADMIN VARIABLES",
    "mysql_query_rules": "MYSQL QUERY RULES",
    "mysql_servers": "MYSQL SERVERS",
    "mysql_servers_v2": "MYSQL SERVERS",
    "mysql_users": "MYSQL USERS",
    "mysql_variables": "MYSQL VARIABLES",
    "pgsql_query_rules": "PGSQL QUERY RULES",
    "pgsql_servers": "PGSQL SERVERS",
    "pgsql_servers_v2": "PGSQL SERVERS",
    "pgsql_users": "PGSQL USERS",
    "pgsql_variables": "PGSQL VARIABLES",
    "proxysql_servers": "PROXYSQL SERVERS",
}
"""The admin module of each checksum; other checksums belong to plugins."""


def is_synchronised(name: str, version: Version) -> bool:
    """Return whether members of this version copy the module of this checksum."""
    return name in MODULES and (version.has(SYNCS_PGSQL) or not name.startswith("pgsql_"))


class Checksum(NamedTuple):
    """A checksum of this instance or of a peer."""

    version: int
    """The number of the content: 1 at start, one more with each LOAD; 0 if it was never read."""
    epoch: int
    """The time of the last LOAD. Units: unix seconds."""
    checksum: str
    """The checksum itself."""

    @property
    def is_known(self) -> bool:
        """Whether the checksum has ever been read."""
        return self.version > 0 and bool(self.checksum)


def checksum_names(names: Collection[str]) -> dict[str, str]:
    """Return the admin modules that members synchronise, and the checksum name of each.

    For servers the name is mysql_servers_v2 if the version has it: mysql_servers also changes with
    each monitor's placement. `names`: the checksums of an instance.
    """
    # Sorted, so that a name with _v2 replaces the name without it.
    return {MODULES[name]: name for name in sorted(names) if name in MODULES}


def diffs_variable(name: str) -> str:
    """Return the variable that makes a member pull a module of a peer; 0 is off."""
    return f"admin-cluster_{name.removesuffix('_v2')}_diffs_before_sync"


def checksum_variable(name: str) -> str:
    """Return the variable that keeps `diffs_variable` at 0 while it is false."""
    return f"admin-checksum_{name.removesuffix('_v2')}"


def is_source(peer: Checksum, own: Checksum) -> bool:
    """Return whether a member with `own` copies from a peer with another checksum."""
    return peer.version > 1 and (own.version <= 1 or peer.epoch > own.epoch)


MOST_AHEAD_S = 30
"""The longest wait until a LOAD would be the newest; a member that is further ahead is an error."""


@dataclass(frozen=True)
class Member:
    """A listed member."""

    node: Node
    """Host and port."""
    checksums: Mapping[str, Checksum] = field(default_factory=dict)
    """The checksums that the instance read last, by name."""
    silent_s: float | None = None
    """The time since the member's last answer; None if unknown. Units: seconds."""

    @property
    def name(self) -> str:
        """Host and port."""
        return node_text(self.node)

    def silence(self, longest_s: float) -> str:
        """Return how long the member is silent; '' if it answered within `longest_s` seconds."""
        if not any(seen.is_known for seen in self.checksums.values()):
            return "it has never answered this member"
        if self.silent_s is not None and self.silent_s > longest_s:
            return f"it has not answered for {self.silent_s:.0f} s"
        return ""


@dataclass(frozen=True)
class Membership:
    """An instance and its cluster."""

    listed: tuple[Member, ...] = ()
    """Every member, usually including the instance itself; empty for an instance without a
    cluster."""
    own: Mapping[str, Checksum] = field(default_factory=dict)
    """The instance's checksums by name, for synchronised modules."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """The cluster variables at RUNTIME."""
    now: float = 0.0
    """The current time by the instance's clock. Units: unix seconds."""

    @property
    def has_peers(self) -> bool:
        """Whether other members copy what this instance loads."""
        return len(self.listed) > 1

    def name_of(self, module: str) -> str | None:
        """Return the checksum name of an admin module; None if it is not synchronised."""
        return checksum_names(self.own).get(module) if self.listed else None

    def newest_epoch(self, module: str) -> int:
        """Return the time of the last LOAD at any member. Units: unix seconds; 0: never."""
        name = self.name_of(module)
        if name is None:
            return 0
        checksums = [member.checksums[name] for member in self.listed if name in member.checksums]
        return max(checksum.epoch for checksum in (self.own[name], *checksums))

    def ahead(self, module: str) -> list[Member]:
        """Return the members from which this instance will copy the module."""
        name = self.name_of(module)
        if name is None or is_off(name, self.variables):
            return []
        own = self.own[name]
        return [
            member
            for member in self.listed
            if (peer := member.checksums.get(name)) is not None
            and peer.is_known
            and peer.checksum != own.checksum
            and is_source(peer, own)
        ]

    def not_following(self, name: str, silence_s: float) -> Iterator[tuple[Member, str, str]]:
        """Yield each member whose checksum differs from this instance, the reason and the fix.

        `silence_s`: a member that has not answered for this long counts as down.
        """
        own = self.own[name]
        for member in self.listed:
            peer = member.checksums.get(name)
            if peer is None or not peer.is_known or peer.checksum != own.checksum:
                yield member, *_why_not_following(name, own, member, silence_s)


def _why_not_following(
    name: str, own: Checksum, member: Member, silence_s: float
) -> tuple[str, str]:
    """Return the reason why a member does not follow, and the fix."""
    peer = member.checksums.get(name)
    silence = member.silence(silence_s)
    if peer is None or not peer.is_known:
        return (
            "it has never answered this member",
            "check its address in proxysql_servers, its admin-cluster_username and its"
            " version: members of different versions do not sync",
        )
    if silence:
        return silence, "it will synchronise once it answers again"
    load = f"LOAD {MODULES[name]} again at the member whose content is correct"
    if peer.version > 1 and peer.epoch == own.epoch:
        return "it loaded different content in the same second", load
    if is_source(peer, own):
        return (
            "it loaded different content later",
            "this member copies it within seconds, or its log says why not; run plan again",
        )
    if own.version <= 1:
        return "neither member has had a LOAD since it started", load
    return (
        "it answers, but has not copied the change",
        f"check {diffs_variable(name)} there, its proxysql_servers and its log",
    )


def is_off(name: str, variables: Mapping[str, str]) -> bool:
    """Return whether a member with these variables never copies the module."""
    return (
        variables.get(diffs_variable(name)) == "0"
        or variables.get(checksum_variable(name)) == "false"
    )


# -- reading, and waiting -------------------------------------------------------------------------

_COARSE_S = 0.1
"""The clock of epochs lags some milliseconds behind the clock of SQL. Source: measured."""

_POLL_S = 0.5

_REPORTED_FROM_S = 2.0
"""A longer wait is reported."""


def read_peers(client: AdminClient) -> tuple[Node, ...]:
    """Return the members that RUNTIME lists. Raises: InstanceError."""
    reject_rows_that_crash_proxysql(client, "PROXYSQL SERVERS")
    rows = client.query(
        "SELECT hostname, port FROM runtime_proxysql_servers ORDER BY hostname, port"
    )
    return tuple((str(host), client.number(port)) for host, port in rows)


def read_membership(client: AdminClient) -> Membership:
    """Return the instance and its members as it last saw them. Raises: InstanceError."""
    listed = read_peers(client)
    if not listed:
        return Membership()
    number = client.number
    checksums: dict[Node, dict[str, Checksum]] = {node: {} for node in listed}
    for host, port, name, version, epoch, checksum in client.query(
        "SELECT hostname, port, name, version, epoch, checksum"
        " FROM stats_proxysql_servers_checksums",
    ):
        of_member = checksums.get((str(host), number(port)))
        if of_member is not None:
            of_member[str(name)] = Checksum(number(version), number(epoch), checksum or "")
    own = client.query("SELECT name, version, epoch, checksum FROM runtime_checksums_values")
    silent_s = _silences(client)
    return Membership(
        tuple(Member(node, checksums[node], silent_s.get(node)) for node in listed),
        {
            str(name): Checksum(number(v), number(e), str(text))
            for name, v, e, text in own
            if is_synchronised(str(name), client.version)
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


def wait_for_newer_epoch(client: AdminClient, module: str, say: Callable[[str], None]) -> None:
    """Wait until a LOAD of an admin module would be newer than the last LOAD at any member.

    After two LOADs within the same second members stay different.

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
        raise InstanceError(
            f"{module}: the time of its last LOAD at a member is ahead of this member's clock"
        )
    if wait_s > _REPORTED_FROM_S:
        say(f"{module}: waiting {wait_s:.0f} s, so that its LOAD is the newest in the cluster")
    time.sleep(wait_s)


def wait_for_members(
    client: AdminClient,
    modules: Iterable[str],
    timeout_s: float,
    say: Callable[[str], None],
    renew: Callable[[], None],
) -> list[PeerResult]:
    """Wait until every member shows the checksums of the loaded modules.

    `modules`: the admin modules that were loaded; those not synchronised are skipped. `renew`
    keeps the lock. Returns the result of each listed member; empty if no module is synchronised.
    Raises: InstanceError if this instance no longer answers.
    """
    end, announced = time.monotonic() + timeout_s, False
    while True:
        membership = read_membership(client)
        names = [name for module in modules if (name := membership.name_of(module)) is not None]
        if not names or not membership.has_peers:
            return []
        behind: dict[str, list[str]] = {member.name: [] for member in membership.listed}
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
    """The member as `host:port`."""
    reasons: tuple[str, ...] = ()
    """Why it does not follow; empty if it does."""

    @property
    def follows(self) -> bool:
        """Whether the member holds the change."""
        return not self.reasons
