"""The rows that RUNTIME shows after a LOAD of MEMORY rows.

RUNTIME is not a copy: a LOAD drops, splits and normalises rows silently. A plan compares RUNTIME
with this image instead of the MEMORY rows. `placement` handles monitored hostgroup families.
Source: ProxySQL 2.7.1, read from its source and checked on a running server.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from proxyctl.catalog import Layout, Role, Value
from proxyctl.catalog.variable_rules import (
    DIFFS_BY_CHECKSUM,
    pasted,
    side_effects,
)
from proxyctl.proxysql.cells import normal_digest, normal_modifiers, number
from proxyctl.proxysql.compare import canonical_variable
from proxyctl.proxysql.user_halves import fold_users
from proxyctl.rows.row import KEEP, DesiredRow, Key, Secret, secret_columns

MAX_CLIENT_ADDR = 45
"""INET6_ADDRSTRLEN - 1: ProxySQL skips a rule whose client_addr is longer."""


UNSET_NUMBER = -1
"""How ProxySQL stores NULL in a numeric column of a rule."""


_UNCHANGED = frozenset(
    {
        "mysql_query_rules_fast_routing",
        "pgsql_query_rules_fast_routing",
        "mysql_servers_ssl_params",
        "pgsql_servers_ssl_params",
        "mysql_hostgroup_attributes",
        "pgsql_hostgroup_attributes",
        "mysql_firewall_whitelist_users",
        "mysql_firewall_whitelist_rules",
        "mysql_firewall_whitelist_sqli_fingerprints",
        "pgsql_firewall_whitelist_users",
        "pgsql_firewall_whitelist_rules",
        "pgsql_firewall_whitelist_sqli_fingerprints",
        "proxysql_servers",
    }
)


PASTED = {
    "scheduler": ('"', ("filename", "arg1", "arg2", "arg3", "arg4", "arg5")),
    "restapi_routes": ("'", ("method", "uri", "script", "comment")),
}
"""Columns that ProxySQL copies between quotes, unescaped, into the SQL of the runtime table."""


def is_copied(layout: Layout) -> bool:
    """Return whether RUNTIME shows exactly the MEMORY rows of this table."""
    return layout.name in _UNCHANGED


def runtime_image(
    layout: Layout, rows: dict[Key, DesiredRow] | dict[Key, tuple[Value, ...]]
) -> dict[Key, DesiredRow]:
    """Return what RUNTIME holds after a LOAD of these rows. KEEP stays KEEP.

    Shape: keyed like `rows`; users are folded (one row for both halves).
    """
    if is_copied(layout) or not rows:
        return dict(rows)
    loaded: dict[Key, DesiredRow] = dict(rows)
    image = _image(layout, loaded)
    return dict(still_secret(image, loaded) if secret_columns(layout, loaded) else image)


def _image(layout: Layout, rows: dict[Key, DesiredRow]) -> Iterator[tuple[Key, DesiredRow]]:
    name, role = layout.name, layout.table.role
    if layout.table.prefix is not None:
        yield from _variables(rows)
    elif role is Role.SERVERS:
        yield from _servers(layout, rows)
    elif role is Role.USERS:
        yield from _users(layout, rows)
    elif role is Role.RULES:
        yield from _rules(layout, rows)
    elif name == "scheduler":
        read = {key: _schedule(layout, row) for key, row in rows.items()}
        yield from _pasted(layout, read)
    elif name in PASTED:
        yield from _pasted(layout, rows)
    else:
        yield from _hostgroups(layout, rows)


def still_secret(
    image: Iterable[tuple[Key, DesiredRow]], rows: Mapping[Key, DesiredRow]
) -> Iterator[tuple[Key, DesiredRow]]:
    """Yield the rows of the image; a cell that is secret in `rows` stays secret.

    Shape: `rows` has every key of the image.
    """
    for key, row in image:
        cells = (
            Secret(new) if isinstance(old, Secret) and isinstance(new, str) else new
            for old, new in zip(rows[key], row, strict=True)
        )
        yield key, tuple(cells)


def _variables(rows: dict[Key, DesiredRow]) -> Iterator[tuple[Key, DesiredRow]]:
    """Yield the variables that RUNTIME shows.

    The rows alone do not decide a character set that does not fit its collation: the winner depends
    on what RUNTIME held before. Shape: the rows in the order of MEMORY, which counts.
    """
    shown: dict[str, str] = {}
    for name, value in ((str(name), value) for name, value in rows.values()):
        visible = pasted(name, "" if value is None else str(value))
        if visible is not None:
            shown[name] = canonical_variable(name, visible)
            shown.update(side_effects(name, shown[name], shown))
    for checksum, diffs in DIFFS_BY_CHECKSUM.items():
        # Even if the count comes after its checksum: ProxySQL then refuses the count.
        if shown.get(checksum) == "false":
            shown[diffs] = "0"
    yield from (((name,), (name, shown[name])) for (name,) in rows if name in shown)


def _servers(layout: Layout, rows: dict[Key, DesiredRow]) -> Iterator[tuple[Key, DesiredRow]]:
    status = layout.index["status"]
    for key, row in rows.items():
        value = row[status]
        if value is KEEP:
            yield key, row
            continue
        upper = str(value).upper()
        if upper != "OFFLINE_HARD":
            yield key, (*row[:status], upper, *row[status + 1 :])


def _users(layout: Layout, rows: dict[Key, DesiredRow]) -> Iterator[tuple[Key, DesiredRow]]:
    index = layout.index
    active, hostgroup = index["active"], index["default_hostgroup"]
    backend, frontend = index["backend"], index["frontend"]
    blank = [index[name] for name in ("password", "default_schema") if name in index]
    negative = {*filter(_negative, {row[hostgroup] for row in rows.values()})}
    live: dict[Key, DesiredRow] = {}
    for key, row in rows.items():
        if row[active] != 1 or row[hostgroup] in negative:
            continue
        if row[backend] == 0 and row[frontend] == 0:
            continue
        for position in blank:
            if row[position] is None:
                row = (*row[:position], "", *row[position + 1 :])
        live[key] = row
    yield from fold_users(layout, live).items()  # type: ignore[arg-type]


def _negative(value: object) -> bool:
    read = None if value is KEEP else number(value)  # type: ignore[arg-type]
    return read is not None and read < 0


def _rules(layout: Layout, rows: dict[Key, DesiredRow]) -> Iterator[tuple[Key, DesiredRow]]:
    index = layout.index
    active, address, digest = index["active"], index["client_addr"], index["digest"]
    modifiers = index["re_modifiers"]
    numbers = [
        position
        for position, column in enumerate(layout.columns)
        if column.is_numeric and not column.notnull and column.is_listed
    ]
    for key, row in rows.items():
        if row[active] != 1 or not valid_client_addr(row[address]):
            continue
        changes: dict[int, Value] = {}
        if row[digest] is not None:
            changes[digest] = normal_digest(row[digest])
        if row[modifiers] != "CASELESS":
            changes[modifiers] = normal_modifiers(row[modifiers])
        for position in numbers:
            if row[position] == UNSET_NUMBER:
                changes[position] = None
        if changes:
            cells = list(row)
            for position, value in changes.items():
                cells[position] = value
            row = tuple(cells)
        yield key, row


def valid_client_addr(value: object) -> bool:
    """Return whether ProxySQL keeps a rule with this client_addr."""
    return client_addr_problem(value) is None


CLIENT_ADDR_FIX = "use % only at the end, as in 10.0.0.%"


def client_addr_problem(value: object) -> str | None:
    """Return why ProxySQL skips a rule with this client_addr; None if it keeps the rule."""
    if not isinstance(value, str):
        return None
    if "%" in value[:-1]:
        return "ProxySQL skips a rule if its % is not the last character"
    if len(value.encode("utf-8", "surrogateescape")) > MAX_CLIENT_ADDR:
        return f"ProxySQL skips a rule whose address is longer than {MAX_CLIENT_ADDR} bytes"
    return None


def _schedule(layout: Layout, row: DesiredRow) -> DesiredRow:
    """Return a job's row: its arguments end at the first NULL."""
    positions = [layout.index[f"arg{number}"] for number in range(1, 6)]
    ends = next((n for n, position in enumerate(positions) if row[position] is None), 5)
    cells = list(row)
    for position in positions[ends:]:
        cells[position] = None
    return tuple(cells)


def _pasted(layout: Layout, rows: dict[Key, DesiredRow]) -> Iterator[tuple[Key, DesiredRow]]:
    """Yield the rows that the runtime table shows unchanged; a quote changes what it shows."""
    yield from ((key, row) for key, row in rows.items() if not columns_with_quote(layout, row))


def columns_with_quote(layout: Layout, row: Sequence[object]) -> list[str]:
    """Return the columns with a quote that changes what the runtime table shows."""
    if layout.name not in PASTED:
        return []
    quote, names = PASTED[layout.name]
    return [name for name in names if quote in str(row[layout.index[name]])]


def _hostgroups(layout: Layout, rows: dict[Key, DesiredRow]) -> Iterator[tuple[Key, DesiredRow]]:
    """Yield the rows of a family table that a LOAD does not ignore."""
    clashing = clashing_writers(layout, rows.values())
    writer = layout.index["writer_hostgroup"]
    yield from ((key, row) for key, row in rows.items() if row[writer] not in clashing)


def ignored_rows(layout: Layout, rows: Mapping[Key, Sequence[Value]]) -> dict[Key, str]:
    """Return the active rows that a LOAD ignores or RUNTIME never shows, each with the reason."""
    name, index = layout.name, layout.index
    if is_copied(layout) or layout.table.prefix is not None:
        return {}
    if name in PASTED:
        quotes = ((key, columns_with_quote(layout, row)) for key, row in rows.items())
        return {key: _hidden(columns[0]) for key, columns in quotes if columns}
    if "writer_hostgroup" in index:
        writer, clashing = index["writer_hostgroup"], clashing_writers(layout, rows.values())
        return {key: _clash(row[writer]) for key, row in rows.items() if row[writer] in clashing}
    if layout.table.role is Role.USERS:
        reason = _why_no_user
    elif layout.table.role is Role.RULES:
        reason = _why_no_rule
    else:
        return {}
    active = index["active"]
    reasons = ((key, reason(index, row)) for key, row in rows.items() if row[active] == 1)
    return {key: text for key, text in reasons if text is not None}


def _hidden(column: str) -> str:
    return (
        f"because of the quote in {column}, ProxySQL shows a different value in its runtime table,"
        " so a LOAD cannot be verified"
    )


def _clash(hostgroup: Value) -> str:
    return (
        f"ProxySQL ignores a row whose writer hostgroup, here {hostgroup}, has a different role in"
        " any row of the table"
    )


def _why_no_user(index: Mapping[str, int], row: Sequence[Value]) -> str | None:
    if _negative(row[index["default_hostgroup"]]):
        return "ProxySQL drops a user with a negative default_hostgroup"
    if row[index["backend"]] == 0 and row[index["frontend"]] == 0:
        return "ProxySQL drops a user with frontend 0 and backend 0"
    return None


def _why_no_rule(index: Mapping[str, int], row: Sequence[Value]) -> str | None:
    return client_addr_problem(row[index["client_addr"]])


def clashing_writers(layout: Layout, rows: Iterable[Sequence[object]]) -> set[object]:
    """Return the hostgroups that have another role than writer in any row of a family table.

    A LOAD ignores every row whose writer hostgroup is one of these: it loads neither (1,2) nor
    (2,1). ProxySQL checks no other clashes.
    """
    roles = [
        position
        for position, column in enumerate(layout.columns)
        if column.hostgroup and column.name != "writer_hostgroup"
    ]
    return {row[position] for row in rows for position in roles}
