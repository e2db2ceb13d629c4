"""The parts of a routing case, and its results on a server or in the evaluator."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from proxyctl.catalog import Value

RULES = "mysql_query_rules"
FAST = "mysql_query_rules_fast_routing"
HOSTGROUPS = range(12)
ADDRESSES = ("127.0.0.1", "127.0.0.2")
"""Of clients and of ProxySQL's interfaces."""

USERS: tuple[dict[str, Value], ...] = (
    {"username": "app", "password": "", "default_hostgroup": 1},
    {"username": "web", "password": "", "default_hostgroup": 2, "default_schema": "shop"},
    {"username": "Etl", "password": "", "default_hostgroup": 3},
)
VARIABLES = {
    "mysql-query_processor_regex": "1",
    "mysql-query_processor_iterations": "0",
    "mysql-query_digests": "true",
    "mysql-query_digests_lowercase": "false",
    "mysql-query_digests_replace_null": "false",
    "mysql-query_digests_no_digits": "false",
    "mysql-query_digests_keep_comment": "false",
    "mysql-query_digests_max_digest_length": "2048",
    "mysql-set_query_lock_on_hostgroup": "1",
}
"""What a case may change, with what it has otherwise."""

SETTINGS = (
    "cache_timeout", "cache_ttl", "create_new_connection", "delay", "multiplex", "reconnect",
    "retries", "sticky_conn", "timeout",
)  # fmt: skip
"""What PROXYSQL INTERNAL SESSION shows of the last query."""

Cells = dict[str, Value]


class Client(NamedTuple):
    """A kind of session. Shape: `interface` is a place in ADDRESSES."""

    username: str
    schemaname: str | None = None
    client_addr: str = ADDRESSES[0]
    interface: int = 0


class Sent(NamedTuple):
    """A query that a client sends."""

    client: Client
    query: bytes


@dataclass(frozen=True)
class Case:
    """The configuration of a ProxySQL, and the queries to send."""

    rules: list[Cells]
    queries: list[Sent]
    fast_routing: list[Cells] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)


class Seen(NamedTuple):
    """The result of one query.

    Shape: `answer` is ProxySQL's own answer (`OK text`, `ERR text`, `OWN`), None if a backend
    got the text. `destination` is the hostgroup that rules, fast routing and hints chose, or None.
    """

    hostgroup: int | None
    text: bytes | None
    answer: str | None
    destination: int | None
    settings: tuple[tuple[str, int], ...]


class Digested(NamedTuple):
    """A row of stats_mysql_query_digest."""

    hostgroup: int
    schemaname: str
    username: str
    digest: str


UNCERTAIN = "?"
"""A digest that ProxySQL makes of what its buffer held before, as `routing.digest` tells."""


class Observed(NamedTuple):
    """The results of a case."""

    seen: list[Seen]
    hits: dict[int, int]
    digests: Counter[Digested]


def differences(expected: Observed, found: Observed) -> list[str]:
    """Return the differences in words."""
    lines = [
        f"query {number}: {wanted} is not {seen}"
        for number, (wanted, seen) in enumerate(zip(expected.seen, found.seen, strict=True))
        if wanted != seen
    ]
    if expected.hits != found.hits:
        lines.append(f"hits: {expected.hits} are not {found.hits}")
    missing, added = expected.digests - found.digests, found.digests - expected.digests
    for digested in [digested for digested in missing if digested.digest == UNCERTAIN]:
        like = [other for other in added if other[:-1] == digested[:-1]]
        for other in like[: missing.pop(digested)]:
            added[other] -= 1
    if missing or +added:
        lines.append(f"digests: {missing} are not {+added}")
    return lines


# The real one -----------------------------------------------------------------------------------
