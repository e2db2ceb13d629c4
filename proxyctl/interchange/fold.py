"""Turn a layer of an instance into configuration rows, which `export` writes.

RUNTIME is not configuration: users are split into halves, inactive rows are missing, the monitor
has moved nodes, texts are normalised. A MEMORY row that explains a RUNTIME row, or its absence, is
exported; any other RUNTIME row is exported unchanged. So a plan of an export shows no change while
the three layers are equal, and otherwise exactly the layers that differ.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from proxyctl.catalog import NO_DEVIATIONS, Deviations, Layout, Role, Version
from proxyctl.catalog.variable_rules import CHARSET_PAIR, is_out_of_reach
from proxyctl.catalog.variables import (
    READ_ONLY,
    RESTART_ONLY,
    VARIABLES,
    is_secret_variable,
)
from proxyctl.state.compare import canonical_variable, differing, fold_users
from proxyctl.state.passwords import hashed_password
from proxyctl.state.row import (
    KEEP,
    AnyRow,
    DesiredRow,
    Key,
    Layer,
    Row,
    Rows,
    Secret,
    replace_cells,
    row_name,
    sorted_keys,
)
from proxyctl.state.runtime import ignored_rows, runtime_image
from proxyctl.state.servers import server_reader, without_shunning
from proxyctl.state.sql import is_secret
from proxyctl.state.topology import Node, Topology

_ADDRESSES = frozenset(
    {"admin-mysql_ifaces", "admin-pgsql_ifaces", "mysql-interfaces", "pgsql-interfaces"}
)


@dataclass
class Exported:
    """What one export writes.

    Shape: `tables` by catalogue name, rows sorted by key, empty tables left out. `variables` are
    written; `local` and `secrets` become comments, secrets without their values. The rows of
    `left_out` (by table and key) and the variables of `refused` become comments with the reason.
    `places`: the place of a row (by table and key) or a variable (by "variables" and name) in an
    imported file. `deviations`: what the instance has beyond its version. `is_for_version`: the
    rows belong to this version alone, and the written file names it.
    """

    version: Version
    layouts: dict[str, Layout] = field(default_factory=dict)
    deviations: Deviations = NO_DEVIATIONS
    is_for_version: bool = field(default=False, kw_only=True)
    tables: dict[str, list[DesiredRow]] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    local: dict[str, str] = field(default_factory=dict)
    secrets: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    left_out: dict[str, dict[Key, str]] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    places: dict[tuple[str, Key], str] = field(default_factory=dict)

    def leave_out(self, table: str, rows: Mapping[Key, str]) -> None:
        """Note rows that become comments; a row keeps its first reason. Changes: self."""
        self.left_out[table] = {**rows, **self.left_out.get(table, {})}


def from_runtime(
    layout: Layout,
    runtime: Rows,
    memory: Rows,
    topology: Topology = Topology(),
    drained: Collection[Node] = (),
    shunned: Collection[Key] = (),
) -> Rows:
    """Return RUNTIME rows folded back into configuration, with MEMORY's help.

    `drained` nodes are exported as MEMORY has them, and the servers of `shunned` as SHUNNED.
    """
    rows, known = fold_users(layout, runtime), fold_users(layout, memory)
    if layout.name in ("mysql_servers", "pgsql_servers"):
        return _servers(layout, rows, known, topology.of_servers(layout), drained, shunned)
    image = runtime_image(layout, dict(known))
    result: Rows = {}
    for key, row in rows.items():
        explained = key in image and not differing(layout, row, image[key])
        result[key] = known[key] if explained else row
    # RUNTIME does not show rows that are inactive or that the LOAD ignored.
    hidden = {key: row for key, row in known.items() if key not in result and key not in image}
    return result | hidden


def passed_over(layout: Layout, layer: Layer, rows: Rows, memory: Rows) -> dict[Key, str]:
    """Return the rows of a layer that ProxySQL does not use, with the reason.

    For RUNTIME these are MEMORY rows that RUNTIME does not show.
    """
    if layer is not Layer.RUNTIME:
        return ignored_rows(layout, rows)
    live = fold_users(layout, rows)
    ignored = ignored_rows(layout, fold_users(layout, memory))
    return {key: text for key, text in ignored.items() if key not in live}


def _servers(
    layout: Layout,
    runtime: Rows,
    memory: Rows,
    topology: Topology,
    drained: Collection[Node],
    shunned: Collection[Key],
) -> Rows:
    """Return the servers without the monitor's placement and without drains."""
    read, identity, in_family = server_reader(layout), topology.identity, topology.by_hostgroup
    live = {key: row for key, row in runtime.items() if not read(row).is_off}
    first = {identity(key): row for key, row in reversed(live.items())}
    configured = set(map(identity, memory))
    result: Rows = {}
    for key, row in live.items():
        is_discovered = first[identity(key)] is row and identity(key) not in configured
        if key[0] not in in_family or is_discovered:
            result[key] = row if key in shunned else without_shunning(layout, row)
    for key, row in memory.items():
        server = read(row)
        is_drained = server.node in drained
        if key[0] in in_family and identity(key) in first:
            placed, status = live.get(key, first[identity(key)]), row[layout.index["status"]]
            placed = replace_cells(layout, placed, hostgroup_id=server.hostgroup, status=status)
            result[key] = row if is_drained else placed
        elif (is_drained and key in live) or (key not in result and server.is_off):
            result[key] = row
    return result


def sorted_rows(rows: Mapping[Key, AnyRow]) -> list[AnyRow]:
    """Return the rows sorted by key, numbers before text."""
    return [rows[key] for key in sorted_keys(rows)]


def with_secrets(
    exported: Exported, layout: Layout, rows: Iterable[DesiredRow], secrets: str
) -> list[DesiredRow]:
    """Return rows with their secrets as hashes, or unchanged for `clear`.

    Clear text becomes a native hash for MySQL, and is left out for PostgreSQL: there a hash works
    only if the backend stores the same kind. A secret in another column, such as a second password
    in the attributes of a user, is left out as well. Changes: exported.warnings.
    """
    if secrets != "hash" or not _may_hold_secrets(layout):
        return list(rows)
    return [_with_hashes(exported, layout, row) for row in rows]


def _with_hashes(exported: Exported, layout: Layout, row: DesiredRow) -> DesiredRow:
    """Return the row with a hash instead of its password. Changes: exported.warnings."""
    cells = list(row)
    for position, cell in enumerate(row):
        if not isinstance(cell, str) or not is_secret(layout, position, cast("Row", row)):
            continue
        name = layout.columns[position].name
        hashed = hashed_password(layout.name, cell) if name == "password" else None
        cells[position] = KEEP if hashed is None else hashed
        if hashed is None:
            why = (
                "the password is in clear text, and no hash of it is safe to use; write"
                " `password: {env: NAME}`"
                if name == "password"
                else "it holds a password; --secrets clear writes it"
            )
            exported.warnings.append(f"{_named(layout, row)}: {name} is left out: {why}")
    return tuple(cells)


def _named(layout: Layout, row: DesiredRow) -> str:
    return row_name(layout.name, layout.key_of(cast("Row", row)))


def without_secrets(layout: Layout, rows: list[DesiredRow]) -> list[DesiredRow]:
    """Return the rows without their secret columns."""
    if not _may_hold_secrets(layout):
        return rows
    secret = {n for n, column in enumerate(layout.columns) if column.secret}
    return [
        tuple(
            KEEP if n in secret or is_secret(layout, n, cast("Row", row)) else cell
            for n, cell in enumerate(row)
        )
        for row in rows
    ]


def _may_hold_secrets(layout: Layout) -> bool:
    """Return whether rows of this table may hold secrets that came by no reference."""
    return layout.table.role is Role.USERS or any(column.secret for column in layout.columns)


def without_references(
    exported: Exported, layout: Layout, rows: Iterable[DesiredRow]
) -> list[DesiredRow]:
    """Return rows of files without values from references, except keys and passwords.

    Changes: exported.warnings.
    """
    result: list[DesiredRow] = []
    for row in rows:
        cells = list(row)
        for position, (column, cell) in enumerate(zip(layout.columns, row, strict=True)):
            if isinstance(cell, Secret) and position not in layout.key_index and not column.secret:
                cells[position] = KEEP
                exported.warnings.append(
                    f"{_named(layout, row)}: {column.name} is left out: it came from a reference;"
                    " --secrets clear writes it"
                )
        result.append(tuple(cells))
    return result


def export_variables(
    exported: Exported,
    rows: Iterable[Sequence[object]],
    secrets: str,
    *,
    keeps_defaults: bool = False,
    keeps_local: bool = False,
) -> None:
    """Sort variables into written ones and comments.

    `keeps_defaults`: also write values equal to the default. `keeps_local`: also write variables
    that are local to an instance or need a restart. Changes: exported.
    """
    held = sorted(rows, key=lambda row: str(row[0]))
    texts = {str(name): canonical_variable(str(name), value) for name, value in held}
    defaults = {name: VARIABLES[name].default_in(exported.version) for name in VARIABLES}
    # Files must set both variables or neither.
    is_pair_default = all(texts.get(name) in (None, defaults[name]) for name in CHARSET_PAIR)
    for name_cell, value_cell in held:
        name = str(name_cell)
        value, default = texts[name], defaults.get(name)
        if name in READ_ONLY or value_cell == "(null)":
            continue
        if is_out_of_reach(name, value, exported.version):
            continue
        if name in RESTART_ONLY | _ADDRESSES and not keeps_local:
            exported.local[name] = value
        elif (
            not keeps_defaults
            and default is not None
            and value == canonical_variable(name, default)
            and (is_pair_default or name not in CHARSET_PAIR)
        ):
            continue
        elif (
            value
            and secrets != "clear"
            and (is_secret_variable(name) or isinstance(value_cell, Secret))
        ):
            exported.secrets.append(name)
        else:
            exported.variables[name] = value


def environment_name(variable: str) -> str:
    """Return the environment variable that an export proposes for a secret."""
    return variable.upper().replace("-", "_")


def leave_out_administrators(exported: Exported, variables: Mapping[str, str]) -> None:
    """Leave out users with the name of an administrator. Changes: exported.

    `variables`: may name administrators; the defaults of ProxySQL apply to absent ones.
    """
    layout = exported.layouts.get("mysql_users")
    if layout is None:
        return
    logins: set[str] = set()
    for name in ("admin-admin_credentials", "admin-stats_credentials"):
        credentials = variables.get(name) or VARIABLES[name].default or ""
        logins |= {entry.partition(":")[0] for entry in credentials.split(";")}
    reason = (
        "an administrator has this name too, and ProxySQL keeps only one of them: rename the user"
    )
    keys = map(layout.key_of, exported.tables["mysql_users"])
    exported.leave_out("mysql_users", {key: reason for key in keys if str(key[0]) in logins})
