"""A snapshot: the rows of MEMORY, RUNTIME and DISK before a command, and the text of its file.

The file holds JSON lines, compressed by gzip, whose checksum detects damage:

    {"format": 1, "address": ..., "version": ..., "taken_at": ..., "before": "apply", ...}
    {"table": ..., "layer": "memory", "columns": [...], "rows": [[...], ...]}
    {"table": ..., "layer": "disk", "columns": [...], "same_as": "memory"}

Bytes that are not UTF-8 are kept.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from math import isfinite
from pathlib import Path
from typing import Any

from proxyctl.catalog import TABLES, Value, parse_version
from proxyctl.errors import ProxyctlError
from proxyctl.instance.read import TableLayers
from proxyctl.instance.table_text import joined
from proxyctl.plan.plan import Plan
from proxyctl.plan.secrets import reference_name
from proxyctl.rows.desired import DesiredTable, Glob, NumberRange, Scope, Term
from proxyctl.rows.row import Layer, Row, Secret
from proxyctl.text import os_reason

FORMAT = 1
SUFFIX = ".jsonl.gz"

APPLY, ROLLBACK, WATCH, BY_HAND = "apply", "rollback", "watch", "snapshot"
"""The occasions of a snapshot: before an apply, a rollback, or an apply of `watch`; or a person's
request."""

References = Mapping[str, frozenset[str]]
"""By table: the columns (or variables) whose values files take from `{env:}` or `{file:}`."""


@dataclass(frozen=True)
class TableScope:
    """The part of a table that an apply managed."""

    rows: Scope | None = None
    """The rows that it managed; None: the whole table."""
    ignored: frozenset[str] = frozenset()
    """The columns that the apply set in new rows only."""


@dataclass(frozen=True)
class Header:
    """The header of a snapshot."""

    address: str
    """The address of the instance."""
    version: str
    """The version of ProxySQL."""
    before: str
    """The occasion: APPLY, ROLLBACK, WATCH or BY_HAND."""
    sources: tuple[str, ...] = ()
    """The files of the apply, or the snapshot of the rollback."""
    scope: Mapping[str, TableScope] | None = None
    """What the apply managed, by table; None: all tables of the snapshot."""
    changes: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """The number of rows that the apply would change, by admin module and action."""
    references: References = field(default_factory=dict)
    """The columns and variables whose values come from a reference."""
    hostgroup_names: Mapping[int, str] = field(default_factory=dict)
    """The names of hostgroups, by number."""
    rollout: str = ""
    """The id of the rollout that the apply or rollback was part of; '' outside a rollout."""
    taken_at: str = ""
    """The time of the snapshot. Units: ISO 8601."""
    by: str = ""
    """The user that took the snapshot, as `user@host`."""

    @property
    def command(self) -> str:
        """The apply or rollback: `apply of proxyctl.yaml`."""
        verb = {APPLY: "apply of", ROLLBACK: "rollback to", WATCH: "watch of"}.get(
            self.before, self.before
        )
        return f"{verb} {', '.join(self.sources)}"


@dataclass(frozen=True)
class HeldTable:
    """A table of a snapshot."""

    columns: tuple[str, ...]
    """The names of the columns."""
    layers: Mapping[Layer, list[Row]]
    """The rows by layer; a row has its cells in the order of `columns`."""


@dataclass(frozen=True)
class Snapshot:
    """A snapshot as read from its file."""

    name: str
    """The name, as in `history`."""
    header: Header
    """The header."""
    tables: Mapping[str, HeldTable]
    """The tables, by catalogue name."""


@dataclass(frozen=True)
class Kept:
    """One snapshot file of an instance."""

    number: int
    """The number in `history`; 1 is the newest."""
    name: str
    """The name in `history`."""
    path: Path
    """The path of the file."""
    size: int
    """The size of the file. Units: bytes."""
    header: Header | None
    """The header; None if the file cannot be used."""
    problem: str = ""
    """The reason why the file cannot be used; '' if it can."""


def header_of(plan: Plan, before: str, sources: tuple[str, ...], rollout: str = "") -> Header:
    """Return the header of a snapshot taken before the apply of this plan."""
    tables = [
        diff.desired
        for module in plan.modules
        for diff in module.diffs.values()
        if diff.desired is not None
    ]
    return Header(
        plan.address,
        plan.version,
        before,
        sources,
        scope={table.layout.name: _scope_of(table) for table in tables},
        changes={
            module.name: Counter(change.action for change in module.changes)
            for module in plan.modules
            if module.changes
        },
        references=references_in(tables),
        hostgroup_names=dict(plan.hostgroup_names),
        rollout=rollout,
    )


def _scope_of(table: DesiredTable) -> TableScope:
    if table.layout.table.prefix is None:
        return TableScope(table.scope, table.keep_on_update)
    terms = {"variable_name": [key[0] for key in table.rows]}
    return TableScope(Scope.of(table.layout.table.key, terms, "the variables that it set"))


def references_in(tables: Iterable[DesiredTable]) -> References:
    """Return the columns and variables whose values come from a reference."""
    references: dict[str, set[str]] = {}
    for table in tables:
        # One look at all cells: most tables have no reference, and large ones have many rows.
        if Secret not in set(map(type, chain.from_iterable(table.rows.values()))):
            continue
        for key, row in table.rows.items():
            names = references.setdefault(table.layout.name, set())
            names |= {
                reference_name(table.layout, key, n)
                for n, cell in enumerate(row)
                if type(cell) is Secret
            }
    return {table: frozenset(names) for table, names in references.items()}


# -- writing --------------------------------------------------------------------------------------


def lines_of(header: Header, tables: Mapping[str, TableLayers]) -> Iterator[bytes]:
    """Yield the lines of a snapshot file.

    The rows are the JSON texts that ProxySQL returned. A layer that equals an earlier layer refers
    to that layer.
    """
    scope = header.scope
    document = {
        "format": FORMAT,
        "address": header.address,
        "version": header.version,
        "taken_at": header.taken_at,
        "before": header.before,
        "sources": list(header.sources),
        "by": header.by,
        "rollout": header.rollout,
        "changes": {module: dict(counts) for module, counts in header.changes.items()},
        "scope": None
        if scope is None
        else {name: _scope(table_scope) for name, table_scope in scope.items()},
        "references": {table: sorted(names) for table, names in header.references.items()},
        "hostgroup_names": {str(number): name for number, name in header.hostgroup_names.items()},
    }
    yield json.dumps(document).encode() + b"\n"
    for name, table in tables.items():
        written: dict[int, Layer] = {}
        for layer, chunks in table.texts.items():
            head = {"table": name, "layer": layer.value, "columns": list(table.layout.names)}
            first_layer = written.setdefault(id(chunks), layer)
            if first_layer is layer:
                text = json.dumps(head).encode()[:-1]
                yield text + b', "rows": [' + joined(chunks) + b"]}\n"
            else:
                yield json.dumps({**head, "same_as": first_layer.value}).encode() + b"\n"


def _scope(scope: TableScope) -> dict[str, object]:
    rows = scope.rows and {
        "text": scope.rows.text,
        "terms": {name: list(map(_term, terms)) for name, terms in scope.rows.terms.items()},
    }
    return {"rows": rows, "ignored": sorted(scope.ignored)}


def _term(term: Term) -> object:
    match term:
        case NumberRange(low, high):
            return {"from": low, "to": high}
        case Glob(pattern):
            return {"like": pattern}
        case _:
            return term


# -- reading --------------------------------------------------------------------------------------

_WRONG_SHAPE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError)


class SnapshotFileError(ProxyctlError):
    """The file is no snapshot, is truncated or changed, or comes from another version."""


_MOST_HEADER, _MOST_BYTES = 1 << 20, 512 << 20
"""The most bytes of a snapshot's first line, and of the whole, without compression."""


def read_header(path: Path) -> Header:
    """Return the header of a snapshot without reading its tables.

    Raises: SnapshotFileError.
    """
    with _reading(), gzip.open(path) as file:
        return _header(_document(file.readline(_MOST_HEADER)))


def read_snapshot(path: Path, name: str) -> Snapshot:
    """Return a snapshot. Raises: SnapshotFileError unless the file is complete and unchanged."""
    with _reading():
        with gzip.open(path) as file:
            content = file.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise SnapshotFileError(f"larger than {_MOST_BYTES >> 20} MiB when uncompressed")
        first, *lines = content.rstrip(b"\n").split(b"\n")
        return Snapshot(name, _header(_document(first)), _tables(map(_document, lines)))


@contextmanager
def _reading() -> Iterator[None]:
    """Turn every error while reading a file into a SnapshotFileError."""
    try:
        yield
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise SnapshotFileError("damaged, or not a snapshot") from error
    except OSError as error:
        raise SnapshotFileError(os_reason(error)) from error
    except _WRONG_SHAPE:
        raise SnapshotFileError("not a snapshot") from None


def _document(line: bytes) -> dict[str, Any]:
    document = json.loads(line.decode("utf-8", "surrogateescape"))
    if not isinstance(document, dict):
        raise TypeError
    return document


def _header(document: Mapping[str, Any]) -> Header:
    if document["format"] != FORMAT:
        raise SnapshotFileError(
            f"a snapshot of format {document['format']!r}; this proxyctl reads format {FORMAT}"
        )
    scope = document["scope"]
    parse_version(_text(document["version"]))
    return Header(
        address=_text(document["address"]),
        version=_text(document["version"]),
        before=_text(document["before"]),
        sources=_texts(document["sources"]),
        scope=None
        if scope is None
        else {n: _table_scope(n, table_scope) for n, table_scope in scope.items()},
        changes={
            module: {action: int(count) for action, count in counts.items()}
            for module, counts in document["changes"].items()
        },
        references={table: frozenset(_texts(n)) for table, n in document["references"].items()},
        hostgroup_names={int(n): _text(name) for n, name in document["hostgroup_names"].items()},
        rollout=_text(document.get("rollout", "")),  # older snapshots have none
        taken_at=_text(document["taken_at"]),
        by=_text(document["by"]),
    )


def _table_scope(table: str, document: Mapping[str, Any]) -> TableScope:
    ignored = frozenset(_texts(document["ignored"]))
    rows = document["rows"]
    if rows is None:
        return TableScope(None, ignored)
    terms = {name: [_read_term(term) for term in values] for name, values in rows["terms"].items()}
    return TableScope(Scope.of(TABLES[table].key, terms, _text(rows["text"])), ignored)


def _read_term(term: object) -> Term:
    match term:
        case {"from": int(low), "to": int(high)}:
            return NumberRange(low, high)
        case {"like": str(pattern)}:
            return Glob(pattern)
        case _:
            return _value(term)


def _tables(lines: Iterable[dict[str, Any]]) -> dict[str, HeldTable]:
    """Return the tables that the file has in all layers; the apply changed only these."""
    columns: dict[str, tuple[str, ...]] = {}
    layers: dict[str, dict[Layer, list[Row]]] = {}
    for line in lines:
        name, layer = _text(line["table"]), Layer(line["layer"])
        names = columns.setdefault(name, _texts(line["columns"]))
        by_layer = layers.setdefault(name, {})
        if "same_as" in line:
            by_layer[layer] = by_layer[Layer(line["same_as"])]
        else:
            by_layer[layer] = [_row(row, len(names)) for row in line["rows"]]
    whole = (name for name, by_layer in layers.items() if by_layer.keys() == set(Layer))
    return {name: HeldTable(columns[name], layers[name]) for name in whole}


def _row(cells: list[Any], count: int) -> Row:
    if type(cells) is not list or len(cells) != count:
        raise TypeError
    return tuple(map(_value, cells))


def _value(cell: object) -> Value:
    if type(cell) is str:
        if "\0" in cell:
            raise SnapshotFileError("contains text with a NUL, which no statement can write back")
        if not cell.isascii():
            cell.encode("utf-8", "surrogateescape")  # half of a character raises ValueError
    elif not (cell is None or type(cell) is int or (type(cell) is float and isfinite(cell))):
        raise TypeError
    return cell


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError
    return tuple(map(_text, value))
