"""Everything that a plan knows of an instance: `inspect` reads it once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from proxyctl.catalog import Deviations, Layout, Value, Version, parse_version
from proxyctl.instance.cluster import Membership
from proxyctl.instance.facts import RuntimeFacts
from proxyctl.instance.read import TableLayers
from proxyctl.rows.row import DesiredRow, Key, Layer, Rows


@dataclass(frozen=True)
class Access:
    """The login in use. `socket`: the path of a Unix socket that replaces host and port."""

    user: str
    password: str = field(repr=False)
    host: str
    port: int
    socket: str | None = None


@dataclass(frozen=True)
class InstanceInfo:
    """The facts of an instance that are read before its rows.

    `deviations`: columns and variables that the catalogue lacks. `staged`: the admin modules that
    an interrupted apply began to write, and whether MEMORY equalled DISK before. `taken_over`: the
    same after its lock was taken over and MEMORY was loaded from DISK.
    """

    name: str
    address: str
    version_text: str
    access: Access
    layouts: Mapping[str, Layout]
    deviations: Deviations
    facts: RuntimeFacts
    staged: Mapping[str, bool]
    taken_over: Mapping[str, bool]

    @property
    def version(self) -> Version:
        """The version of ProxySQL."""
        return parse_version(self.version_text)


@dataclass(frozen=True)
class InstanceState:
    """The state of an instance.

    Shape: `tables` by name with all layers: the admin modules that the files manage. `unmanaged`:
    the RUNTIME rows of the other tables, except for `counted` ones, which have more rows than a
    plan reads: their number in MEMORY. `destinations`: the hostgroups that RUNTIME sends traffic
    to, for the tables of DESTINATIONS that were not read. `connections` in use by table of servers
    and its key. `membership`: the ProxySQL Cluster as the instance sees it.
    """

    info: InstanceInfo
    tables: Mapping[str, TableLayers]
    unmanaged: Mapping[str, Rows] = field(default_factory=dict)
    counted: Mapping[str, int] = field(default_factory=dict)
    destinations: Mapping[str, frozenset[Value]] = field(default_factory=dict)
    connections: Mapping[str, Mapping[Key, int]] = field(default_factory=dict)
    membership: Membership = field(default_factory=Membership)

    def rows(self, name: str) -> Mapping[Layer, Rows]:
        """Return the rows of a table by layer, as an apply will find them.

        If a command died while it staged a module whose MEMORY equalled DISK, the next apply first
        sends LOAD ... FROM DISK.
        """
        table = self.tables[name]
        if not self.info.staged.get(table.layout.table.admin_module):
            return table.rows
        memory = table.rows[Layer.DISK]
        if table.layout.table.prefix is not None:
            memory = {**table.rows[Layer.MEMORY], **memory}
        return {**table.rows, Layer.MEMORY: memory}

    def at_runtime(self, name: str) -> Rows | None:
        """Return the RUNTIME rows of a table; None if they were not read."""
        if name in self.tables:
            return self.tables[name].rows[Layer.RUNTIME]
        return self.unmanaged.get(name)


def hostgroups_in(rows: Iterable[DesiredRow], position: int) -> frozenset[Value]:
    """Return the hostgroups in one column of these rows."""
    return frozenset(cell for row in rows if isinstance(cell := row[position], int))
