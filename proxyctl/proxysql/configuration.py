"""One whole configuration: what files ask for, or what an instance holds in one layer.

Routing, lint and replay read it without knowing its origin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from proxyctl.catalog import Layout, Value, Version
from proxyctl.catalog.variable_rules import canonical
from proxyctl.catalog.variables import VARIABLES
from proxyctl.proxysql.topology import MONITOR_VARIABLES, MonitorSettings, Topology
from proxyctl.rows.row import Key, Row, Rows, Secret, Where


@dataclass(frozen=True)
class ConfigTable:
    """A table in a configuration."""

    layout: Layout
    """The layout of the table."""
    rows: Rows
    """The rows as MEMORY or RUNTIME holds them, by key."""
    is_whole: bool = True
    """False: rows are not known, since the files own a part of the table, or a plan did not read
    it."""

    def column(self, name: str) -> list[Value]:
        """Return one column, in the order of the rows."""
        position = self.layout.index[name]
        return [row[position] for row in self.rows.values()]


PlaceFinder = Callable[[str, Key, str | None], Where | None]
"""Returns the place in the files of a row (or of one of its columns); None if no file has it."""


def _nowhere(table: str, key: Key, column: str | None) -> Where | None:  # noqa: ARG001
    return None


@dataclass(frozen=True)
class Configuration:
    """Tables, variables, and names to show."""

    version: Version
    """The version of ProxySQL."""
    tables: Mapping[str, ConfigTable]
    """The tables by catalogue name, without tables of variables."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """The variables that are set, in ProxySQL's canonical text."""
    hostgroup_names: Mapping[int, str] = field(default_factory=dict)
    """The names of hostgroups, by number."""
    place: PlaceFinder = _nowhere
    """Finds rows in the files."""
    lacks: str = ""
    """The words for a row without a place, such as `in no file`; '' if no files are known."""
    plugins: tuple[str, ...] = ()
    """The plugins of the instance that own rows."""

    def owner(self, table: str, key: Key) -> str:
        """Return ` (in no file)` for a row that the known files lack, else ''."""
        return f" ({self.lacks})" if self.lacks and self.place(table, key, None) is None else ""

    def variable(self, name: str) -> str | None:
        """Return the value in force: the one that is set, else this version's default."""
        if name in self.variables:
            return self.variables[name]
        known = VARIABLES.get(name)
        return known.default_in(self.version) if known else None

    def all_variables(self) -> dict[str, str]:
        """Return every variable with its value in force."""
        values = ((name, self.variable(name)) for name in {*VARIABLES, *self.variables})
        return {name: value for name, value in values if value is not None}

    def rows(self, table: str) -> Iterable[Row]:
        """Return the rows of a table; none if the configuration lacks the table."""
        held = self.tables.get(table)
        return held.rows.values() if held else ()

    @cached_property
    def topology(self) -> Topology:
        """The families of the active rows, whether or not a monitor is on."""
        variables = {name: self.variable(name) or "" for name in MONITOR_VARIABLES}
        settings = MonitorSettings.of(variables).as_if_on()
        layouts = {name: self.tables[name].layout for name in self.tables}
        rows = {name: self.rows(name) for name in settings.family_tables if name in self.tables}
        return Topology.of(layouts, rows, settings)


@dataclass(frozen=True)
class BeforeAfter:
    """What RUNTIME holds before and after a change, as whole configurations of the same layouts."""

    before: Configuration
    """What RUNTIME holds."""
    after: Configuration
    """What it will hold. A table that does not change has the same rows object as `before`."""


def variables_of(rows: Iterable[Row]) -> dict[str, str]:
    """Return rows of global_variables as canonical texts, by name. A Secret stays a Secret."""
    return {str(name): _canonical(str(name), value) for name, value in rows}


def _canonical(name: str, value: Value) -> str:
    text = canonical(name, "" if value is None else str(value))
    return Secret(text) if isinstance(value, Secret) else text
