"""The JSON text that ProxySQL gives of rows, and the rows of such a text."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import itemgetter

from proxyctl.catalog import Layout, Value
from proxyctl.state import Key, Row, Rows


def rows_text(rows: Iterable[Row]) -> bytes | None:
    """Return the text that ProxySQL gives of these rows, if it lists them in this order.

    None where that is not known: text that is not UTF-8. What has this text holds these rows, since
    a text stands for one set of rows only. Another text proves nothing: it has to be parsed.
    Source: SQLite 3.43 and orjson escape the same characters, in the same way.
    """
    import orjson

    try:
        return orjson.dumps(list(rows))[1:-1]
    except orjson.JSONEncodeError:
        return None


def parse_rows(layout: Layout, chunks: Iterable[bytes]) -> Rows:
    """Return the rows of JSON texts, by key."""
    rows: Rows = {}
    keys_of = _keys_function(layout)
    for chunk in chunks:
        made = list(map(tuple, _loads(b"[" + chunk + b"]")))
        rows.update(zip(keys_of(made), made, strict=True))
    return rows


def _keys_function(layout: Layout) -> Callable[[list[Row]], Iterable[Key]]:
    """Return a function from rows to their keys, without a Python step a row."""
    get = itemgetter(*layout.key_index)
    if len(layout.key_index) == 1:
        return lambda rows: zip(map(get, rows), strict=True)
    return lambda rows: map(get, rows)


def _loads(text: bytes) -> list[list[Value]]:
    import orjson

    try:
        rows: list[list[Value]] = orjson.loads(text)
    except orjson.JSONDecodeError:
        # Text that is not UTF-8: keep its bytes as surrogate escapes.
        import json

        rows = json.loads(text.decode("utf-8", "surrogateescape"), strict=False)
    return rows
