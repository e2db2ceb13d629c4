"""Lines of ProxySQL's query event log in JSON, as 2.7.1 and 3.0.3 write them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from proxyctl.routing.digest import Digester

BEGAN_US = 1_795_839_368_000_000
"""The time of the first event. Units: microseconds since 1970."""
_DIGESTER = Digester()


def event(query: str, number: int = 0, **cells: object) -> dict[str, object]:
    """Return an event of 3.0.3; the arguments replace other cells, and None leaves one out.

    `number`: how many seconds after BEGAN_US the query began.
    """
    took = cells.get("duration_us", 250)
    took = took if isinstance(took, int) else 0
    start = BEGAN_US + number * 1_000_000
    written: dict[str, object] = {
        "client": "127.0.0.1:56624",
        "digest": _DIGESTER.digest(query).hexadecimal,
        "duration_us": 250,
        "endtime": _text(start + took),
        "endtime_timestamp_us": start + took,
        "errno": 0,
        "event": "COM_QUERY",
        "hostgroup_id": 10,
        "query": query,
        "rows_sent": 1,
        "schemaname": "shop",
        "server": "127.0.0.1:23306",
        "starttime": _text(start),
        "starttime_timestamp_us": start,
        "thread_id": 8,
        "username": "app",
        **cells,
    }
    return {key: value for key, value in sorted(written.items()) if value is not None}


def _text(microseconds: int) -> str:
    return datetime.fromtimestamp(microseconds / 1e6).strftime("%Y-%m-%d %H:%M:%S.%f")


def line(query: str, number: int = 0, **cells: object) -> bytes:
    """Return the line of an event; see `event`."""
    text = json.dumps(event(query, number, **cells), separators=(",", ":"), ensure_ascii=False)
    return text.encode() + b"\n"


def write_log(path: Path, lines: Iterable[bytes]) -> str:
    """Write an event log and return its path."""
    path.write_bytes(b"".join(lines))
    return str(path)
