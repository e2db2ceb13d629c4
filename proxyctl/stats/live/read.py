"""Read the statistics for `top` at intervals, with SELECTs only.

A look is one reading of the statistics. Every look reads the cheap ones. Two readings are expensive
and get a small part of the time at most: ProxySQL copies the whole digest table for any statement
that names it, so a table that is too large is never named; and all queries wait while it adds up
the size of that table (with 300,000 digests 0.3 s, on a busy machine 1 s).
"""

from __future__ import annotations

import time

from proxyctl.instance.client import AdminClient
from proxyctl.instance.sockets import TABLE_LIMIT
from proxyctl.stats.live.view import DigestLook, DigestState, LiveStatistics, ServerCounters
from proxyctl.stats.model import Load, SeenDigest, is_counting
from proxyctl.stats.read import (
    DIGESTS,
    digest_memory,
    incomplete,
    named_numbers,
    read_digest_variables,
    read_memory_metrics,
    read_rule_hits,
)

MOST_ENTRIES = 2_000
"""Entries of the digest table in a look, at most."""

_MOST_TIME = 100
"""Entries with the most time that are in every look, hit or not."""

_TEXT = 1_000
"""Characters of a digest text."""

_JITTER_S = 2
"""first_seen and last_seen are whole seconds, computed from two clocks at each reading."""

_COUNTERS = (
    "ProxySQL_Uptime",
    "Active_Transactions",
    "Client_Connections_connected",
    "Client_Connections_non_idle",
    "Questions",
    "Slow_queries",
    "Queries_frontends_bytes_recv",
    "Queries_frontends_bytes_sent",
)

_SERVERS = (
    "SELECT hostgroup, srv_host, srv_port, status, ConnUsed, ConnFree, ConnOK, ConnERR, Queries,"
    " Bytes_data_sent, Bytes_data_recv, Latency_us FROM stats_mysql_connection_pool"
    " ORDER BY hostgroup, srv_host, srv_port"
)


# How often ---------------------------------------------------------------------------------------
_REST = 20
"""A look may take a twentieth of the time: other admin connections need their turn."""


def seconds_between(interval_s: float, look_s: float) -> float:
    """Return the seconds from one look to the next if a look takes `look_s`."""
    return max(interval_s, look_s * _REST)


_BYTES_PER_S = 50_000_000
"""How fast a statement copies the digest table. Source: ProxySQL 2.7.1, 978,000 digests of 340 MB,
six to seven seconds on two cores."""
_LARGE_S = 5.0
"""A table whose copy takes this long is never read: the admin interface is blocked meanwhile."""

_SIZE_REST = 10_000
_SIZE_EVERY_S, _SIZE_AT_LEAST_EVERY_S = 10.0, 3_600.0


def seconds_between_sizes(took_s: float) -> float:
    """Return the seconds to the next reading of the size if the last one took `took_s`."""
    return min(max(_SIZE_EVERY_S, took_s * _SIZE_REST), _SIZE_AT_LEAST_EVERY_S)


class Looker:
    """Takes looks at one instance. After an error, call `client.connect()` and look again."""

    def __init__(self, client: AdminClient) -> None:
        self.client = client
        self._last: LiveStatistics | None = None
        self._clock = 0
        self._digests_at: float | None = None
        self._digests_took_s = 0.0
        self._memory: dict[str, int] = {}
        self._variables: dict[str, str] = {}
        self._size_due = 0.0

    def look(self, interval_s: float) -> LiveStatistics:
        """Return the statistics, with digests only if they are due. Raises: InstanceError."""
        self._read_size()
        counters = named_numbers(
            self.client,
            "SELECT Variable_Name, Variable_Value FROM stats_mysql_global"
            f" WHERE Variable_Name IN ({', '.join(map(repr, _COUNTERS))})",
        )
        taken_at = time.monotonic()
        servers = tuple(map(self._server, self.client.query(_SERVERS)))
        rules = read_rule_hits(self.client, self._last.rules if self._last else None)
        state = self._state(interval_s)
        look = LiveStatistics(
            taken_at=taken_at,
            counters=counters,
            memory=self._memory,
            servers=servers,
            rules=rules,
            state=state,
            digests=self._look_at_digests() if self._are_digests_due(state) else None,
        )
        self._last = look
        return look

    def _read_size(self) -> None:
        start = time.monotonic()
        if start < self._size_due:
            return
        self._memory = read_memory_metrics(self.client)
        self._variables = read_digest_variables(self.client)
        now = time.monotonic()
        self._size_due = now + seconds_between_sizes(now - start)

    def _state(self, interval_s: float) -> DigestState:
        memory = digest_memory(self._memory)
        expected_s = memory / _BYTES_PER_S
        look_s = max(expected_s, self._digests_took_s)
        every_s = seconds_between(interval_s, look_s)
        return DigestState(
            memory=memory,
            look_s=look_s,
            every_s=None if expected_s >= _LARGE_S else every_s,
            is_rare=every_s > interval_s,
            is_on=is_counting(self._variables),
        )

    def _are_digests_due(self, state: DigestState) -> bool:
        if state.every_s is None:
            return False
        last = self._digests_at
        # Looks begin a little early or late; to skip one would double the time.
        return last is None or time.monotonic() - last > state.every_s * 0.9

    def _look_at_digests(self) -> DigestLook:
        since = max(self._clock - _JITTER_S, 0)
        self._digests_at = taken_at = time.monotonic()
        try:
            sql = digest_statement(since)
            rows = self.client.query(sql, limit=TABLE_LIMIT, most_rows=MOST_ENTRIES + 1)
        finally:
            # Also if no answer came in time: ProxySQL is busy with the statement all the same.
            self._digests_took_s = time.monotonic() - taken_at
        if not rows or rows[-1][1] is not None:
            raise incomplete(self.client)
        number = self.client.number
        busy, _, _, _, _, count, calls, clock, _, total, _, _ = rows.pop()
        entries = tuple(map(self._entry, rows))
        look = DigestLook(
            taken_at=taken_at,
            clock=number(clock),
            entries=entries,
            busy=number(busy),
            is_cut=len(entries) >= MOST_ENTRIES,
            whole=Load(number(count), number(calls), number(total)),
        )
        self._clock = look.clock
        return look

    def _server(self, row: tuple[str | None, ...]) -> ServerCounters:
        hostgroup, hostname, port, status, *counters = row
        number = self.client.number
        return ServerCounters(
            number(hostgroup), hostname or "", number(port), status or "", *map(number, counters)
        )

    def _entry(self, row: tuple[str | None, ...]) -> SeenDigest:
        hostgroup, *texts = row[:6]
        number = self.client.number
        cells = [number(hostgroup), *(text or "" for text in texts), *map(number, row[6:])]
        return SeenDigest._make([*cells, 0, 0])


def digest_statement(since: int) -> str:
    """Return the statement for the entries hit since a moment and those with the most time.

    Shape of the answer: the fields of SeenDigest without the counts of rows, most time first; then
    a row of sums. Without that last row the answer is incomplete: ProxySQL answers OK with a part
    of the rows when a SELECT fails while it runs. In the row of sums hostgroup is the number of
    entries hit, digest_text the number of all entries, first_seen the time.
    """
    return (
        "SELECT * FROM (SELECT hostgroup, schemaname, username, client_address, digest,"
        f" substr(digest_text, 1, {_TEXT}), count_star, first_seen, last_seen, sum_time, min_time,"
        f" max_time FROM {DIGESTS} WHERE last_seen >= {since} OR rowid IN"
        f" (SELECT rowid FROM {DIGESTS} ORDER BY sum_time DESC LIMIT {_MOST_TIME})"
        f" ORDER BY sum_time DESC LIMIT {MOST_ENTRIES})"
        f" UNION ALL SELECT ifnull(sum(last_seen >= {since}), 0), NULL, NULL, NULL, NULL, count(*),"
        f" sum(count_star), strftime('%s','now'), NULL, sum(sum_time), NULL, NULL FROM {DIGESTS}"
    )
