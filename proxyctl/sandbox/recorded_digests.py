"""Digest statistics of a small shop, for a sandbox that somebody wants to look around in.

They are made up to look like a week of traffic, and hold what one looks for: a report that takes
seconds, a query that runs once a row, reads on the writer, the same answer asked for all day long.
"""

from __future__ import annotations

from typing import NamedTuple

from proxyctl.digest import Digester
from proxyctl.sandbox.replies import Cell

DIGESTS = "stats_mysql_query_digest"
"""The table that the rows are for."""

_DAY_S = 86_400
_WRITER, _READER, _CACHE = 10, 20, -1


class _Traffic(NamedTuple):
    """One query of one user. Units: `avg`, `least` and `most` in microseconds.

    `times` is how often it ran, `sent` and `affected` are rows of one query, `idle_s` how long ago
    it was seen last.
    """

    hostgroup: int
    username: str
    query: str
    times: int
    avg: int
    least: int
    most: int
    sent: float = 0
    affected: float = 0
    schemaname: str = "shop"
    idle_s: int = 1


_TRAFFIC = (
    _Traffic(
        _READER, "app", "SELECT name, price FROM items WHERE id = 1", 4_523_104, 812, 95, 214_310, 1
    ),
    _Traffic(
        _READER,
        "report",
        "SELECT customer_id, SUM(total) FROM orders WHERE created_at > '2026-01-01'"
        " GROUP BY customer_id ORDER BY SUM(total) DESC LIMIT 100",
        1_344,
        2_481_337,
        1_902_114,
        9_714_602,
        100,
        idle_s=412,
    ),
    _Traffic(
        _WRITER,
        "app",
        "SELECT stock FROM items WHERE id = 1 FOR UPDATE",
        611_870,
        1_204,
        180,
        5_003_118,
        1,
    ),
    _Traffic(
        _WRITER,
        "app",
        "SELECT id, status FROM orders WHERE customer_id = 7 ORDER BY id DESC LIMIT 20",
        702_415,
        2_950,
        310,
        803_552,
        14.2,
    ),
    _Traffic(
        _READER,
        "app",
        "SELECT value FROM settings WHERE name = 'currency'",
        2_980_551,
        402,
        61,
        9_120,
        1,
    ),
    _Traffic(
        _CACHE, "app", "SELECT id, title FROM categories ORDER BY position", 890_112, 0, 0, 0, 38
    ),
    _Traffic(
        _READER,
        "app",
        "SELECT id, title FROM categories ORDER BY position",
        10_080,
        1_733,
        720,
        40_991,
        38,
    ),
    _Traffic(
        _READER,
        "app",
        "SELECT * FROM items WHERE title LIKE '%lamp%' AND category_id IN (1,2,3) LIMIT 50",
        88_214,
        61_400,
        3_012,
        2_218_440,
        27.5,
    ),
    _Traffic(
        _WRITER,
        "app",
        "UPDATE items SET stock = stock - 1 WHERE id = 1",
        598_033,
        1_870,
        240,
        4_870_015,
        affected=1,
    ),
    _Traffic(
        _WRITER,
        "app",
        "INSERT INTO orders (customer_id, status, total) VALUES (7, 'new', 12.50)",
        301_220,
        2_113,
        402,
        1_204_881,
        affected=1,
    ),
    _Traffic(
        _WRITER,
        "app",
        "INSERT INTO order_lines (order_id, item_id, amount) VALUES (1,2,3),(4,5,6)",
        301_220,
        2_640,
        511,
        1_377_209,
        affected=2.4,
    ),
    _Traffic(
        _WRITER,
        "jobs",
        "DELETE FROM sessions WHERE expires_at < '2026-01-01' LIMIT 1000",
        2_016,
        48_220,
        1_930,
        611_023,
        affected=911,
        idle_s=95,
    ),
    _Traffic(
        _WRITER,
        "jobs",
        "SELECT id, payload FROM jobs WHERE state = 'ready' ORDER BY id LIMIT 10 FOR UPDATE",
        604_800,
        690,
        130,
        92_400,
        0.4,
        schemaname="jobs",
    ),
    _Traffic(
        _WRITER,
        "jobs",
        "UPDATE jobs SET state = 'done' WHERE id = 1",
        241_900,
        1_512,
        260,
        210_777,
        affected=1,
        schemaname="jobs",
    ),
    _Traffic(_WRITER, "app", "COMMIT", 899_204, 1_050, 70, 2_410_003),
)


def recorded_digests(now: float) -> list[tuple[Cell, ...]]:
    """Return rows of stats_mysql_query_digest, seen in the week before `now`, in unix seconds."""
    digester = Digester()
    rows: list[tuple[Cell, ...]] = []
    for one in _TRAFFIC:
        digest = digester.digest(one.query)
        last_seen = int(now) - one.idle_s
        rows.append(
            (
                one.hostgroup,
                one.schemaname,
                one.username,
                "",
                digest.hexadecimal,
                digest.text.decode(),
                one.times,
                last_seen - 7 * _DAY_S,
                last_seen,
                one.times * one.avg,
                one.least,
                one.most,
                int(one.times * one.affected),
                int(one.times * one.sent),
            )
        )
    return rows
