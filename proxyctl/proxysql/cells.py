"""The value that ProxySQL reads from a cell. Pure.

Tables accept more than ProxySQL understands, such as text in a numeric column or unknown words. Two
cells are equal if ProxySQL reads the same value from both.
Source: ProxySQL 2.7.1, run with each kind of value; lib/Query_Processor.cpp for negative numbers.
"""

from __future__ import annotations

import json
import re

from proxyctl.catalog import MAX_INT, Column, Role, Table, Value
from proxyctl.catalog.variable_rules import atoi

MAX_LATENCY_MS = 2**32 // 1000
"""Largest max_latency_ms: ProxySQL holds it in microseconds, in 32 bits."""


MODIFIERS = ("CASELESS", "GLOBAL")
"""The words of re_modifiers that ProxySQL knows."""


_LARGEST = 2**64 - 1


PASTED = frozenset({"mysql_replication_hostgroups", "pgsql_replication_hostgroups"})
"""Tables whose cells ProxySQL copies into SQL verbatim, without reading a number."""


def as_read(table: Table, column: Column, value: Value) -> Value:
    """Return the value that ProxySQL reads from a cell with `value`."""
    if not column.is_listed:
        return value
    if column.is_numeric and table.name not in PASTED:
        return _as_number(table, column, value)
    if value is None and table.role is Role.USERS and column.name == "default_schema":
        return ""  # as RUNTIME shows it, and as a cluster peer writes it to MEMORY
    if table.role is Role.RULES:
        if column.name == "digest":
            return normal_digest(value)
        if column.name == "re_modifiers":
            return normal_modifiers(value)
    if column.json_keys and isinstance(value, str):
        return read_json(column, value)
    return value


def read_json(column: Column, text: str) -> str:
    """Return the part of a JSON mapping that ProxySQL reads; '' if it reads nothing.

    A text that ProxySQL reads completely stays unchanged.
    """
    ignored = ignored_keys(column, text)
    if not ignored:
        return text
    read = {} if None in ignored else json.loads(text)
    kept = {key: value for key, value in read.items() if key not in ignored}
    return json.dumps(kept, separators=(",", ":"), ensure_ascii=False) if kept else ""


def ignored_keys(column: Column, text: str) -> list[str | None]:
    """Return the keys of a JSON mapping that ProxySQL ignores; [None] if it ignores the text."""
    try:
        mapping = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return []
    if not isinstance(mapping, dict):
        return [None]
    limits = {key.name: key for key in column.json_keys}
    return [
        name
        for name, value in mapping.items()
        if name not in limits
        or type(value) is not int
        or not limits[name].low <= value <= limits[name].high
    ]


def _as_number(table: Table, column: Column, value: Value) -> Value:
    read = number(value)
    if read is None:
        return None
    if read < 0 and not column.notnull and table.role is Role.RULES:
        # RUNTIME shows -1 as NULL and other negative numbers as they are; all mean "not set".
        return None
    if column.name == "max_connections" and table.role is Role.USERS:
        return max(read, 0)
    if column.name == "max_latency_ms":
        return read * 1000 % 2**32 // 1000
    return read


def number(value: Value) -> int | None:
    """Return the 32-bit number that ProxySQL reads, as C's atoi does: 'abc' is 0, 1.5 is 1."""
    if value is None:
        return None
    if type(value) is int and 0 <= value <= MAX_INT:
        return value
    return atoi(str(value))


def normal_digest(value: object) -> str | None:
    """Return how RUNTIME prints a digest; None if ProxySQL drops the criterion.

    Source: C's strtoull with automatic base and an optional sign. 0 and the largest number mean an
    unreadable text.
    """
    match = re.match(r"\s*([+-]?)(0[xX][0-9A-Fa-f]+|0[0-7]*|[1-9][0-9]*)", str(value or ""))
    if match is None:
        return None
    digits = match[2].lower()
    base = 16 if digits.startswith("0x") else 8 if digits.startswith("0") else 10
    read = min(int(digits, base), _LARGEST)
    if match[1] == "-" and read != _LARGEST:
        read = -read % (_LARGEST + 1)
    return None if read in (0, _LARGEST) else f"0x{read:016X}"


DIGEST_FIX = "write 0x and up to 16 hexadecimal digits, as the digest statistics show it"
_DIGEST = re.compile(r"0[xX][0-9A-Fa-f]{1,16}\Z")


def digest_problem(text: str) -> str | None:
    """Return how ProxySQL reads an invalid digest; None if the digest is valid."""
    if _DIGEST.match(text) and int(text, 16):
        return None
    read = normal_digest(text)
    return (
        f"ProxySQL reads it as {read}"
        if read
        else "ProxySQL ignores it, so the rule matches every query"
    )


def normal_modifiers(value: object) -> str:
    """Return how RUNTIME prints re_modifiers: the known words, in its own order."""
    words = [word.upper() for word in str(value).split(",")] if value is not None else []
    return ",".join(name for name in MODIFIERS if any(word.startswith(name) for word in words))


MODIFIERS_FIX = "write CASELESS, GLOBAL, or both with a comma and no space between them"


def modifiers_problem(text: str) -> str | None:
    """Return how ProxySQL reads the first unknown word of re_modifiers; None if it knows all."""
    for word in text.split(",") if text else ():
        if word.upper() not in MODIFIERS:
            read = normal_modifiers(word)
            return (
                f"ProxySQL reads one of its words as {read}"
                if read
                else "ProxySQL ignores unknown words"
            )
    return None
