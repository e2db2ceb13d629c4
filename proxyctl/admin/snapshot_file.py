"""The text of a snapshot file: one JSON document, whose last line is a checksum of the rest.

    {"format": 1, "address": ..., "version": ..., "taken_at": ..., "tables": [
    {"table": ..., "layer": ..., "columns": [...], "rows": [[...], ...]},
    {"table": ..., "layer": ..., "columns": [...], "same_as": "memory"}
    ], "occasion": {...}, "sha256": "..."}

A layer that holds the same text as one before it of the same table has "same_as" in place of
"rows". A cell whose secret was left out is {"omitted": true}. Bytes that are not UTF-8 stand as
they are, so the whole is JSON only where every text of the instance is.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from proxyctl.catalog import TABLES, Value, parse_version
from proxyctl.errors import ProxyctlError
from proxyctl.families import Family
from proxyctl.snapshot import OMITTED, Cell, HeldTable, Occasion, Owned, Snapshot, Summary
from proxyctl.state import Glob, Layer, Row, Scope, Span, Term

FORMAT = 1
TABLES_BEGIN, TABLES_END = b', "tables": [\n', b"\n], "
_SEAL = re.compile(rb', "sha256": "([0-9a-f]{64})"\}\n\Z')
_SEAL_BYTES = 80
_OMITTED_CELL = {"omitted": True}


class SnapshotFileError(ProxyctlError):
    """A file that is no snapshot, or that was cut, changed or made by another version."""


def header(address: str, version: str, taken_at: str) -> bytes:
    """Return the text up to the first table."""
    head = {"format": FORMAT, "address": address, "version": version, "taken_at": taken_at}
    return json.dumps(head).encode()[:-1] + TABLES_BEGIN


def table_head(table: str, layer: Layer, columns: Iterable[str]) -> bytes:
    """Return the begin of a table of a layer."""
    head = {"table": table, "layer": layer.value, "columns": list(columns)}
    return json.dumps(head).encode()[:-1]


def table(head: bytes, rows: bytes) -> bytes:
    """Return a table with its rows: JSON texts without the outer brackets."""
    return head + b', "rows": [' + rows + b"]}"


def same_table(head: bytes, layer: str) -> bytes:
    """Return a table that holds the rows of another layer."""
    return head + b', "same_as": ' + json.dumps(layer).encode() + b"}"


def footer(occasion: Occasion) -> bytes:
    """Return the text behind the last table, up to the checksum."""
    return TABLES_END + b'"occasion": ' + json.dumps(_occasion_object(occasion)).encode()


def seal(digest: str) -> bytes:
    """Return the end of a file with this SHA-256 of everything before."""
    return f', "sha256": "{digest}"}}\n'.encode()


def rows_text(rows: Iterable[Row]) -> bytes:
    """Return rows as the file has them, where some cells are left out."""
    cells = (
        json.dumps([_OMITTED_CELL if cell == OMITTED else cell for cell in row], ensure_ascii=False)
        for row in rows
    )
    return ",\n".join(cells).encode("utf-8", "surrogateescape")


def _occasion_object(occasion: Occasion) -> dict[str, Any]:
    owned = occasion.owned
    return {
        "purpose": occasion.purpose,
        "sources": list(occasion.sources),
        "by": occasion.by,
        "proxyctl": occasion.proxyctl,
        "changes": {name: dict(counts) for name, counts in occasion.changes.items()},
        "omits_secrets": occasion.omits_secrets,
        "owned": None if owned is None else {n: _owned_object(one) for n, one in owned.items()},
        "families": [
            {
                "kind": family.kind,
                "writer": family.writer,
                "hostgroups": sorted(family.hostgroups, key=str),
                "offline": family.offline,
                "discovers": family.discovers,
                "also": list(family.also),
            }
            for family in occasion.families
        ],
        "drained": [list(node) for node in sorted(occasion.drained, key=str)],
        "leftovers": sorted(occasion.leftovers),
        "hostgroup_names": {str(number): n for number, n in occasion.hostgroup_names.items()},
        "secrets": [[table, list(key), column] for table, key, column in occasion.secrets],
    }


def _owned_object(owned: Owned) -> dict[str, Any]:
    scope = owned.scope and {
        "text": owned.scope.text,
        "terms": {name: list(map(_term_object, t)) for name, t in owned.scope.terms.items()},
    }
    return {"scope": scope, "ignored": sorted(owned.ignored)}


def _term_object(term: Term) -> object:
    match term:
        case Span(low, high):
            return {"from": low, "to": high}
        case Glob(pattern):
            return {"like": pattern}
        case _:
            return term


# -- reading --------------------------------------------------------------------------------------


def read_summary(data: bytes) -> Summary:
    """Return what a whole and unchanged snapshot says of itself.

    Raises: SnapshotFileError.
    """
    body = _sealed(data)
    begin, end = body.find(TABLES_BEGIN), body.rfind(TABLES_END + b'"occasion": ')
    if begin < 0 or end < 0:
        raise _damaged("it has no tables")
    return _summary(_document(body[:begin] + b", " + body[end + len(TABLES_END) :] + b"}"))


def read_snapshot(data: bytes, name: str) -> Snapshot:
    """Return a whole and unchanged snapshot.

    Raises: SnapshotFileError.
    """
    document = _document(_sealed(data) + b"}")
    found = _summary(document)
    with _Shape():
        tables = _tables(document["tables"])
    return Snapshot(name, found.address, found.version, found.taken_at, tables, found.occasion)


def is_snapshot(begin: bytes) -> bool:
    """Return whether a file that begins so is a snapshot, whole or not."""
    return begin.startswith(b'{"format": ') and b', "taken_at": ' in begin


def _sealed(data: bytes) -> bytes:
    """Return the text that the checksum is of."""
    if not is_snapshot(data[:1000]):
        raise SnapshotFileError("not a snapshot")
    _check_format(data)
    found = _SEAL.search(data[-_SEAL_BYTES - 10 :])
    if found is None:
        raise SnapshotFileError("the snapshot is cut short: its checksum is missing")
    body = data[: len(data) - len(found[0])]
    if hashlib.sha256(body).hexdigest().encode() != found[1]:
        raise SnapshotFileError("the snapshot was damaged or changed: its checksum does not fit")
    return body


def _check_format(data: bytes) -> None:
    found = re.match(rb'\{"format": (\d{1,9}),', data)
    if found is None:
        raise _damaged("it has no format")
    if int(found[1]) != FORMAT:
        raise SnapshotFileError(
            f"a snapshot of format {int(found[1])}; this proxyctl reads format {FORMAT}"
        )


def _damaged(why: str) -> SnapshotFileError:
    return SnapshotFileError(f"the snapshot is damaged: {why}")


def _document(text: bytes) -> dict[str, Any]:
    try:
        found = json.loads(text.decode("utf-8", "surrogateescape"), strict=False)
    except (ValueError, RecursionError):
        raise _damaged("it is no JSON") from None
    if not isinstance(found, dict):
        raise _damaged("it is no JSON object")
    return found


_WRONG_SHAPE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


class _Shape:
    """Turns what goes wrong with the shape of a document into one error."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: object, _trace: object) -> None:
        if kind is not None and issubclass(kind, _WRONG_SHAPE):
            raise _damaged("something in it has another shape than expected") from None


def _summary(document: Mapping[str, Any]) -> Summary:
    with _Shape():
        address, version, taken_at = (
            _text(document[name]) for name in ("address", "version", "taken_at")
        )
        parse_version(version)
        return Summary(address, version, taken_at, _occasion(document["occasion"]))


def _occasion(given: Mapping[str, Any]) -> Occasion:
    owned = given["owned"]
    return Occasion(
        purpose=_text(given["purpose"]),
        sources=_texts(given["sources"]),
        by=_text(given["by"]),
        proxyctl=_text(given["proxyctl"]),
        owned=None if owned is None else {n: _owned(n, one) for n, one in owned.items()},
        changes={
            name: {_text(action): int(count) for action, count in counts.items()}
            for name, counts in given["changes"].items()
        },
        families=tuple(map(_family, given["families"])),
        # a snapshot of before there were drains has none
        drained=frozenset((_text(host), int(port)) for host, port in given.get("drained", ())),
        leftovers=frozenset(_texts(given["leftovers"])),
        hostgroup_names={int(n): _text(text) for n, text in given["hostgroup_names"].items()},
        secrets=frozenset(map(_cell, given["secrets"])),
        omits_secrets=given["omits_secrets"] is True,
    )


def _owned(table: str, given: Mapping[str, Any]) -> Owned:
    ignored = frozenset(_texts(given["ignored"]))
    scope = given["scope"]
    if scope is None:
        return Owned(None, ignored)
    terms = {name: [_term(term) for term in found] for name, found in scope["terms"].items()}
    return Owned(Scope.of(TABLES[table].key, terms, _text(scope["text"])), ignored)


def _term(given: object) -> Term:
    match given:
        case {"from": int(low), "to": int(high)}:
            return Span(low, high)
        case {"like": str(pattern)}:
            return Glob(pattern)
        case _:
            return _value(given)


def _family(given: Mapping[str, Any]) -> Family:
    return Family(
        kind=_text(given["kind"]),
        writer=_value(given["writer"]),
        hostgroups=frozenset(map(_value, given["hostgroups"])),
        offline=_value(given["offline"]),
        discovers=given["discovers"] is True,
        also=_texts(given["also"]),
    )


def _cell(given: list[Any]) -> Cell:
    table, key, column = given
    return _text(table), tuple(map(_value, key)), _text(column)


def _tables(given: list[Any]) -> dict[str, HeldTable]:
    """Return the tables. One that was read twice holds what was read last."""
    columns: dict[str, tuple[str, ...]] = {}
    layers: dict[str, dict[Layer, list[Row]]] = {}
    for entry in given:
        name, layer = _text(entry["table"]), Layer(entry["layer"])
        names = columns.setdefault(name, _columns(name, entry["columns"]))
        if "same_as" in entry:
            rows = layers[name][Layer(entry["same_as"])]
        else:
            rows = [_row(row, len(names)) for row in entry["rows"]]
        layers.setdefault(name, {})[layer] = rows
    return {name: HeldTable(columns[name], found) for name, found in layers.items()}


def _columns(table: str, given: object) -> tuple[str, ...]:
    names = _texts(given)
    known = TABLES[table].columns if table in TABLES else ()
    needed = {column.name for column in known if column.is_in_every_version}
    if len({*names}) != len(names) or not needed <= {*names}:
        raise ValueError
    return names


def _row(given: list[Any], count: int) -> Row:
    if type(given) is not list or len(given) != count:
        raise TypeError
    return tuple(OMITTED if cell == _OMITTED_CELL else _value(cell) for cell in given)


def _value(given: object) -> Value:
    if given is None or isinstance(given, str):
        return given
    if isinstance(given, int | float) and not isinstance(given, bool):
        return given
    raise TypeError


def _text(given: object) -> str:
    if not isinstance(given, str):
        raise TypeError
    return given


def _texts(given: object) -> tuple[str, ...]:
    if not isinstance(given, list):
        raise TypeError
    return tuple(map(_text, given))
