"""How rows and variables change on their way between MEMORY and RUNTIME.

ProxySQL copies rows into its own structures, and silently drops, splits and normalises them. Most
of that is `proxysql.load_image.runtime_image`. The functions here first read numbers as C does, and
then add what no comparison needs: unsigned numbers, and the two halves of a user. Nothing here
touches a database.
Source: ProxySQL 2.7.1, watched on a running server; the conformance suite holds these rules to it.
"""

from __future__ import annotations

import os.path
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

from proxyctl.catalog import Layout, Role, Value, Version
from proxyctl.catalog.charsets import fits
from proxyctl.catalog.variable_rules import (
    CAPABILITIES,
    CAPABILITY_BITS,
    CHARSET,
    COLLATION,
    DIFFS_BY_CHECKSUM,
    KEYLOG,
    NETWORKS,
    NO_VALUE,
    atoi,
    is_out_of_reach,
    pasted,
    runtime_text,
)
from proxyctl.catalog.variables import ALWAYS_OFF, VARIABLES
from proxyctl.proxysql.cells import number
from proxyctl.proxysql.load_image import runtime_image
from proxyctl.proxysql.passwords import is_hash, native_hash
from proxyctl.rows.row import Key
from proxyctl.sandbox.replies import SqliteValue, not_modelled, refusal

NamedValues = dict[str, SqliteValue]
ServerKey = tuple[int, str, int]
"""Hostgroup, hostname and port."""

_REPLICATION = ("mysql_replication_hostgroups", "pgsql_replication_hostgroups")
_HEX = re.compile(r"0[xX][0-9A-Fa-f]+")
_BITS = {
    "mysql_hostgroup_attributes": ("hostgroup_id", 32),
    "pgsql_hostgroup_attributes": ("hostgroup_id", 32),
    "proxysql_servers": ("port", 16),
    "restapi_routes": ("id", 32),
    "scheduler": ("id", 32),
}
"""Columns that are unsigned numbers at RUNTIME, with the number of their bits."""

_ENDS_AT_LOAD = frozenset(
    f"{protocol}_{table}"
    for protocol in ("mysql", "pgsql")
    for table in ("servers", "servers_ssl_params", "hostgroup_attributes")
)
"""Tables whose LOAD ends ProxySQL if two rows have the same key for it."""


def c_int(value: SqliteValue) -> int:
    """Return the number that ProxySQL reads in a field; NULL counts as 0."""
    return number(c_field(value)) or 0


def c_field(value: SqliteValue) -> Value:
    """Return a field as ProxySQL's C strings take it: text up to the first NUL, also of a BLOB."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "surrogateescape")
    return value.partition("\0")[0] if isinstance(value, str) else value


def c_text(value: SqliteValue) -> str:
    """Return a field as text; NULL becomes empty."""
    return "" if value is None else str(value)


def server_key(row: Mapping[str, SqliteValue]) -> ServerKey:
    """Return the identity of a server; hostnames are case-sensitive."""
    return c_int(row["hostgroup_id"]), c_text(row["hostname"]), c_int(row["port"])


def as_tuples(
    layout: Layout, rows: Sequence[Mapping[str, SqliteValue]]
) -> list[tuple[SqliteValue, ...]]:
    """Return rows in column order."""
    return [tuple([row[name] for name in layout.names]) for row in rows]


def loaded_rows(layout: Layout, memory: Iterable[Mapping[str, SqliteValue]]) -> list[NamedValues]:
    """Return the rows of a table at RUNTIME after a LOAD; not for users."""
    if layout.name in _REPLICATION:
        read = [row for row in map(_as_pasted, memory) if row is not None]
    else:
        read = [_as_numbers(layout, row) for row in memory]
    rows: dict[Key, tuple[Value, ...]] = {(n,): tuple(row.values()) for n, row in enumerate(read)}
    if layout.name in _ENDS_AT_LOAD:
        _refuse_twins(layout, rows.values())
    # No cell is KEEP, which only rows of files hold.
    image = cast("Iterable[tuple[Value, ...]]", runtime_image(layout, rows).values())
    loaded: list[NamedValues] = [dict(zip(layout.names, cells, strict=True)) for cells in image]
    if layout.name in _BITS:
        name, bits = _BITS[layout.name]
        for row in loaded:
            row[name] = c_int(row[name]) % 2**bits
    if layout.table.role is Role.SERVERS:
        for row in loaded:
            # ProxySQL keeps microseconds in 32 bits.
            row["max_latency_ms"] = c_int(row["max_latency_ms"]) * 1000 % 2**32 // 1000
    if layout.table.role is Role.RULES:
        loaded.sort(key=lambda row: c_int(row["rule_id"]))
    return loaded


def _refuse_twins(layout: Layout, rows: Iterable[tuple[Value, ...]]) -> None:
    """Refuse a LOAD of rows that only SQLite keeps apart, such as a BLOB beside its text.

    Raises: AdminError.
    """
    for key, count in Counter(map(layout.key_of, rows)).items():
        if count > 1:
            text = ":".join(map(str, key))
            raise refusal(
                f"refuses to load {layout.name} with two rows {text}: ProxySQL crashes here"
            )


def _as_numbers(layout: Layout, row: Mapping[str, SqliteValue]) -> dict[str, Value]:
    """Return a row in column order, with its fields as ProxySQL's structures hold them."""
    return {
        column.name: c_int(row[column.name])
        if column.is_numeric and row[column.name] is not None
        else c_field(row[column.name])
        for column in layout.columns
    }


def _as_pasted(row: Mapping[str, SqliteValue]) -> dict[str, Value] | None:
    """Return replication hostgroups as ProxySQL pastes them into SQL.

    Accepts hex and numbers of any size. Returns None for any other text: ProxySQL loses the row.
    """
    pasted = {name: c_field(cell) for name, cell in row.items()}
    for name in ("writer_hostgroup", "reader_hostgroup"):
        match pasted[name]:
            case str(text) if _HEX.fullmatch(text):
                pasted[name] = int(text, 16)
            case str():
                return None
    return pasted


def saved_servers(running: Iterable[Mapping[str, SqliteValue]]) -> list[NamedValues]:
    """Return the MEMORY rows that SAVE TO MEMORY writes: SHUNNED is no configuration."""
    return [
        {**row, "status": "ONLINE" if row["status"] == "SHUNNED" else row["status"]}
        for row in running
    ]


def loaded_users(
    layout: Layout, memory: Iterable[Mapping[str, SqliteValue]], *, hash_passwords: bool
) -> list[NamedValues]:
    """Return the users at RUNTIME after a LOAD: one row for each half of each active user."""
    halves: list[NamedValues] = []
    for source in memory:
        if c_int(source["active"]) != 1 or c_int(source["default_hostgroup"]) < 0:
            continue
        row: NamedValues = {
            name: "" if value is None else value
            for name, value in _as_numbers(layout, source).items()
        }
        row["max_connections"] = max(0, c_int(row["max_connections"]))
        password = c_text(row["password"])
        if hash_passwords and password and not is_hash(password):
            row["password"] = native_hash(password)
        if row["frontend"]:
            halves.append({**row, "backend": 0, "frontend": 1})
        if row["backend"]:
            halves.append({**row, "backend": 1, "frontend": 0})
    # Of two users that only SQLite keeps apart, the later one is loaded.
    users = {(half["username"], half["backend"]): half for half in halves}
    return sorted(users.values(), key=lambda half: half["backend"] == 1)


# --- global variables ---------------------------------------------------------------------------
# ProxySQL does not report a refused value: the LOAD answers OK, and MEMORY gets the old value back.
# Every variable was tried on a running 2.7.1; older defaults are from the manual.

_FIXED = frozenset({"admin-version", "mysql-interfaces"})
_LOG_FILES = frozenset({"mysql-auditlog_filename", "mysql-eventslog_filename", KEYLOG})
_IGNORED_EMPTY = frozenset({"admin-cluster_password", "admin-cluster_username"})
"""An empty value of these does not change RUNTIME, and stays in MEMORY."""

_CHECKSUM_OF = {diffs: checksum for checksum, diffs in DIFFS_BY_CHECKSUM.items()}


def starting_values(version: Version, product: str) -> dict[str, str]:
    """Return every variable of a version with its value in a fresh ProxySQL.

    `product`: the text of admin-version.
    Shape: in the order in which a LOAD takes the rows. For a fresh ProxySQL it matters only that
    checksums come after their difference counts.
    """
    values: dict[str, str] = {}
    for name, variable in sorted(VARIABLES.items(), key=lambda item: item[0] in DIFFS_BY_CHECKSUM):
        if not variable.exists_in(version):
            continue
        default = variable.default_in(version) or ""
        values[name] = NO_VALUE if name.startswith("admin-telnet_") else default
    values["admin-version"] = product
    return values


def first_on_disk(version: Version, running: Mapping[str, str]) -> dict[str, str]:
    """Return the variables as the first start writes them to DISK.

    They are written before they are loaded, so even a value that the version refuses is written.
    """
    default = VARIABLES[CAPABILITIES].default or ""
    is_refused = is_out_of_reach(CAPABILITIES, default, version)
    return {**running, CAPABILITIES: default} if is_refused else dict(running)


def known_name(name: str, running: Mapping[str, str]) -> str | None:
    """Return the variable that a row of global_variables sets: names match in any case."""
    if name in running:
        return name
    lowered = {known.lower(): known for known in running}
    return lowered.get(name.lower())


def variable_rows(running: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the variables that ProxySQL writes into a table: it omits some admin variables."""
    for name, text in running.items():
        shown = pasted(name, text)
        if shown is not None:
            yield name, shown


def accepted(name: str, text: str, running: Mapping[str, str], version: Version) -> str | None:
    """Return what RUNTIME holds after the LOAD of a value, or None if RUNTIME refuses the value.

    An ignored value that stays in MEMORY counts as accepted: RUNTIME keeps its old value.
    """
    if name in _FIXED:
        return running[name] if text == running[name] else None
    if name == "mysql-threads":
        return running[name] if str(atoi(text)) == running[name] else None
    if (name == NETWORKS and runtime_text(name, text) is None) or (
        name in _IGNORED_EMPTY and not text
    ):
        return running[name]
    if name in _LOG_FILES and os.path.isabs(text) and not os.path.isdir(os.path.dirname(text)):
        return None
    value = runtime_text(name, text, version)
    if value == "true" and name in ALWAYS_OFF and not version.tier:
        return "false"
    if value is not None and running.get(_CHECKSUM_OF.get(name, "")) == "false":
        return "0"
    return value


def put_back(name: str, running: Mapping[str, str]) -> str:
    """Return the value of a variable after a refused text: nearly always its old value.

    Capabilities also get the bits of compression and TLS.
    """
    if name != CAPABILITIES:
        return running[name]
    bits = sum(bit for flag, bit in CAPABILITY_BITS.items() if running[flag] == "true")
    return str(int(running[name]) | bits)


def refuse_unmodelled(texts: Mapping[str, str]) -> None:
    """Refuse a LOAD of texts that ProxySQL would replace by other texts.

    Raises: AdminError.
    """
    charset, collation = texts.get(CHARSET), texts.get(COLLATION)
    if charset is not None and collation is not None and not fits(charset, collation):
        raise not_modelled(f"{CHARSET} {charset} with {COLLATION} {collation}, which do not match")
    keylog = texts.get(KEYLOG)
    if keylog and not os.path.isabs(keylog):
        raise not_modelled(f"a relative path in {KEYLOG}")
