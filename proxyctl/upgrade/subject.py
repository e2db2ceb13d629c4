"""One configuration under the present release and under the one to upgrade to. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from proxyctl.catalog import TABLES, VARIABLE_TABLES, Layout, Version, layout_of
from proxyctl.catalog.variable_rules import INTERFACES
from proxyctl.catalog.variables import VARIABLES, is_secret_variable
from proxyctl.config.project import Project
from proxyctl.errors import Mistake
from proxyctl.proxysql.configuration import BeforeAfter, ConfigTable, Configuration
from proxyctl.rows.row import SENSITIVE, ColumnValues, Key, Row, Secret, Where, row_name
from proxyctl.stats.model import DigestTable
from proxyctl.text import printable
from proxyctl.upgrade.finding import Reliance
from proxyctl.upgrade.logged import LoggedQueries

_LONGEST_VALUE = 60


@dataclass(frozen=True)
class UpgradeSubject:
    """What is checked: the files, or DISK of an instance, from which the upgraded one starts."""

    before: Configuration
    """The configuration under the present release."""
    to: Version
    """The release to upgrade to."""
    project: Project
    """The files; without any, an empty project."""
    mistakes: tuple[Mistake, ...] = ()
    """The mistakes that the files have only if they are for the release."""
    name: str = ""
    """The name of the instance; '' for files."""
    address: str = ""
    """The address of the instance; '' for files."""
    version_text: str = ""
    """The present version in full."""
    unsaved: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The rows that RUNTIME has otherwise than DISK, by admin module."""
    unloaded: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The rows that DISK and MEMORY have otherwise than RUNTIME, by admin module."""
    restarting: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """The variables that a restart changes: the texts at RUNTIME and on DISK, by name."""
    digests: DigestTable | None = None
    """The digests that the instance has seen; None if they were not read."""
    logged: LoggedQueries | None = None
    """The queries of an event log; None if none was read."""

    @property
    def version(self) -> Version:
        """The present version."""
        return self.before.version

    @property
    def is_instance(self) -> bool:
        """Whether an instance is checked, not files."""
        return bool(self.address)

    @cached_property
    def after(self) -> Configuration:
        """The same configuration under the release."""
        return upgraded(self.before, self.to)

    @property
    def sides(self) -> BeforeAfter:
        """The configuration under both releases."""
        return BeforeAfter(self.before, self.after)

    def comes(self, release: Version) -> bool:
        """Return whether the upgrade brings the behaviour of a release."""
        return self.to.has(release) and not self.version.has(release)

    def goes(self, release: Version) -> bool:
        """Return whether a downgrade loses the behaviour of a release."""
        return self.version.has(release) and not self.to.has(release)

    def is_set(self, name: str) -> bool:
        """Return whether somebody set a variable: a file names it, or it has not its default."""
        if name not in self.before.variables:
            return False
        if not self.is_instance:
            return True
        value, known = self.before.variables[name], VARIABLES.get(name)
        if name in INTERFACES and not value:  # ProxySQL listens on the default
            return False
        return value != (known.default_in(self.version) if known else None)

    def cells(self, table: str) -> Iterator[tuple[Key, ColumnValues]]:
        """Yield the rows of a table as (key, cells by column name)."""
        held = self.before.tables.get(table)
        if held is not None:
            for key, row in held.rows.items():
                yield key, dict(zip(held.layout.names, row, strict=True))

    def row(self, table: str, key: Key, more: str = "") -> Reliance:
        """Return a row as a finding names it; `more`: words behind its name."""
        where = self.before.place(table, key, None)
        return Reliance(f"{row_name(table, key)}{self.before.owner(table, key)}{more}", where)

    def rows(self, table: str, keys: Iterable[Key]) -> tuple[Reliance, ...]:
        """Return these rows as a finding names them."""
        return tuple(self.row(table, key) for key in keys)

    def setting(self, name: str) -> Reliance:
        """Return a variable with its value."""
        value = self.before.variables[name]
        text = SENSITIVE if is_secret_variable(name) else shown(value)
        return Reliance(f"{name} = {text}", self.place_of(name))

    def place_of(self, name: str) -> Where | None:
        """Return the place of a variable in the files."""
        table = next((t for t in VARIABLE_TABLES if name.startswith(str(t.prefix))), None)
        return None if table is None else self.before.place(table.name, (name,), None)


def shown(value: object) -> str:
    """Return a value for a message: `''` for nothing, a long text cut, no text of a reference."""
    if isinstance(value, Secret):
        return SENSITIVE
    text = printable(str(value))
    return (text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}...") or "''"


def upgraded(configuration: Configuration, version: Version) -> Configuration:
    """Return the configuration that a ProxySQL of this version reads from the same rows.

    A new column has its default; what the version lacks is left out.
    """
    tables = {
        name: _converted(held, layout_of(TABLES[name], version))
        for name, held in configuration.tables.items()
        if TABLES[name].exists_in(version)
    }
    variables = {
        name: value
        for name, value in configuration.variables.items()
        if name not in VARIABLES or VARIABLES[name].exists_in(version)
    }
    return replace(configuration, version=version, tables=tables, variables=variables)


def _converted(held: ConfigTable, layout: Layout) -> ConfigTable:
    positions = [held.layout.index.get(column.name) for column in layout.columns]
    defaults = layout.defaults

    def converted(row: Row) -> Row:
        return tuple(
            default if position is None else row[position]
            for position, default in zip(positions, defaults, strict=True)
        )

    if held.layout.names == layout.names:
        return replace(held, layout=layout)
    return ConfigTable(layout, {k: converted(r) for k, r in held.rows.items()}, held.is_whole)
