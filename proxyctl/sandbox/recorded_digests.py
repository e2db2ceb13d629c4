"""Digest statistics of a small shop, for a sandbox that somebody wants to look around in.

They are made up to look like two days of traffic, and hold what one looks for: a report that takes
seconds, a query that runs once a row, reads on the writer, the same answer asked for all day long.
After these days every query goes on at its own even rate.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from proxyctl.routing.digest import Digest, Digester
from proxyctl.sandbox.replies import Cell

DIGESTS = "stats_mysql_query_digest"
"""The table that the rows are for."""

PERIOD_S = 2 * 86_400
"""How long the traffic was counted."""

WRITER, READER, CACHE = 10, 20, -1
"""Hostgroups; the last one is ProxySQL's own for answers of the query cache."""


class Traffic(NamedTuple):
    """One query of one user. Units: `avg`, `least` and `most` in microseconds.

    `times` is how often it ran in these days, `sent` and `affected` are rows of one query, `idle_s`
    how long before the end it was seen last. `rules` are those that it hits.
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
    rules: tuple[int, ...] = ()

    def calls(self, elapsed_s: float) -> int:
        """Return how often it ran until so many seconds after them."""
        return self.times + int(self.times * elapsed_s / PERIOD_S)

    def last_call_s(self, calls: int) -> float:
        """Return when the last of so many calls came, in seconds after them."""
        new = calls - self.times
        return new * PERIOD_S / self.times if new > 0 else -float(self.idle_s)


TRAFFIC = (
    Traffic(
        READER, "app", "SELECT name, price FROM items WHERE id = 1",
        times=4_523_104, avg=812, least=95, most=214_310, sent=1, rules=(240,),
    ),
    Traffic(
        READER, "report",
        "SELECT customer_id, SUM(total) FROM orders WHERE created_at > '2026-01-01'"
        " GROUP BY customer_id ORDER BY SUM(total) DESC LIMIT 100",
        times=1_344, avg=2_481_337, least=1_902_114, most=9_714_602, sent=100, idle_s=412,
    ),
    Traffic(
        WRITER, "app", "SELECT stock FROM items WHERE id = 1 FOR UPDATE",
        times=611_870, avg=1_204, least=180, most=5_003_118, sent=1, rules=(100,),
    ),
    Traffic(
        WRITER, "app",
        "SELECT id, status FROM orders WHERE customer_id = 7 ORDER BY id DESC LIMIT 20",
        times=702_415, avg=2_950, least=310, most=803_552, sent=14.2,
    ),
    Traffic(
        WRITER, "app", "SELECT id, name FROM customers WHERE email = 'ann@example.com'",
        times=144_020, avg=690, least=120, most=61_220, sent=1,
    ),
    Traffic(
        READER, "app", "SELECT value FROM settings WHERE name = 'currency'",
        times=2_980_551, avg=402, least=61, most=9_120, sent=1, rules=(230,),
    ),
    Traffic(
        READER, "app",
        "SELECT author, stars, text FROM reviews WHERE item_id = 1 ORDER BY id DESC LIMIT 5",
        times=1_204_331, avg=1_420, least=190, most=88_310, sent=3.1, rules=(220,),
    ),
    Traffic(
        CACHE, "app", "SELECT id, title FROM categories ORDER BY position",
        times=890_112, avg=0, least=0, most=0, sent=38, rules=(200,),
    ),
    Traffic(
        READER, "app", "SELECT id, title FROM categories ORDER BY position",
        times=2_880, avg=1_733, least=720, most=40_991, sent=38, rules=(200,),
    ),
    Traffic(
        READER, "app",
        "SELECT * FROM items WHERE title LIKE '%lamp%' AND category_id IN (1,2,3) LIMIT 50",
        times=88_214, avg=61_400, least=3_012, most=2_218_440, sent=27.5, rules=(260,),
    ),
    Traffic(
        WRITER, "app", "UPDATE items SET stock = stock - 1 WHERE id = 1",
        times=598_033, avg=1_870, least=240, most=4_870_015, affected=1,
    ),
    Traffic(
        WRITER, "app", "INSERT INTO orders (customer_id, status, total) VALUES (7, 'new', 12.50)",
        times=301_220, avg=2_113, least=402, most=1_204_881, affected=1,
    ),
    Traffic(
        WRITER, "app",
        "INSERT INTO order_lines (order_id, item_id, amount) VALUES (1,2,3),(4,5,6)",
        times=301_220, avg=2_640, least=511, most=1_377_209, affected=2.4,
    ),
    Traffic(
        WRITER, "jobs", "DELETE FROM sessions WHERE expires_at < '2026-01-01' LIMIT 1000",
        times=2_016, avg=48_220, least=1_930, most=611_023, affected=911, idle_s=95, rules=(30,),
    ),
    Traffic(
        WRITER, "jobs",
        "SELECT id, payload FROM jobs WHERE state = 'ready' ORDER BY id LIMIT 10 FOR UPDATE",
        times=604_800, avg=690, least=130, most=92_400, sent=0.4, schemaname="jobs", rules=(100,),
    ),
    Traffic(
        WRITER, "jobs", "UPDATE jobs SET state = 'done' WHERE id = 1",
        times=241_900, avg=1_512, least=260, most=210_777, affected=1, schemaname="jobs",
    ),
    Traffic(WRITER, "app", "BEGIN", times=899_310, avg=118, least=40, most=30_118),
    Traffic(WRITER, "app", "COMMIT", times=899_204, avg=1_050, least=70, most=2_410_003),
    Traffic(WRITER, "app", "ROLLBACK", times=106, avg=204, least=61, most=1_902, idle_s=5_106),
)  # fmt: skip


@lru_cache(maxsize=len(TRAFFIC))
def _digest(query: str) -> Digest:
    return Digester().digest(query)


def recorded_digests(
    now: float, *, elapsed_s: float = 0, cleared_s: float | None = None
) -> list[tuple[Cell, ...]]:
    """Return rows of stats_mysql_query_digest; `now` is when the two days end, in unix seconds.

    They are what is counted `elapsed_s` after them, and since `cleared_s` after it where the
    counters were cleared then.
    """
    rows = (_row(one, now, elapsed_s, cleared_s) for one in TRAFFIC)
    return [row for row in rows if row is not None]


def _row(
    one: Traffic, now: float, elapsed_s: float, cleared_s: float | None
) -> tuple[Cell, ...] | None:
    calls = one.calls(elapsed_s)
    before = 0 if cleared_s is None else one.calls(cleared_s)
    count = calls - before
    if count == 0:
        return None
    first_s = one.last_call_s(before + 1) if before else -PERIOD_S
    least, most = one.least, one.most
    if before:
        # The extremes are gone with the counters. Those of few calls lie close.
        spread = one.avg // 4 if count > 1 else 0
        least, most = one.avg - spread, one.avg + spread
    digest = _digest(one.query)
    return (
        one.hostgroup,
        one.schemaname,
        one.username,
        "",
        digest.hexadecimal,
        digest.text.decode(),
        count,
        int(now + first_s),
        int(now + one.last_call_s(calls)),
        count * one.avg,
        least,
        most,
        int(calls * one.affected) - int(before * one.affected),
        int(calls * one.sent) - int(before * one.sent),
    )
