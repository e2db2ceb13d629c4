"""Hints: `/* hostgroup=2; cache_ttl=1000 */` in the first comment of a query.

They are read after rules and fast routing and win over both, even over a rule with apply.
Source: ProxySQL 2.7.1, lib/Query_Processor.cpp query_parser_first_comment, and run.
"""

from __future__ import annotations

import re

from proxyctl.catalog.variable_rules import atoi

_NUMBERS = {
    b"cache_ttl": "cache_ttl",
    b"query_delay": "delay",
    b"query_retries": "retries",
    b"query_timeout": "timeout",
    b"hostgroup": "destination_hostgroup",
    b"mirror": "mirror_hostgroup",
    b"max_lag_ms": "max_lag_ms",
}
_MAX_LAG_MS = 600_000
_SPACES = re.compile(rb"[ \t\n\v\f\r]+")
_GTID = re.compile(rb"[^:]+:.")


def hints(comment: bytes) -> dict[str, int | str]:
    """Return what a comment sets, by the names of Settings and `destination_hostgroup`.

    The key min_epoch_ms is left out: what it means depends on the time of day.
    """
    found: dict[str, int | str] = {}
    for item in comment.split(b";"):
        parts = [part for part in item.split(b"=") if part]
        key = _trimmed(parts[0]).lower() if parts else b""
        value = _trimmed(parts[1]) if len(parts) > 1 else b""
        name = _NUMBERS.get(key)
        if name is not None and value[:1].isdigit():
            number = atoi(value.decode("ascii", "replace"))
            if name != "max_lag_ms" or 0 <= number <= _MAX_LAG_MS:
                found[name] = number
        elif key == b"min_gtid" and _GTID.match(value):
            found["min_gtid"] = value.decode("utf-8", "surrogateescape")
        elif key == b"create_new_connection" and atoi(value.decode("ascii", "replace")) == 1:
            found["create_new_connection"] = 1
    return found


def _trimmed(text: bytes) -> bytes:
    """Return the text without blanks around it, and with one blank where there were more."""
    return _SPACES.sub(b" ", text).strip(b" ")
