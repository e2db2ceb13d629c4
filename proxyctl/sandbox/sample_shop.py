"""The sample shop: its configuration, and the queries that it sends.

It has one writer, three readers (one of them does not answer), three users, and rules that grew
over the years: some match no query any more, and some reads have no rule to a reader. The made-up
queries look like two days of traffic, with typical problems: a report that takes seconds, a query
that runs once per row, reads on the writer, and a query that gets the same answer all day.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from proxyctl.catalog import Value
from proxyctl.proxysql.passwords import native_hash
from proxyctl.rows.sql import literal

PERIOD_S = 2 * 86_400
"""How long the traffic was counted."""

WRITER, READER, CACHE = 10, 20, -1
"""Hostgroups; the last one is ProxySQL's own for answers of the query cache."""


class Traffic(NamedTuple):
    """One query of one user."""

    hostgroup: int
    """The hostgroup that the query goes to."""
    username: str
    """The user."""
    query: str
    """The query with values."""
    times: int
    """The number of times that the query ran in the two days."""
    avg: int
    """The average time. Units: microseconds."""
    least: int
    """The shortest time. Units: microseconds."""
    most: int
    """The longest time. Units: microseconds."""
    sent: float = 0
    """The rows that a query returns."""
    affected: float = 0
    """The rows that a query changes."""
    schemaname: str = "shop"
    """The schema of the session."""
    idle_s: int = 1
    """The time from the last run to the end of the two days. Units: seconds."""
    rules: tuple[int, ...] = ()
    """The rules that the query hits."""

    def calls(self, elapsed_s: float) -> int:
        """Return how often the query ran until `elapsed_s` after the two days."""
        return self.times + int(self.times * elapsed_s / PERIOD_S)

    def last_call_s(self, calls: int) -> float:
        """Return the time of the last of `calls` calls, in seconds after the two days."""
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


class SampleServer(NamedTuple):
    """A server in one hostgroup, with the counts of its connections."""

    hostgroup: int
    """The hostgroup."""
    hostname: str
    """The name of the host."""
    share: float
    """The server's part of the queries of its hostgroup, from 0 to 1."""
    used: int
    """The connections in use."""
    free: int
    """The open connections that are not in use."""
    opened: int
    """The connections that succeeded."""
    failed: int
    """The connections that failed."""
    latency_us: int
    """The round trip of the last ping. Units: microseconds."""
    is_shunned: bool = False
    """Whether the server is SHUNNED."""


NODES = (
    SampleServer(WRITER, "db1.example.com", 1, 2, 6, 1_204, 3, 412),
    SampleServer(READER, "db2.example.com", 0.5, 1, 5, 988, 0, 398),
    SampleServer(READER, "db3.example.com", 0.5, 1, 4, 971, 2, 455),
    SampleServer(READER, "db4.example.com", 0, 0, 0, 310, 5_233, 0, True),
)
PORT = 3306
FRONTENDS = {"app": 12, "jobs": 3, "report": 1}
"""The number of client connections by user."""
_MAX_CONNECTIONS = 500
_PASSWORD = "sample"  # noqa: S105  # of users who are made up
_DEFAULTS = {"report": READER}

_RULES: tuple[tuple[int, str, int | None, int | None, str | None, str], ...] = (
    (10, "^INSERT INTO audit_log", WRITER, None, None, "audit log, now on a server of its own"),
    (20, "^UPDATE prices_2024", WRITER, None, None, "price import of 2024"),
    (30, "^DELETE FROM sessions", WRITER, None, None, "cleaning up"),
    (100, "^SELECT .*FOR UPDATE", WRITER, None, None, "reads that lock"),
    (200, "^SELECT id,title FROM categories", READER, 60_000, None, "menu, cached"),
    (220, "^SELECT author,stars,text FROM reviews", READER, None, None, "reviews"),
    (230, "^SELECT value FROM settings", READER, None, None, "settings"),
    (240, "^SELECT name,price FROM items", READER, None, None, "items"),
    (250, "^SELECT item_id FROM wishlists", READER, None, None, "wish lists"),
    (260, r"^SELECT \* FROM items WHERE title LIKE", READER, None, None, "search"),
    (900, "INTO OUTFILE", None, None, "no files on the database servers", "blocked"),
)  # fmt: skip

_MODULES = ("MYSQL SERVERS", "MYSQL USERS", "MYSQL QUERY RULES")


def statements() -> Iterator[str]:
    """Yield the statements that put the shop into all layers of a fresh ProxySQL."""
    password = native_hash(_PASSWORD)
    tables: dict[str, list[tuple[Value, ...]]] = {
        "mysql_replication_hostgroups (writer_hostgroup, reader_hostgroup, comment)": [
            (WRITER, READER, "shop")
        ],
        "mysql_servers (hostgroup_id, hostname, max_connections, max_replication_lag)": [
            (node.hostgroup, node.hostname, 200, 0 if node.hostgroup == WRITER else 30)
            for node in NODES
        ],
        "mysql_users (username, password, default_hostgroup, max_connections)": [
            (name, password, _DEFAULTS.get(name, WRITER), _MAX_CONNECTIONS) for name in FRONTENDS
        ],
        "mysql_query_rules (rule_id, match_digest, destination_hostgroup, cache_ttl, error_msg,"
        " comment, active, apply)": [(*rule, 1, 1) for rule in _RULES],
    }
    for table, rows in tables.items():
        cells = ", ".join(f"({', '.join(map(literal, row))})" for row in rows)
        yield f"INSERT INTO {table} VALUES {cells}"
    for module in _MODULES:
        yield f"LOAD {module} TO RUNTIME"
        yield f"SAVE {module} TO DISK"
