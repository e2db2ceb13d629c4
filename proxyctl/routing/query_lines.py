"""Queries to be explained, one JSON object a line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from proxyctl.errors import ConfigError, Mistake
from proxyctl.routing.request import Request

_TEXTS = ("username", "schemaname", "client_addr", "proxy_addr")
_NUMBERS = ("proxy_port", "flagIN")
_KEYS = ("query", *_TEXTS, *_NUMBERS)


def read_requests(lines: Iterable[bytes], path: str) -> Iterator[Request]:
    """Yield a request for each line that is not blank. Each is a session of its own.

    Shape: `{"query": ..., "username": ..., "schemaname": ..., "client_addr": ..., "proxy_addr":
    ..., "proxy_port": ..., "flagIN": 0}`; only `query` is required, null is as absent.

    Raises: ConfigError at the first line that is none.
    """
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        column = 1
        try:
            found = _request(json.loads(line.decode("utf-8", "surrogateescape")))
        except json.JSONDecodeError as error:
            column, found = error.colno, f"not JSON: {error.msg.removesuffix(' starting at')}"
        except RecursionError:
            found = "not JSON: too many brackets"
        if isinstance(found, str):
            raise ConfigError([Mistake(path, number, column, "", found)])
        yield found


def _request(item: Any) -> Request | str:  # noqa: ANN401 - anything that JSON has
    """Return the request of a line, or what is wrong with it."""
    if not isinstance(item, dict):
        return "expected an object with the key `query`"
    unknown = [key for key in item if key not in _KEYS]
    if unknown:
        return f"unknown key {unknown[0]!r}; the keys are {', '.join(_KEYS)}"
    query = item.get("query")
    if not isinstance(query, str):
        return "`query` is missing or not text"
    for key in _TEXTS:
        if not isinstance(item.get(key), str | None):
            return f"`{key}` is not text"
    for key in _NUMBERS:
        value = item.get(key)
        if value is not None and (type(value) is not int or value < 0):
            return f"`{key}` is not a number of 0 or more"
    given = {key: item[key] for key in (*_TEXTS, *_NUMBERS) if item.get(key) is not None}
    try:
        return Request(query.encode("utf-8", "surrogateescape"), **given)
    except UnicodeEncodeError:
        return "`query` holds half a character (a lone surrogate)"
