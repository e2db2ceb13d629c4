"""The rows and variables of one file to write: with or without passwords, and what is left out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from proxyctl.catalog import NO_DEVIATIONS, Deviations, Layout, Role, Version
from proxyctl.catalog.variable_rules import CHARSET_PAIR, is_out_of_reach
from proxyctl.catalog.variables import READ_ONLY, RESTART_ONLY, VARIABLES, is_secret_variable
from proxyctl.proxysql.compare import canonical_variable
from proxyctl.proxysql.passwords import hashed_password
from proxyctl.proxysql.plugin_ledger import NO_PLUGINS, PluginLedger
from proxyctl.rows.row import KEEP, DesiredRow, Key, Row, Secret, row_name
from proxyctl.rows.sql import is_secret

_ADDRESSES = frozenset(
    {"admin-mysql_ifaces", "admin-pgsql_ifaces", "mysql-interfaces", "pgsql-interfaces"}
)


@dataclass
class FileContent:
    """What one export, import or compilation writes."""

    version: Version
    layouts: dict[str, Layout] = field(default_factory=dict)
    deviations: Deviations = NO_DEVIATIONS
    """What the instance has beyond its version."""
    is_for_version: bool = field(default=False, kw_only=True)
    """Whether the rows belong to this version alone: the written file then names it."""
    tables: dict[str, list[DesiredRow]] = field(default_factory=dict)
    """By catalogue name, rows sorted by key; empty tables are absent."""
    variables: dict[str, str] = field(default_factory=dict)
    """The variables that are written."""
    local: dict[str, str] = field(default_factory=dict)
    """Variables that become comments: they are local to an instance, or need a restart."""
    secrets: list[str] = field(default_factory=list)
    """Variables that become comments without their value."""
    warnings: list[str] = field(default_factory=list)
    left_out: dict[str, dict[Key, str]] = field(default_factory=dict)
    """By table and key, the rows that become comments, and the reason."""
    refused: dict[str, str] = field(default_factory=dict)
    """The variables that become comments, and the reason."""
    remarks: dict[str, str] = field(default_factory=dict)
    """By table, the comment above its section."""
    places: dict[tuple[str, Key], str] = field(default_factory=dict)
    """The places in an imported file of rows (table and key) and variables ("variables", (name,)).
    """

    ledger: PluginLedger = NO_PLUGINS
    """The rows that plugins of the instance own: a script does not delete them."""

    def leave_out(self, table: str, rows: Mapping[Key, str]) -> None:
        """Note rows that become comments; a row keeps its first reason. Changes: self."""
        self.left_out[table] = {**rows, **self.left_out.get(table, {})}


def add_variables(
    content: FileContent,
    rows: Iterable[Sequence[object]],
    secrets: str,
    *,
    keeps_defaults: bool = False,
    keeps_local: bool = False,
) -> None:
    """Sort variables into written ones and comments.

    `keeps_defaults`: also write values equal to the default. `keeps_local`: also write variables
    that are local to an instance or need a restart. Changes: content.
    """
    held = sorted(rows, key=lambda row: str(row[0]))
    texts = {str(name): canonical_variable(str(name), value) for name, value in held}
    defaults = {name: VARIABLES[name].default_in(content.version) for name in VARIABLES}
    # Files must set both variables or neither.
    is_pair_default = all(texts.get(name) in (None, defaults[name]) for name in CHARSET_PAIR)
    for name_cell, value_cell in held:
        name = str(name_cell)
        value, default = texts[name], defaults.get(name)
        if name in READ_ONLY or value_cell == "(null)":
            continue
        if is_out_of_reach(name, value, content.version):
            continue
        if name in RESTART_ONLY | _ADDRESSES and not keeps_local:
            content.local[name] = value
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
            content.secrets.append(name)
        else:
            content.variables[name] = value


def leave_out_administrators(content: FileContent, variables: Mapping[str, str]) -> None:
    """Leave out users with the name of an administrator. Changes: content.

    `variables`: may name administrators; the defaults of ProxySQL apply to absent ones.
    """
    layout = content.layouts.get("mysql_users")
    if layout is None:
        return
    logins: set[str] = set()
    for name in ("admin-admin_credentials", "admin-stats_credentials"):
        credentials = variables.get(name) or VARIABLES[name].default or ""
        logins |= {entry.partition(":")[0] for entry in credentials.split(";")}
    reason = (
        "an administrator also has this name, and ProxySQL keeps only one of them: rename the user"
    )
    keys = map(layout.key_of, content.tables["mysql_users"])
    content.leave_out("mysql_users", {key: reason for key in keys if str(key[0]) in logins})


def with_secrets(
    content: FileContent, layout: Layout, rows: Iterable[DesiredRow], secrets: str
) -> list[DesiredRow]:
    """Return rows with their secrets as hashes, or unchanged for `clear`.

    Clear text becomes a native hash for MySQL, and is left out for PostgreSQL: there a hash works
    only if the backend stores the same kind. A secret in another column, such as a second password
    in the attributes of a user, is left out as well. Changes: content.warnings.
    """
    if secrets != "hash" or not _may_hold_secrets(layout):
        return list(rows)
    return [_with_hashes(content, layout, row) for row in rows]


def _with_hashes(content: FileContent, layout: Layout, row: DesiredRow) -> DesiredRow:
    """Return the row with a hash instead of its password. Changes: content.warnings."""
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
            content.warnings.append(f"{_named(layout, row)}: {name} is left out: {why}")
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
    content: FileContent, layout: Layout, rows: Iterable[DesiredRow]
) -> list[DesiredRow]:
    """Return rows of files without values from references, except keys and passwords.

    Changes: content.warnings.
    """
    result: list[DesiredRow] = []
    for row in rows:
        cells = list(row)
        for position, (column, cell) in enumerate(zip(layout.columns, row, strict=True)):
            if isinstance(cell, Secret) and position not in layout.key_index and not column.secret:
                cells[position] = KEEP
                content.warnings.append(
                    f"{_named(layout, row)}: {column.name} is left out: it came from a reference;"
                    " --secrets clear writes it"
                )
        result.append(tuple(cells))
    return result


def propose_environment(content: FileContent, layout: Layout) -> None:
    """Add a comment that shows how passwords leave the file, if it holds any. Changes: content."""
    position = layout.index["password"]
    for row in content.tables[layout.name]:
        if isinstance(row[position], str) and row[position]:
            name = environment_name(f"{row[layout.index['username']]}_password")
            text = f"from the environment instead of a hash: password: {{env: {name}}}"
            content.remarks[layout.name] = text
            return


def environment_name(secret: str) -> str:
    """Return the environment variable that an export proposes for a secret."""
    return re.sub(r"[^A-Z0-9_]", "_", secret.upper())
