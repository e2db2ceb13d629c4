"""Notes in a store what an instance routes queries by, and reads what was noted.

That is RUNTIME of its rules, fast routing and users, and some variables. A collection notes it if
it changed: ProxySQL counts the LOADs of each module, so mostly one small statement is sent. What a
collection notes is in force for what it adds. No password is noted.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from hashlib import sha256

from proxyctl.catalog import TABLES, Value, layout_of, parse_version
from proxyctl.instance.client import AdminClient
from proxyctl.instance.read import read_counts, read_layer, read_layouts
from proxyctl.proxysql.configuration import ConfigTable, Configuration, variables_of
from proxyctl.rows.row import Layer
from proxyctl.stats.read import read_loads

MOST_ROWS = 10_000
"""The most rules, fast-routing rows and users, added up, of which a store keeps each change."""
_RULES, _FAST, _USERS = (
    "mysql_query_rules",
    "mysql_query_rules_fast_routing",
    "mysql_users",
)
_TABLES = (_RULES, _FAST, _USERS)
_VARIABLES_TABLE = "mysql_variables"
_MODULES = (_RULES, _USERS, _VARIABLES_TABLE)
"""The modules of these tables, by their names in runtime_checksums_values."""
_OF_USERS = (
    "username",
    "backend",
    "active",
    "frontend",
    "default_hostgroup",
    "default_schema",
    "fast_forward",
)
"""The columns of mysql_users that are kept; never the password, nor attributes, which have one."""
_VARIABLES = (
    "mysql-default_schema",
    "mysql-enable_load_data_local_infile",
    "mysql-set_parser_algorithm",
    "mysql-set_query_lock_on_hostgroup",
)
_VARIABLE_PREFIXES = ("mysql-query_digests", "mysql-query_processor_")


# What a collection notes --------------------------------------------------------------------------
@dataclass(frozen=True)
class RoutingReading:
    """What an instance routes by, as a collection found it."""

    loads: str
    """The LOADs so far of each module; '' if this ProxySQL does not count them."""
    content: bytes | None
    """The configuration as JSON; None with more than `MOST_ROWS` rows."""

    @property
    def hash(self) -> str | None:
        """The hash that equal configurations share; None without content."""
        return None if self.content is None else sha256(self.content).hexdigest()


def read_changed_routing(store: sqlite3.Connection, client: AdminClient) -> RoutingReading | None:
    """Return what the instance routes by; None if nothing was loaded since it was last noted.

    Raises: InstanceError.
    """
    counted = read_loads(client, _MODULES)
    loads = "" if counted is None else json.dumps(counted)
    last = store.execute(
        "SELECT loads FROM routing JOIN instance ON instance.id = routing.instance"
        " WHERE address = ? ORDER BY since DESC LIMIT 1",
        [client.address],
    ).fetchone()
    if loads and last == (loads,):
        return None
    layouts = read_layouts(client)
    tables = [layouts[name] for name in _TABLES]
    if sum(read_counts(client, tables).values()) > MOST_ROWS:
        return RoutingReading(loads, None)
    rows = read_layer(client, [*tables, layouts[_VARIABLES_TABLE]], Layer.RUNTIME)
    held = {layout.name: ConfigTable(layout, rows[layout.name]) for layout in tables}
    variables = variables_of(rows[_VARIABLES_TABLE].values())
    return RoutingReading(
        loads, _content(Configuration(client.version, held, variables), client.version_text)
    )


def keep_routing(
    store: sqlite3.Connection, client: AdminClient, reading: RoutingReading | None
) -> None:
    """Note a reading under the time of the collection that was just added, if it is another one."""
    if reading is None:
        return
    [(instance, taken_at)] = store.execute(
        "SELECT id, taken_at FROM instance WHERE address = ?", [client.address]
    ).fetchall()
    last = store.execute(
        "SELECT since, configuration FROM routing WHERE instance = ? ORDER BY since DESC LIMIT 1",
        [instance],
    ).fetchone()
    if last is not None and last[1] == reading.hash:
        store.execute(
            "UPDATE routing SET loads = ? WHERE instance = ? AND since = ?",
            (reading.loads, instance, last[0]),
        )
        return
    if reading.content is not None:
        store.execute(
            "INSERT OR IGNORE INTO configuration VALUES (?, ?)",
            (reading.hash, zlib.compress(reading.content)),
        )
    store.execute(
        "INSERT OR REPLACE INTO routing VALUES (?, ?, ?, ?)",
        (instance, taken_at, reading.loads, reading.hash),
    )


def _content(configuration: Configuration, version: str) -> bytes | None:
    """Return what routing reads as JSON, the same text for the same rows; None if too large."""
    tables: dict[str, object] = {}
    count = 0
    for name in _TABLES:
        held = configuration.tables[name]
        kept = _OF_USERS if name == _USERS else held.layout.names
        columns = [column for column in kept if column != "comment"]
        places = [held.layout.index[column] for column in columns]
        rows = [[held.rows[key][place] for place in places] for key in sorted(held.rows)]
        if name == _USERS:
            frontend = columns.index("frontend")
            rows = [row for row in rows if row[frontend]]
        tables[name] = {"columns": columns, "rows": rows}
        count += len(rows)
    if count > MOST_ROWS:
        return None
    variables = {
        name: value
        for name, value in sorted(configuration.variables.items())
        if is_routing_variable(name)
    }
    content = {"version": version, "variables": variables, "tables": tables}
    return json.dumps(content, separators=(",", ":")).encode("ascii")


def is_routing_variable(name: str) -> bool:
    """Return whether routing reads a variable, so that a store keeps it."""
    return name in _VARIABLES or name.startswith(_VARIABLE_PREFIXES)


# What was noted -----------------------------------------------------------------------------------
class RoutingGap(Enum):
    """Why a store does not have what an instance routed by."""

    TOO_LARGE = auto()
    """It had more than `MOST_ROWS` rows."""
    NOT_NOTED = auto()
    """No collection noted it."""


@dataclass(frozen=True)
class NotedRouting:
    """What an instance routed by at the end of a time."""

    hash: str
    """The hash that equal configurations share."""
    configuration: Configuration
    """The rules, fast routing, users and variables, without what routing does not read."""
    is_changed: bool
    """Whether it changed between two collections of that time."""


def noted_routing(
    store: sqlite3.Connection, instance: int, since: int, until: int
) -> NotedRouting | RoutingGap:
    """Return what an instance routed by at the end of the time from `since` to `until`.

    What the first collection of the time counted ran under the rules that it noted, so these are no
    change. Units: unix seconds.
    """
    noted = store.execute(
        "SELECT since, hash, content FROM routing"
        " LEFT JOIN configuration ON hash = configuration"
        " WHERE instance = ? AND since <= ? ORDER BY since DESC LIMIT 1",
        (instance, until),
    ).fetchone()
    if noted is None:
        return RoutingGap.NOT_NOTED
    noted_at, digest, content = noted
    if content is None:
        return RoutingGap.TOO_LARGE
    [(first_at,)] = store.execute(
        "SELECT min(at) FROM period WHERE instance = ? AND at > ? AND at <= ?",
        (instance, since, until),
    ).fetchall()
    return NotedRouting(digest, _configuration(zlib.decompress(content)), noted_at > first_at)


def _configuration(content: bytes) -> Configuration:
    held = json.loads(content)
    version = parse_version(held["version"])
    tables = {}
    for name, table in held["tables"].items():
        layout = layout_of(TABLES[name], version)
        cells: Iterable[Mapping[str, Value]] = (
            dict(zip(table["columns"], row, strict=True)) for row in table["rows"]
        )
        rows = [tuple(row.get(c.name, c.default) for c in layout.columns) for row in cells]
        tables[name] = ConfigTable(layout, {layout.key_of(row): row for row in rows})
    return Configuration(version, tables, held["variables"])
