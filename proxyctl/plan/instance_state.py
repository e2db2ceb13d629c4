"""Everything that a plan knows of an instance: `inspect` reads it once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from proxyctl.catalog import Deviations, Layout, Value, Version, parse_version
from proxyctl.instance.cluster import Membership
from proxyctl.instance.connect import Login
from proxyctl.instance.facts import RuntimeFacts
from proxyctl.instance.read import TableLayers
from proxyctl.proxysql.plugin_ledger import NO_PLUGINS, PluginLedger
from proxyctl.rows.row import Key, Layer, Rows


@dataclass(frozen=True)
class InstanceInfo:
    """The facts of an instance that are read before its rows."""

    name: str
    """The name of the instance in the files, or its address."""
    address: str
    """The address of the admin interface."""
    version_text: str
    """The version as the instance reports it."""
    login: Login
    """The login in use."""
    layouts: Mapping[str, Layout]
    """The tables of the instance, by catalogue name."""
    deviations: Deviations
    """The columns and variables that the catalogue lacks."""
    facts: RuntimeFacts
    """The variables at RUNTIME that a plan depends on."""
    staged: Mapping[str, bool]
    """The admin modules that an interrupted apply began to write, and whether MEMORY equalled DISK
    before."""
    taken_over: Mapping[str, bool]
    """The same, after its lock was taken over and MEMORY was loaded from DISK."""
    ledger: PluginLedger = NO_PLUGINS
    """The rows that plugins of the instance own."""

    @property
    def version(self) -> Version:
        """The version of ProxySQL."""
        return parse_version(self.version_text)


@dataclass(frozen=True)
class InstanceState:
    """The state of an instance."""

    info: InstanceInfo
    """The facts that were read before the rows."""
    tables: Mapping[str, TableLayers]
    """The tables of every admin module that a plan may need, by name, with all layers."""
    unmanaged: Mapping[str, Rows] = field(default_factory=dict)
    """The RUNTIME rows of the other tables, except for `counted` ones."""
    counted: Mapping[str, int] = field(default_factory=dict)
    """The number of rows in MEMORY of each table that has more rows than a plan reads."""
    destinations: Mapping[str, frozenset[Value]] = field(default_factory=dict)
    """The hostgroups that RUNTIME sends traffic to, for the tables of DESTINATIONS that were not
    read."""
    connections: Mapping[str, Mapping[Key, int]] = field(default_factory=dict)
    """The connections in use, by table of servers and its key."""
    membership: Membership = field(default_factory=Membership)
    """The ProxySQL Cluster as the instance sees it."""

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
