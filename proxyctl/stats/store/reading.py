"""Reads from an instance what a store lacks: the digests that ran since a moment, and dumps.

ProxySQL moves its digests to `history_mysql_query_digest` at SAVE MYSQL DIGEST TO DISK and every
admin-stats_mysql_query_digest_to_disk seconds. Each dump clears the live table, so a row of a dump
holds what was counted since the dump before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from proxyctl.instance.client import AdminClient
from proxyctl.stats.model import DigestTable, Load, SeenDigest
from proxyctl.stats.read import (
    DIGESTS,
    GROUP_ROWS,
    incomplete,
    json_list,
    read_digest_variables,
    read_started_at,
    row_columns,
)

DUMPS = "stats_history.history_mysql_query_digest"


@dataclass(frozen=True)
class ChangedDigests:
    """The digests that ran since a moment, and the sums of all digests."""

    table: DigestTable
    """The table, with the rows that ran since then only."""
    whole: Load
    """The sums of all rows, without max_time."""
    first_seen: int | None
    """The earliest first_seen of all rows; None without rows. Units: unix seconds."""


def read_changed_digests(client: AdminClient, since: int) -> ChangedDigests:
    """Return the rows with last_seen at `since` or later, and the sums of all rows.

    One statement reads both, so that they belong together. Units: `since` in unix seconds of the
    instance's clock. Raises: InstanceError, also when ProxySQL sends too few rows.
    """
    variables, started_at = read_digest_variables(client), read_started_at(client)
    sql = (
        f"SELECT ifnull(sum(last_seen >= {since}), 0), json_array(strftime('%s','now'), count(*),"
        " ifnull(sum(count_star), 0), ifnull(sum(sum_time), 0), ifnull(sum(sum_rows_sent), 0),"
        f" ifnull(sum(sum_rows_affected), 0), min(first_seen)) FROM {DIGESTS} UNION ALL"
        f" SELECT count(*), json_group_array(json_array({row_columns(client.version)}))"
        f" FROM {DIGESTS} WHERE last_seen >= {since} GROUP BY rowid/{GROUP_ROWS}"
    )
    with client.stream(sql) as records:
        changed, sums = next(records, (None, None))
        if changed is None or sums is None:
            raise incomplete(client)
        now, *numbers, first_seen = json_list(sums)
        entries, calls, time, sent, affected = numbers
        taken_at = int(now)
        rows = [row for _, group in records for row in _rows(group)]
    if len(rows) != client.number(changed):
        raise incomplete(client)
    table = DigestTable(
        client.name,
        client.address,
        client.version_text,
        taken_at,
        rows,
        variables,
        None if started_at is None else max(taken_at - started_at, 0),
    )
    whole = Load(entries, calls, time, sum_rows_sent=sent, sum_rows_affected=affected)
    return ChangedDigests(table, whole, first_seen)


def _rows(group: bytes | None) -> list[SeenDigest]:
    return [SeenDigest._make(row) for row in json_list(group or b"[]")]


def newest_dump(client: AdminClient) -> int:
    """Return the time of the newest dump in unix seconds, or 0. Raises: InstanceError."""
    rows = client.query(f"SELECT max(dump_time) FROM {DUMPS}")
    return client.number(rows[0][0]) if rows else 0


def read_dumps(
    client: AdminClient, after: int, until: int
) -> Iterator[tuple[int, Sequence[SeenDigest]]]:
    """Yield the rows of the dumps in (after, until], the oldest first, some at a time.

    Shape: the time of the dump and some of its rows. Units: unix seconds. Raises: InstanceError,
    also when ProxySQL sends too few rows.
    """
    where = f"FROM {DUMPS} WHERE dump_time > {after} AND dump_time <= {until}"
    sql = (
        f"SELECT 0, count(*), '' {where} UNION ALL SELECT * FROM ("
        f" SELECT dump_time, count(*), json_group_array(json_array({row_columns(client.version)}))"
        f" {where} GROUP BY dump_time, rowid/{GROUP_ROWS} ORDER BY dump_time)"
    )
    with client.stream(sql) as records:
        _, total, _ = next(records, (None, None, None))
        if total is None:
            raise incomplete(client)
        received = 0
        for dumped_at, count, group in records:
            received += client.number(count)
            yield client.number(dumped_at), _rows(group)
    if received != client.number(total):
        raise incomplete(client)
