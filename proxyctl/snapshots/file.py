"""The text of a snapshot file: JSON lines, compressed by gzip, whose checksum shows damage.

    {"format": 1, "address": ..., "version": ..., "taken_at": ..., "before": "apply", ...}
    {"table": ..., "layer": "memory", "columns": [...], "rows": [[...], ...]}
    {"table": ..., "layer": "disk", "columns": [...], "same_as": "memory"}

Bytes that are not UTF-8 are kept.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from proxyctl.catalog import TABLES, Value, parse_version
from proxyctl.errors import ProxyctlError, os_reason
from proxyctl.snapshots.snapshot import Header, HeldTable, Snapshot, TableScope
from proxyctl.state.row import Glob, Layer, Row, Scope, Span, Term

FORMAT = 1
SUFFIX = ".jsonl.gz"

_WRONG_SHAPE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError)


class SnapshotFileError(ProxyctlError):
    """The file is no snapshot, was truncated or changed, or comes from another version."""


# -- writing --------------------------------------------------------------------------------------


def header_line(header: Header) -> bytes:
    """Return the first line."""
    scope = header.scope
    document = {
        "format": FORMAT,
        "address": header.address,
        "version": header.version,
        "taken_at": header.taken_at,
        "before": header.before,
        "sources": list(header.sources),
        "by": header.by,
        "changes": {module: dict(counts) for module, counts in header.changes.items()},
        "scope": None if scope is None else {name: _scope(one) for name, one in scope.items()},
        "references": {table: sorted(names) for table, names in header.references.items()},
        "hostgroup_names": {str(number): name for number, name in header.hostgroup_names.items()},
    }
    return json.dumps(document).encode() + b"\n"


def table_line(table: str, layer: Layer, columns: Iterable[str], rows: Iterable[bytes]) -> bytes:
    """Return the line of a table in one layer. `rows`: JSON texts without the outer brackets."""
    return _table_head(table, layer, columns) + b', "rows": [' + b",".join(rows) + b"]}\n"


def same_line(table: str, layer: Layer, columns: Iterable[str], other: Layer) -> bytes:
    """Return the line of a table that holds the rows of another layer."""
    return _table_head(table, layer, columns) + f', "same_as": "{other}"}}\n'.encode()


def _table_head(table: str, layer: Layer, columns: Iterable[str]) -> bytes:
    head = {"table": table, "layer": layer.value, "columns": list(columns)}
    return json.dumps(head).encode()[:-1]


def _scope(scope: TableScope) -> dict[str, object]:
    rows = scope.rows and {
        "text": scope.rows.text,
        "terms": {name: list(map(_term, terms)) for name, terms in scope.rows.terms.items()},
    }
    return {"rows": rows, "ignored": sorted(scope.ignored)}


def _term(term: Term) -> object:
    match term:
        case Span(low, high):
            return {"from": low, "to": high}
        case Glob(pattern):
            return {"like": pattern}
        case _:
            return term


# -- reading --------------------------------------------------------------------------------------


def read_header(path: Path) -> Header:
    """Return the header of a snapshot without reading its tables.

    Raises: SnapshotFileError.
    """
    with _Readable(), gzip.open(path) as file:
        return _header(_document(file.readline()))


def read_snapshot(path: Path, name: str) -> Snapshot:
    """Return a snapshot that is complete and unchanged.

    Raises: SnapshotFileError.
    """
    with _Readable():
        with gzip.open(path) as file:
            first, *lines = file.read().rstrip(b"\n").split(b"\n")
        return Snapshot(name, _header(_document(first)), _tables(map(_document, lines)))


class _Readable:
    """Turns every error of reading a file into one kind."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: object, _trace: object) -> None:
        match error:
            case gzip.BadGzipFile() | EOFError() | zlib.error():
                raise SnapshotFileError("damaged, or not a snapshot") from error
            case OSError():
                raise SnapshotFileError(os_reason(error)) from error
            case _ if kind is not None and issubclass(kind, _WRONG_SHAPE):
                raise SnapshotFileError("not a snapshot") from None


def _document(line: bytes) -> dict[str, Any]:
    found = json.loads(line.decode("utf-8", "surrogateescape"))
    if not isinstance(found, dict):
        raise TypeError
    return found


def _header(given: Mapping[str, Any]) -> Header:
    if given["format"] != FORMAT:
        raise SnapshotFileError(
            f"a snapshot of format {given['format']!r}; this proxyctl reads format {FORMAT}"
        )
    scope = given["scope"]
    parse_version(_text(given["version"]))
    return Header(
        address=_text(given["address"]),
        version=_text(given["version"]),
        before=_text(given["before"]),
        sources=_texts(given["sources"]),
        scope=None if scope is None else {n: _table_scope(n, one) for n, one in scope.items()},
        changes={
            module: {action: int(count) for action, count in counts.items()}
            for module, counts in given["changes"].items()
        },
        references={table: frozenset(_texts(n)) for table, n in given["references"].items()},
        hostgroup_names={int(n): _text(name) for n, name in given["hostgroup_names"].items()},
        taken_at=_text(given["taken_at"]),
        by=_text(given["by"]),
    )


def _table_scope(table: str, given: Mapping[str, Any]) -> TableScope:
    ignored = frozenset(_texts(given["ignored"]))
    rows = given["rows"]
    if rows is None:
        return TableScope(None, ignored)
    terms = {name: [_read_term(term) for term in found] for name, found in rows["terms"].items()}
    return TableScope(Scope.of(TABLES[table].key, terms, _text(rows["text"])), ignored)


def _read_term(given: object) -> Term:
    match given:
        case {"from": int(low), "to": int(high)}:
            return Span(low, high)
        case {"like": str(pattern)}:
            return Glob(pattern)
        case _:
            return _value(given)


def _tables(lines: Iterable[dict[str, Any]]) -> dict[str, HeldTable]:
    """Return the tables that are there in all layers; the apply changed no others."""
    columns: dict[str, tuple[str, ...]] = {}
    layers: dict[str, dict[Layer, list[Row]]] = {}
    for line in lines:
        name, layer = _text(line["table"]), Layer(line["layer"])
        names = columns.setdefault(name, _texts(line["columns"]))
        held = layers.setdefault(name, {})
        if "same_as" in line:
            held[layer] = held[Layer(line["same_as"])]
        else:
            held[layer] = [_row(row, len(names)) for row in line["rows"]]
    whole = (name for name, held in layers.items() if held.keys() == set(Layer))
    return {name: HeldTable(columns[name], layers[name]) for name in whole}


def _row(given: list[Any], count: int) -> Row:
    if type(given) is not list or len(given) != count:
        raise TypeError
    return tuple(map(_value, given))


def _value(given: object) -> Value:
    if given is None or type(given) in (str, int, float):
        return given  # type: ignore[return-value]
    raise TypeError


def _text(given: object) -> str:
    if not isinstance(given, str):
        raise TypeError
    return given


def _texts(given: object) -> tuple[str, ...]:
    if not isinstance(given, list):
        raise TypeError
    return tuple(map(_text, given))
