"""Digests that a sandbox has seen, and files of them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path

from proxyctl.routing.digest import Digester
from proxyctl.stats.model import SeenDigest
from tests.support.servers.instances import Instance

TABLE = "stats_mysql_query_digest"


def seen_digest(query: str, hostgroup: int = 10, **cells: object) -> SeenDigest:
    """Return the row of a query by the user app; the arguments replace other cells."""
    made = Digester().digest(query)
    row: dict[str, object] = {
        **{"hostgroup": hostgroup, "schemaname": "shop", "username": "app", "client_address": ""},
        **{"digest": made.hexadecimal, "digest_text": made.text.decode()},
        **{"count_star": 10, "first_seen": 1, "last_seen": 2, "sum_time": 10**6},
        **{"min_time": 1, "max_time": 1000, "sum_rows_affected": 0, "sum_rows_sent": 1},
    }
    return SeenDigest(**{**row, **cells})  # type: ignore[arg-type]


READS = "SELECT name FROM users WHERE id = 1"
LOCKS = "SELECT name FROM users WHERE id = 1 FOR UPDATE"
WRITES = "UPDATE users SET name = 'x' WHERE id = 1"

SEEN = [
    seen_digest(READS, 20, sum_time=60 * 10**6),
    seen_digest(LOCKS, sum_time=30 * 10**6),
    seen_digest(WRITES, sum_time=10 * 10**6),
]
"""The digests of three queries, which take 60, 30 and 10 % of the query time."""


def fill(instance: Instance, rows: Iterable[SeenDigest]) -> None:
    """Fill a sandbox's statistics with these digests."""
    assert instance.sandbox is not None
    instance.sandbox.stats[TABLE] = [tuple(row) for row in rows]


def change_header(path: Path, **changed: object) -> None:
    """Change the header of a snapshot, such as `taken_at`; None removes a key.

    Compression stays as it is.
    """
    held = path.read_bytes()
    is_packed = not held.startswith(b"{")
    first, rest = (gzip.decompress(held) if is_packed else held).split(b"\n", 1)
    header = {**json.loads(first), **changed}
    header = {key: value for key, value in header.items() if value is not None}
    text = json.dumps(header).encode() + b"\n" + rest
    path.write_bytes(gzip.compress(text) if is_packed else text)
