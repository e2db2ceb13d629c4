"""Read the counters that show harm, from an open admin connection, with SELECTs and SHOW only.

`stats_mysql_errors` lacks what ProxySQL makes itself on 2.7, and connections that fail on all
versions. So errors come from three places that do not overlap: SHOW PROMETHEUS METRICS counts those
of the servers, stats_mysql_global sessions that got no connection in time and refused logins, and
stats_mysql_errors those that ProxySQL made itself. No statement names a `_reset` table.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Mapping

from proxyctl.harm.sample import CounterSample, DigestCount, DigestKey, DigestSample, ErrorKey
from proxyctl.instance.client import AdminClient
from proxyctl.instance.facts import PoolServer, read_pool, shunned_servers
from proxyctl.instance.sockets import TABLE_LIMIT
from proxyctl.stats.read import DIGESTS, named_numbers, read_digest_memory

WAITED_MS = 1000
"""A session that waits this long for a connection counts. Ordinary traffic opens connections, too,
in milliseconds."""

NO_CONNECTION, REFUSED_LOGIN = "no connection in time", "a refused login"
_GLOBAL = {
    "max_connect_timeouts": NO_CONNECTION,
    "Access_Denied_Wrong_Password": REFUSED_LOGIN,
    "Access_Denied_Max_Connections": REFUSED_LOGIN,
    "Access_Denied_Max_User_Connections": REFUSED_LOGIN,
}
"""Counters of errors in stats_mysql_global."""

_WAITING = (
    "SELECT hostgroup, count(*) FROM stats_mysql_processlist"
    f" WHERE command='Connect' AND time_ms>={WAITED_MS} GROUP BY hostgroup"
)
_COUNTERS = (
    "SELECT Variable_Name, Variable_Value FROM stats_mysql_global WHERE Variable_Name IN"
    f" ({', '.join(map(repr, ('Questions', *_GLOBAL)))})"
)
_OWN_ERRORS = (
    "SELECT hostgroup, errno, sum(count_star) FROM stats_mysql_errors"
    " WHERE hostname='' AND errno<>9001 GROUP BY hostgroup, errno"
)
"""Error 9001 is counted by max_connect_timeouts as well, also by ProxySQL 2.7."""

_METRIC = "mysql_error_total{"
_LABEL = re.compile(r'(\w+)="([^"]*)"')

_LARGE_BYTES = 50_000_000
"""Digests of this size are not read: ProxySQL copies the whole table for any statement that names
it, in about a second."""
_DIGESTS_REST = 20
"""Reading the digests may take a twentieth of the time."""
DIGESTS_EVERY_S = 5.0
_RECENT_S = 600
"""Digests that were not executed for this long before the first sample are not read."""
_MOST_DIGESTS = 5_000


class Sampler:
    """Takes samples of one instance, over one connection or several."""

    def __init__(self) -> None:
        self._since: int | None = None
        self._digests_due = 0.0
        self._reads_digests: bool | None = None

    def take(self, client: AdminClient) -> CounterSample:
        """Return the counters now. Raises: InstanceError."""
        number = client.number
        waiting = {number(hg): number(count) for hg, count in client.query(_WAITING)}
        counters = named_numbers(client, _COUNTERS)
        pool = read_pool(client)
        answered: Counter[int] = Counter()
        for server in pool:
            answered[server.hostgroup] += server.queries
        return CounterSample(
            at=time.monotonic(),
            queries=counters.get("Questions", 0),
            waiting=waiting,
            answered=answered,
            errors=_errors(client, counters),
            failures={_name(server): server.errors for server in pool},
            # SHUNNED_REPLICATION_LAG is left out: such a server lags, but has not failed.
            shunned=frozenset(
                _name(server) for server in shunned_servers(pool) if server.status == "SHUNNED"
            ),
            digests=self._digests(client) if self._are_digests_due(client) else None,
        )

    def _are_digests_due(self, client: AdminClient) -> bool:
        if self._reads_digests is None:
            # Once: all queries wait while ProxySQL adds up the size.
            self._reads_digests = read_digest_memory(client) < _LARGE_BYTES
        return self._reads_digests and time.monotonic() >= self._digests_due

    def _digests(self, client: AdminClient) -> DigestSample:
        started = time.monotonic()
        if self._since is None:
            ((now,),) = client.query("SELECT strftime('%s','now')")
            self._since = client.number(now) - _RECENT_S
        rows = client.query(
            "SELECT strftime('%s','now'), hostgroup, schemaname, username, client_address, digest,"
            f" count_star, sum_time, first_seen FROM {DIGESTS} WHERE last_seen>={self._since}"
            f" ORDER BY sum_time DESC LIMIT {_MOST_DIGESTS}",
            limit=TABLE_LIMIT,
        )
        now_s = time.monotonic()
        self._digests_due = now_s + max(DIGESTS_EVERY_S, (now_s - started) * _DIGESTS_REST)
        number = client.number
        return DigestSample(
            number(rows[0][0]) if rows else self._since + _RECENT_S,
            {
                DigestKey(number(hostgroup), *(text or "" for text in texts)): DigestCount(
                    number(count), number(time_us), number(first_seen)
                )
                for _, hostgroup, *texts, count, time_us, first_seen in rows
            },
        )


def _name(server: PoolServer) -> str:
    return f"{server.host}:{server.port} in hostgroup {server.hostgroup}"


def _errors(client: AdminClient, counters: Mapping[str, int]) -> dict[ErrorKey, int]:
    found: Counter[ErrorKey] = Counter()
    for name, kind in _GLOBAL.items():
        found[ErrorKey(kind, "")] += counters.get(name, 0)
    for hostgroup, errno, count in client.query(_OWN_ERRORS):
        found[ErrorKey(f"error {errno}", f"hostgroup {hostgroup}")] += client.number(count)
    metrics = client.query("SHOW PROMETHEUS METRICS", limit=TABLE_LIMIT)
    found.update(errors_in(str(metrics[0][0]) if metrics else ""))
    return dict(found)


def errors_in(metrics: str) -> dict[ErrorKey, int]:
    """Return the errors of servers in the text of SHOW PROMETHEUS METRICS."""
    found: Counter[ErrorKey] = Counter()
    for line in metrics.splitlines():
        if not line.startswith(_METRIC):
            continue
        labels, _, count = line.rpartition("} ")
        label = dict(_LABEL.findall(labels))
        place = f"{label.get('address')}:{label.get('port')} in hostgroup {label.get('hostgroup')}"
        found[ErrorKey(f"error {label.get('code')}", place)] += round(float(count))
    return dict(found)
