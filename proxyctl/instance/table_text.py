"""Rows as the JSON text in which ProxySQL sends them."""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter

from proxyctl.catalog import Layout, Value
from proxyctl.rows.row import Key, Row, Rows


def joined(chunks: Iterable[bytes]) -> bytes:
    """Return the rows of JSON arrays as one text without brackets."""
    return b",".join(chunk[1:-1] for chunk in chunks)


def rows_text(rows: Iterable[Row]) -> bytes | None:
    """Return the text that ProxySQL sends for these rows in this order, without brackets.

    None if a cell is not UTF-8: then the text is not known. A layer with this text holds these
    rows, since a text has one meaning. Another text proves nothing: it must be parsed. Source:
    SQLite 3.43 and orjson escape the same characters in the same way.
    """
    import orjson

    try:
        return orjson.dumps(list(rows))[1:-1]
    except orjson.JSONEncodeError:
        return None


def parse_rows(layout: Layout, chunks: Iterable[bytes]) -> Rows:
    """Return the rows of JSON arrays, by key."""
    rows: Rows = {}
    for chunk in chunks:
        parsed = list(map(tuple, _loads(chunk)))
        rows.update(zip(_keys_of(layout, parsed), parsed, strict=True))
    return rows


def _keys_of(layout: Layout, rows: Iterable[Row]) -> Iterable[Key]:
    """Return the primary keys of rows; no Python code runs per row."""
    get = itemgetter(*layout.key_index)
    keys = map(get, rows)
    return zip(keys, strict=True) if len(layout.key_index) == 1 else keys


def _loads(text: bytes) -> list[list[Value]]:
    import orjson

    try:
        rows: list[list[Value]] = orjson.loads(text)
    except orjson.JSONDecodeError:
        # Text that is not UTF-8: keep its bytes as surrogate escapes.
        import json

        rows = json.loads(text.decode("utf-8", "surrogateescape"), strict=False)
    return rows
