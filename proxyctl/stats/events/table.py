"""Reads the events tables of an instance, which ProxySQL has from 3.0 on.

ProxySQL fills them only when somebody sends DUMP EVENTSLOG, and builds the whole answer to a SELECT
in its memory. So a table with very many events is refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import orjson

from proxyctl.catalog import releases
from proxyctl.errors import InstanceError, ProxyctlError
from proxyctl.instance.client import AdminClient
from proxyctl.stats.events.event import EXECUTE, PREPARE, QUERY, EventTally, QueryEvent
from proxyctl.stats.events.log import OPTION
from proxyctl.text import counted

TABLES = ("stats_mysql_query_events", "history_mysql_query_events")
MOST_EVENTS = 1_000_000
"""The most events of a table: ProxySQL needs some 400 MB of memory to send a million."""
_AT_ONCE = 1_000
_COLUMNS = (
    "query_digest,hid,schemaname,username,client,query,event_type,end_time-start_time,end_time,"
    "rows_sent,ifnull(affected_rows,0),errno"
)
_EVENT = QueryEvent._fields.index("event")
_EVENTS = {0: QUERY, 16: EXECUTE, 17: PREPARE}
"""The values of event_type. Source: ProxySQL 3.0.3, run."""


@contextmanager
def table_events(
    client: AdminClient, table: str, tally: EventTally, option: str = OPTION
) -> Iterator[Iterator[QueryEvent]]:
    """Yield the executed queries of a table, as a stream. `option`: what named the table.

    Changes: tally. Raises: ProxyctlError for a table that the instance does not have or that is too
    large; InstanceError, also when ProxySQL sends only a part.
    """
    _refuse(client, table, option)
    sql = (
        f"SELECT count(*), NULL FROM {table} UNION ALL"
        f" SELECT count(*), json_group_array(json_array({_COLUMNS})) FROM {table}"
        f" GROUP BY rowid/{_AT_ONCE}"
    )
    with client.stream(sql) as records:
        yield _events(client, table, records, tally)


def _refuse(client: AdminClient, table: str, option: str) -> None:
    """Raise ProxyctlError for a table that is missing or too large."""
    if not client.version.has(releases.EVENTS_TABLES):
        since = client.version.numbered(releases.EVENTS_TABLES)
        raise ProxyctlError(
            f"{client.name}: ProxySQL {client.version} has no table {table}; it came with {since}",
            fix=f"name the files of the event log: {option} FILE",
        )
    count = client.number(client.query(f"SELECT count(*) FROM {table}")[0][0])
    if count > MOST_EVENTS:
        raise ProxyctlError(
            f"{client.name}: {table} has {counted(count, 'event')}, and ProxySQL would need memory"
            f" for all of them at once; proxyctl reads at most {MOST_EVENTS:,}",
            fix=f"name the files of the event log: {option} FILE, or delete old events from the"
            " table",
        )


def _events(
    client: AdminClient,
    table: str,
    records: Iterator[tuple[bytes | None, ...]],
    tally: EventTally,
) -> Iterator[QueryEvent]:
    """Yield the executed queries. Changes: tally. Raises: InstanceError."""
    total = client.number(next(records, (None, None))[0])
    received = 0
    for count, group in records:
        received += client.number(count)
        for cells in _cells(group or b"[]"):
            cells[_EVENT] = kind = _EVENTS.get(cells[_EVENT])
            if kind == PREPARE:
                tally.prepared += 1
            elif kind is not None:
                tally.executed += 1
                yield QueryEvent._make(cells)
            else:
                raise InstanceError(f"{client.name}: {table} has an event of unknown event_type")
    if received != total:
        raise InstanceError(
            f"{client.name}: {table}: ProxySQL answered with only part of the rows",
            fix="try again; ProxySQL may be short of memory",
        )
    if not total:
        tally.remarks.append(
            f"{table} is empty: DUMP EVENTSLOG FROM BUFFER TO MEMORY or TO DISK fills it"
        )


def _cells(text: bytes) -> list[list[Any]]:
    cells: list[list[Any]]
    try:
        cells = orjson.loads(text)
    except orjson.JSONDecodeError:
        # Bytes that are not UTF-8 become surrogate escapes.
        cells = json.loads(text.decode("utf-8", "surrogateescape"), strict=False)
    return cells
