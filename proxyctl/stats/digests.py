"""Reads stats_mysql_query_digest, whole, with one statement.

Every statement that names the table makes ProxySQL copy all of it, and it can hold a million rows.
The table with `_reset` behind its name is never named: to read that one is to clear it.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from proxyctl.digests.diff_snapshot import Snapshot
from proxyctl.errors import InstanceError
from proxyctl.instance.client import AdminClient
from proxyctl.replay.seen import DigestTable, SeenDigest
from proxyctl.stats.digest_size import read_digest_variables
from proxyctl.stats.digest_spelling import digest_column

_TABLE = "stats_mysql_query_digest"


_GROUP = 1_000
"""Rows of one JSON text. A digest text has 2 KB by default and 1 MB at most."""


_SINCE_2_0_6 = ("sum_rows_affected", "sum_rows_sent")


_Record = tuple[bytes | None, ...]


class JsonRows:
    """Digests as the JSON texts that ProxySQL made of them, parsed whenever they are asked for.

    Kept compressed: digest texts are much alike, and a million of them take an eighth then.
    """

    def __init__(self, groups: Iterable[bytes], count: int) -> None:
        self._groups = [zlib.compress(group, 1) for group in groups]
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[SeenDigest]:
        for group in self._groups:
            yield from _rows(zlib.decompress(group))


def read_digests(client: AdminClient) -> DigestTable:
    """Return all digests that the instance has seen, to be gone through more than once.

    Raises: InstanceError, also where ProxySQL keeps back rows.
    """
    variables = read_digest_variables(client)
    with _groups(client) as (count, taken_at, groups):
        rows = JsonRows(groups, count)
    return DigestTable(
        name=client.login.name or client.address,
        address=client.address,
        version=client.version_text,
        taken_at=taken_at,
        rows=rows,
        variables=variables,
    )


@contextmanager
def streamed_digests(client: AdminClient) -> Iterator[Snapshot]:
    """Yield all digests that the instance has seen; the rows come as they are read.

    Some thousand of them are held at a time. Whoever leaves before the last row has closed the
    connection. Raises: InstanceError; its rows too, also where ProxySQL keeps back some.
    """
    variables, started_at = read_digest_variables(client), _started_at(client)
    with _groups(client) as (count, taken_at, groups):
        yield Snapshot(
            name=client.login.name or client.address,
            address=client.address,
            version=client.version_text,
            taken_at=taken_at,
            uptime=None if started_at is None else max(taken_at - started_at, 0),
            count=count,
            rows=(row for group in groups for row in _rows(group)),
            variables=variables,
        )


def _started_at(client: AdminClient) -> int | None:
    """Return when ProxySQL was started, in unix seconds of its clock; None where it says not.

    Asked before the table, which takes its time: so the clock has to be read with it.
    """
    rows = client.query(
        "SELECT Variable_Value, strftime('%s','now') FROM stats_mysql_global"
        " WHERE Variable_Name='ProxySQL_Uptime'",
    )
    uptime, now = rows[0] if rows else (None, None)
    since_s = client.number(uptime)
    return client.number(now) - since_s if since_s > 0 and now else None


@contextmanager
def _groups(client: AdminClient) -> Iterator[tuple[int, int, Iterator[bytes]]]:
    """Yield how many digests there are, when that was, and JSON lists of them."""
    has_rows = client.version >= (2, 0, 6)
    columns = ",".join(
        digest_column(client.version) if name == "digest" else name
        for name in SeenDigest._fields
        if has_rows or name not in _SINCE_2_0_6
    )
    # The count comes first, so that a file can begin with it.
    sql = (
        f"SELECT (SELECT count(*) FROM {_TABLE}), strftime('%s','now') UNION ALL"
        f" SELECT count(*), json_group_array(json_array({columns})) FROM {_TABLE}"
        f" GROUP BY rowid/{_GROUP}"
    )
    with client.stream(sql) as records:
        total, now = next(records, (None, None))
        if total is None or now is None:
            raise _incomplete(client)
        count = client.number(total)
        yield count, client.number(now), _whole(client, count, records)


def _whole(client: AdminClient, total: int, records: Iterable[_Record]) -> Iterator[bytes]:
    found = 0
    for count, group in records:
        if group is not None:
            found += client.number(count)
            yield group
    if found != total:
        raise _incomplete(client)


def _incomplete(client: AdminClient) -> InstanceError:
    return InstanceError(
        f"{client.address}: {_TABLE}: ProxySQL answered with a part of the rows only",
        hint="its memory may be short; try again",
    )


def _rows(text: bytes) -> Iterator[SeenDigest]:
    import orjson

    try:
        rows: list[list[Any]] = orjson.loads(text)
    except orjson.JSONDecodeError:
        # Text that is not UTF-8: keep its bytes as surrogate escapes.
        rows = json.loads(text.decode("utf-8", "surrogateescape"), strict=False)
    for row in rows:
        yield SeenDigest(*row)
