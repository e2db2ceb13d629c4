"""What an instance knows of the members of its ProxySQL Cluster, itself included. Pure.

A member takes over from a member whose version is above 1 and whose epoch is newer. A member at
version 1 takes over from any member above version 1. Members with equal epochs and different
checksums stay different. Source: ProxySQL 2.7.1, run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from proxyctl.catalog import Version
from proxyctl.catalog.releases import SYNCS_PGSQL
from proxyctl.state.families import Node, node_text

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


def travels(name: str, version: Version) -> bool:
    """Return whether members of this version take a module with this checksum over."""
    return name in MODULES and (version.has(SYNCS_PGSQL) or not name.startswith("pgsql_"))


class Checksum(NamedTuple):
    """A checksum of this instance or of a peer. Units: `epoch` unix seconds."""

    version: int
    epoch: int
    checksum: str

    @property
    def is_known(self) -> bool:
        """Whether the checksum was ever read."""
        return self.version > 0 and bool(self.checksum)


def configured(names: Collection[str]) -> dict[str, str]:
    """Return the admin modules that travel between members, and the checksum name of each.

    For servers this is mysql_servers_v2 if the version has it: mysql_servers also changes with the
    placement by each monitor. `names`: the checksums that an instance has.
    """
    # In order, so that a name with _v2 replaces the one without.
    return {MODULES[name]: name for name in sorted(names) if name in MODULES}


def switch(name: str) -> str:
    """Return the variable that enables pulling differences of a module; 0 is off."""
    return f"admin-cluster_{name.removesuffix('_v2')}_diffs_before_sync"


def checksum_switch(name: str) -> str:
    """Return the variable that holds the one of `switch` at 0 while it is false."""
    return f"admin-checksum_{name.removesuffix('_v2')}"


def saving(name: str) -> str:
    """Return the variable that decides whether a pulled module is saved."""
    return f"admin-cluster_{name.removesuffix('_v2')}_save_to_disk"


def is_source(one: Checksum, other: Checksum) -> bool:
    """Return whether a member with `other` takes over from a member with a different `one`."""
    return one.version > 1 and (other.version <= 1 or one.epoch > other.epoch)


MOST_AHEAD_S = 30
"""The longest wait before a LOAD, so that it is later than the last LOAD of any member."""


@dataclass(frozen=True)
class Member:
    """A listed member, with the checksums that the instance read last, by name.

    Units: `silent_s` seconds since its last answer, None if unknown.
    """

    node: Node
    checksums: Mapping[str, Checksum] = field(default_factory=dict)
    silent_s: float | None = None

    @property
    def name(self) -> str:
        """Host and port."""
        return node_text(self.node)

    def silence(self, longest_s: float) -> str:
        """Return that the member does not answer; empty if it did within `longest_s` seconds."""
        if not any(seen.is_known for seen in self.checksums.values()):
            return "it has never answered this member"
        if self.silent_s is not None and self.silent_s > longest_s:
            return f"it has not answered for {self.silent_s:.0f} s"
        return ""


@dataclass(frozen=True)
class Membership:
    """An instance and its cluster; `listed` is empty for an instance without one.

    Shape: `listed` has every member, usually including the instance itself. `own`: the checksums of
    the instance by name, of modules that travel. `variables`: those of the cluster at RUNTIME.
    Units: `now` unix seconds of the instance's clock.
    """

    listed: tuple[Member, ...] = ()
    own: Mapping[str, Checksum] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    now: float = 0.0

    @property
    def has_peers(self) -> bool:
        """Whether another member takes over what is loaded here."""
        return len(self.listed) > 1

    def name_of(self, module: str) -> str | None:
        """Return the checksum name of an admin module; None if the module does not travel."""
        return configured(self.own).get(module) if self.listed else None

    def newest_epoch(self, module: str) -> int:
        """Return the time of the last LOAD at any member. Units: unix seconds; 0: never."""
        name = self.name_of(module)
        if name is None:
            return 0
        seen = [one.checksums[name].epoch for one in self.listed if name in one.checksums]
        return max([self.own[name].epoch, *seen])

    def ahead(self, module: str) -> list[Member]:
        """Return the members from which this instance will take the module over."""
        name = self.name_of(module)
        if name is None or is_off(name, self.variables):
            return []
        own = self.own[name]
        return [
            one
            for one in self.listed
            if (seen := one.checksums.get(name)) is not None
            and seen.is_known
            and seen.checksum != own.checksum
            and is_source(seen, own)
        ]

    def not_following(self, name: str, silence_s: float) -> Iterator[tuple[Member, str, str]]:
        """Yield each member with another checksum than this instance, the reason and the fix.

        `silence_s`: a member that has not answered for this long counts as down.
        """
        own = self.own[name]
        for one in self.listed:
            seen = one.checksums.get(name)
            if seen is None or not seen.is_known or seen.checksum != own.checksum:
                yield one, *_why(name, own, one, silence_s)


def _why(name: str, own: Checksum, member: Member, silence_s: float) -> tuple[str, str]:
    """Return the reason why a member does not follow, and the fix."""
    seen = member.checksums.get(name)
    silence = member.silence(silence_s)
    if seen is None or not seen.is_known:
        return (
            "it has never answered this member",
            "check its address in proxysql_servers, its admin-cluster_username and its"
            " version: members of different versions do not sync",
        )
    if silence:
        return silence, "it synchronises once it answers again"
    load = f"LOAD {MODULES[name]} again at the member whose content is right"
    if seen.version > 1 and seen.epoch == own.epoch:
        return "it loaded other content in the same second", load
    if is_source(seen, own):
        return (
            "it loaded other content later",
            "this member takes it over within seconds, or its log says why not; run plan again",
        )
    if own.version <= 1:
        return "neither member had a LOAD since it started", load
    return (
        "it answers, but has not taken over the change",
        f"look at {switch(name)} there, at its proxysql_servers and at its log",
    )


def is_off(name: str, variables: Mapping[str, str]) -> bool:
    """Return whether a member with these variables never takes the module over."""
    return variables.get(switch(name)) == "0" or variables.get(checksum_switch(name)) == "false"
