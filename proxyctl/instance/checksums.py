"""What a member of a cluster says of its admin modules, and which of two members is followed.

A member takes over from another one whose version is above 1 and whose epoch is newer, or from any
such one while it stands at version 1 itself; equal epochs with different checksums stay as they are
for ever. Source: ProxySQL 2.7.1, run.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from proxyctl.state.families import Node

MODULES = {
    "admin_variables": "ADMIN VARIABLES",
    "mysql_query_rules": "MYSQL QUERY RULES",
    "mysql_servers": "MYSQL SERVERS",
    "mysql_servers_v2": "MYSQL SERVERS",
    "mysql_users": "MYSQL USERS",
    "mysql_variables": "MYSQL VARIABLES",
    "proxysql_servers": "PROXYSQL SERVERS",
}
"""The admin module of a checksum; others are of plugins."""


class Checksum(NamedTuple):
    """A row of runtime_checksums_values, or what a peer has there. Units: `epoch` unix seconds."""

    version: int
    epoch: int
    checksum: str

    @property
    def is_known(self) -> bool:
        """Whether anything was ever seen."""
        return self.version > 0 and bool(self.checksum)


class PeerChecksum(NamedTuple):
    """What this instance last saw of one module at one peer. `name` as `mysql_query_rules`.

    Units: `seen_at` unix seconds, 0 for never.
    """

    peer: Node
    name: str
    seen: Checksum
    seen_at: int = 0


def configured(names: Collection[str]) -> dict[str, str]:
    """Return the admin modules that travel, and the name of the checksum that stands for each.

    Of servers that is the newer one where there is one: the other one counts what each side's
    monitor does, too. `names`: the checksums that an instance has.
    """
    found = {MODULES[name]: name for name in sorted(names) if name in MODULES}
    if "mysql_servers_v2" in names:
        found["MYSQL SERVERS"] = "mysql_servers_v2"
    return found


def switch(name: str) -> str:
    """Return the variable that decides whether differences of a module are pulled; 0 is off."""
    return f"admin-cluster_{name.removesuffix('_v2')}_diffs_before_sync"


def checksum_switch(name: str) -> str:
    """Return the variable that, when it is false, holds that of `switch` at 0."""
    return f"admin-checksum_{name.removesuffix('_v2')}"


def saving(name: str) -> str:
    """Return the variable that decides whether what was pulled is saved."""
    return f"admin-cluster_{name.removesuffix('_v2')}_save_to_disk"


def is_source(one: Checksum, other: Checksum) -> bool:
    """Return whether `other` takes over from `one`, where they differ."""
    return one.version > 1 and (other.version <= 1 or one.epoch > other.epoch)
