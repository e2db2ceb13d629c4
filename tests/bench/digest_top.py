"""Speed of `digest top` with a million digests, against the same SELECT in the mariadb client.

The SELECT is what one would write by hand for the same list: its columns, its filter, its order and
its limit. Both copy the whole map. They run in turns, and medians are compared: in time on the
clock, and in processor time, that of ProxySQL included.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.bench.digest_server import DigestServer
from tests.bench.line import Line
from tests.bench.measure import Rounds

ROUNDS = 3
BAR = 1.3
MEGABYTES = 150.0

_SUMS = (
    "count(*), sum(count_star), min(first_seen), max(last_seen), sum(sum_time) AS time,"
    " min(min_time), max(max_time), sum(sum_rows_affected), sum(sum_rows_sent)"
)
_TABLE = "stats_mysql_query_digest"


class _Way(NamedTuple):
    options: tuple[str, ...]
    by_hand: str


def _select(columns: str, group: str, where: str = "", having: str = "") -> str:
    return (
        f"SELECT {columns}, {_SUMS} FROM {_TABLE} {where} GROUP BY {group} {having}"
        " ORDER BY time DESC LIMIT 20"
    )


_BY_DIGEST = _select("digest, max(digest_text)", "digest")
_WAYS = {
    "by digest": _Way((), _BY_DIGEST),
    "every entry for itself": _Way(
        ("--group", "digest,hostgroup,schemaname,username,client_address"),
        f"SELECT * FROM {_TABLE} ORDER BY sum_time DESC LIMIT 20",
    ),
    "by user, as JSON": _Way(
        ("--group", "username", "--format", "json"), _select("username", "username")
    ),
    "with filters": _Way(
        ("--text", "table1%where", "--min-count", "2", "--min-avg", "1ms"),
        _select(
            "digest, max(digest_text)",
            "digest",
            "WHERE digest_text LIKE '%table1%where%'",
            "HAVING sum(count_star) >= 2 AND sum(sum_time) >= 1000 * sum(count_star)",
        ),
    ),
    "with rules": _Way(("--rule",), _BY_DIGEST),
}


def lines(server: DigestServer) -> Iterator[Line]:
    """Measure each way and its SELECT in turns."""
    ours, client = Rounds(), Rounds()
    for _ in range(ROUNDS):
        for name, way in _WAYS.items():
            client.add(name, server.select(way.by_hand))
            ours.add(name, server.proxyctl("digest", "top", *way.options))
    for name in _WAYS:
        found, yardstick = ours.middle(name), client.middle(name)
        what = f"digest top of 1,000,000, {name}"
        yield Line(what, found.seconds, yardstick.seconds, BAR)
        yield Line(f"{what}: CPU", found.cpu_s, yardstick.cpu_s, BAR)
        yield Line(f"digest top, {name}: peak memory", found.megabytes, MEGABYTES, 1.0, "MB")
