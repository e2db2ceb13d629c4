"""The configuration of a small shop, whose traffic `recorded_digests` has.

One writer, three readers of which one does not answer, three users, and rules that grew over the
years: some that no query meets any more, and reads that nobody sent to a reader.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from proxyctl.catalog import Value
from proxyctl.sandbox.recorded_digests import READER, WRITER
from proxyctl.state.passwords import native_hash
from proxyctl.state.sql import literal


class Node(NamedTuple):
    """A server in one hostgroup, and what its connections are like.

    `share` is its part of what its hostgroup answered so far, `share_now` of what comes since.
    Units: `latency_us` is that of the last ping, `errors_per_s` attempts in vain from now on.
    """

    hostgroup: int
    hostname: str
    share: float
    share_now: float
    used: int
    free: int
    opened: int
    failed: int
    latency_us: int
    is_shunned: bool = False
    errors_per_s: float = 0


NODES = (
    Node(WRITER, "db1.example.com", 1, 1, 2, 6, 1_204, 3, 412),
    Node(READER, "db2.example.com", 0.44, 0.5, 1, 5, 988, 0, 398),
    Node(READER, "db3.example.com", 0.43, 0.5, 1, 4, 971, 2, 455),
    Node(READER, "db4.example.com", 0.13, 0, 0, 0, 310, 5_233, 0, True, 0.1),
)
PORT = 3306
FRONTENDS = {"app": 12, "jobs": 3, "report": 1}
"""Connections of clients by user."""
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

_COLUMNS = {
    "mysql_replication_hostgroups": "writer_hostgroup, reader_hostgroup, comment",
    "mysql_servers": "hostgroup_id, hostname, max_connections, max_replication_lag",
    "mysql_users": "username, password, default_hostgroup, max_connections",
    "mysql_query_rules": (
        "rule_id, active, match_digest, destination_hostgroup, cache_ttl, error_msg, comment, apply"
    ),
}
_MODULES = ("MYSQL SERVERS", "MYSQL USERS", "MYSQL QUERY RULES")


def statements() -> Iterator[str]:
    """Yield what an administrator of a fresh ProxySQL sends to have it in all layers."""
    for table, columns in _COLUMNS.items():
        rows = ", ".join(f"({', '.join(map(literal, row))})" for row in _rows(table))
        yield f"INSERT INTO {table} ({columns}) VALUES {rows}"
    for module in _MODULES:
        yield f"LOAD {module} TO RUNTIME"
        yield f"SAVE {module} TO DISK"


def _rows(table: str) -> Iterator[tuple[Value, ...]]:
    match table:
        case "mysql_replication_hostgroups":
            yield WRITER, READER, "shop"
        case "mysql_servers":
            for node in NODES:
                yield node.hostgroup, node.hostname, 200, 0 if node.hostgroup == WRITER else 30
        case "mysql_users":
            password = native_hash(_PASSWORD)
            for name in FRONTENDS:
                yield name, password, _DEFAULTS.get(name, WRITER), _MAX_CONNECTIONS
        case _:
            for rule_id, *cells in _RULES:
                yield rule_id, 1, *cells, 1
