"""Rows -> our own YAML: one section per table, one line per row.

The text reads back as the same rows, with our own strict reader and with any other reader of YAML
1.1 or 1.2. A column is left out if an absent key has the same effect.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NoReturn

from proxyctl.catalog import Column, ColumnKind, Layout, Value, VariableKind, Version
from proxyctl.catalog.variables import VARIABLES
from proxyctl.rows.desired import DesiredTable, Term
from proxyctl.rows.row import KEEP, REFERENCES, DesiredRow
from proxyctl.text import CONTROL


@dataclass(frozen=True, slots=True)
class EnvRef:
    """A value from an environment variable, written as `{env: NAME}`."""

    name: str


@dataclass(frozen=True, slots=True)
class Commented:
    """A variable that is written as a comment, and the reason."""

    value: str | EnvRef
    why: str = ""


Field = Value | EnvRef | Enum
"""One field of a row to write. KEEP is left out."""

Section = tuple[Layout, Sequence[Sequence[Field]]]

VariableField = str | EnvRef | Commented


def write_document(
    tables: Mapping[str, Section],
    variables: Mapping[str, VariableField],
    *,
    version: Version | None = None,
    header: Sequence[str] = (),
    remarks: Mapping[str, Sequence[str]] | None = None,
    keeps_fast_routing_alive: bool = True,
) -> tuple[str, dict[int, tuple[str, int | str]]]:
    """Return a whole file, and the row or variable of its lines.

    Shape: `tables` by catalogue name, in the order to write; a table without rows becomes an empty
    list, since an absent section would be unmanaged. `version`: the ProxySQL that the file is for.
    `header`, and `remarks` by table, are lines of comment without the `#`; `remarks` may name a
    table that is not written. The second value has, by line, the section and the number of its row,
    or `variables` and the name. Units: lines count from 1, rows from 0.
    """
    places: dict[int, tuple[str, int | str]] = {}
    lines = [_comment(line) for line in header]
    lines += ["version: 1"]
    if version is not None:
        lines += [f"proxysql_version: {version}"]
    if not keeps_fast_routing_alive:
        lines += ["", "# ProxySQL skips its fast routing: the last active rule has apply 1."]
        lines += ["keep_fast_routing_alive: false"]
    if variables:
        # A key above nothing but comments would be null.
        is_empty = all(isinstance(value, Commented) for value in variables.values())
        lines += ["", "# variables:" if is_empty else "variables:"]
    for name, value in variables.items():
        if isinstance(value, Commented):
            why = f"   # {value.why}" if value.why else ""
            lines.append("  " + _comment(f"{name}: {_variable(name, value.value)}{why}"))
        else:
            lines.append(f"  {name}: {_variable(name, value)}")
            places[len(lines)] = ("variables", name)
    for name in dict.fromkeys((*tables, *(remarks or {}))):
        lines += ["", *map(_comment, (remarks or {}).get(name, ()))]
        if name in tables:
            layout, rows = tables[name]
            lines.append(f"{name}:" if rows else f"{name}: []")
            places |= {len(lines) + n + 1: (name, n) for n in range(len(rows))}
            lines += row_lines(layout, rows)
    return "\n".join(lines) + "\n", places


def _comment(line: str) -> str:
    """Return a comment. A control character would end it, or the file for some YAML readers."""
    return f"# {_UNPRINTABLE.sub('?', line)}".rstrip()


# Rows -------------------------------------------------------------------------------------------


def _left_out(layout: Layout, column: Column) -> object:
    """Return the value that an absent key means; KEEP if the column is never left out.

    An absent password would be unmanaged, and a row without its hostgroup is hard to read.
    """
    is_hostgroup_key = column.hostgroup and column.name in layout.table.key
    if column.is_required or is_hostgroup_key or column.secret:
        return KEEP
    return column.file_default


def row_lines(layout: Layout, rows: Sequence[Sequence[Field]]) -> Iterator[str]:
    """Yield one line for each row."""
    columns = [
        (column.name + ": ", _left_out(layout, column), _WRITERS.get(column.kind, _plain))
        for column in layout.columns
    ]
    for row in rows:
        parts = [
            name + write(value)
            for value, (name, absent, write) in zip(row, columns, strict=True)
            if value != absent and value is not KEEP
        ]
        yield "  - {" + ", ".join(parts) + "}"


def _plain(value: Field) -> str:
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, EnvRef):
        return f"{{env: {quoted(value.name)}}}"
    return "null" if value is None else repr(value)


def _boolean(value: Field) -> str:
    if value.__class__ is int and value in (0, 1):
        return "true" if value else "false"
    return _plain(value)


# Text -------------------------------------------------------------------------------------------

_PLAIN = re.compile(r"(?:[A-Za-z_/][A-Za-z0-9_/.@+-]*|(?:[0-9]{1,3}\.){3}[0-9]{1,3})\Z")
"""Text that every reader takes for text: words, paths, host names, IPv4 addresses."""

_WORDS = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null"])
"""Words that are a boolean or null to some reader, in any letter case."""

_UNPRINTABLE = re.compile(
    r"[^\x20-\x7e\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
    rf"|[{CONTROL}]"
)


def quoted(text: str) -> str:
    """Return text as a YAML scalar: plain where that is safe, else quoted.

    Bytes that are not UTF-8, held as surrogate escapes, are written as `{hex: ...}`.
    """
    if _PLAIN.match(text) and text.lower() not in _WORDS:
        return text
    if _UNPRINTABLE.search(text) is None:
        return "'" + text.replace("'", "''") + "'"
    if any("\ud800" <= character <= "\udfff" for character in text):
        return f"{{hex: '{text.encode('utf-8', 'surrogateescape').hex()}'}}"
    # YAML has the same escapes as Python.
    return '"' + text.encode("unicode_escape").decode().replace('"', '\\"') + '"'


# JSON -------------------------------------------------------------------------------------------


def _json(value: Field) -> str:
    """Return JSON as it is, which is YAML, or in quotes where YAML readers would disagree.

    YAML readers disagree about a float, a duplicate key and half a character. Our own reader would
    take some objects for a reference.
    """
    if not isinstance(value, str):
        return _plain(value)
    try:
        node = json.loads(
            value, object_pairs_hook=_members, parse_float=_refused, parse_constant=_refused
        )
        written = json.dumps(node, ensure_ascii=False)
    except (ValueError, RecursionError):
        return quoted(value)
    is_plain = isinstance(node, (dict, list)) and _UNPRINTABLE.search(written) is None
    return written if is_plain else quoted(value)


def _members(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if (len(members) == 1 and members.keys() <= REFERENCES) or len(members) < len(pairs):
        raise ValueError("keys that not every reader accepts")
    return members


def _refused(number: str) -> NoReturn:
    raise ValueError(f"a number that readers write in several ways: {number}")


_WRITERS: dict[ColumnKind, Callable[[Field], str]] = {
    ColumnKind.BOOL: _boolean,
    ColumnKind.JSON: _json,
}


# Variables --------------------------------------------------------------------------------------


def _variable(name: str, value: str | EnvRef) -> str:
    """Return the value: bare if the variable is a number or a switch, else as text."""
    if isinstance(value, EnvRef):
        return _plain(value)
    known = VARIABLES.get(name)
    kind = known.kind if known else VariableKind.TEXT
    if kind is VariableKind.INT and re.fullmatch(r"-?(?:0|[1-9][0-9]{0,17})", value):
        return value
    if kind is VariableKind.BOOL and value.lower() in ("true", "false", "1", "0"):
        return "true" if value.lower() in ("true", "1") else "false"
    return quoted(value)


# manage -----------------------------------------------------------------------------------------


def manage_section(
    owned: Mapping[str, DesiredTable], tables: Mapping[str, tuple[Layout, Sequence[DesiredRow]]]
) -> str:
    """Return the `manage` section; '' if the files own whole tables and set every column.

    Without the section, a file with a part of a table would own the whole table and delete the
    other rows, and a column that no row sets would get its default. `tables`: the written rows.
    """
    lines = []
    for name, table in owned.items():
        if table.scope is not None and table.scope.terms:
            columns = (
                f"{column}: [{', '.join(map(_term, terms))}]"
                for column, terms in table.scope.terms.items()
            )
            lines.append(f"  {name}: {{{', '.join(columns)}}}")
    ignored = {name: table.keep_on_update for name, table in owned.items() if table.keep_on_update}
    for name, (layout, rows) in tables.items():
        # Columns that some row does not set, unless an absent key already leaves them alone.
        columns_of = [(n, c.name) for n, c in enumerate(layout.columns) if not c.kept]
        unset = {name for n, name in columns_of if any(row[n] is KEEP for row in rows)}
        if unset:
            ignored[name] = ignored.get(name, frozenset()) | unset
    if ignored:
        lines.append("  ignore:")
    lines += [f"    {name}: [{', '.join(sorted(names))}]" for name, names in ignored.items()]
    return "\n".join(["", "manage:", *lines, ""]) if lines else ""


def _term(term: Term) -> str:
    return str(term) if isinstance(term, int) else quoted(str(term))
