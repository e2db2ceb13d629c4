"""Reads stats_mysql_query_digest, whole, with one statement.

Every statement that names the table makes ProxySQL copy all of it, and it can hold a million rows.
The table with `_reset` behind its name is never named: to read that one is to clear it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from proxyctl.admin.client import AdminClient
from proxyctl.digest.options import PREFIX
from proxyctl.errors import InstanceError, StatementError
from proxyctl.replay.seen import DigestTable, SeenDigest

_TABLE = "stats_mysql_query_digest"
_GROUP = 1_000
"""Rows of one JSON text. A digest text has 2 KB by default and 1 MB at most."""

_SINCE_2_0_6 = ("sum_rows_affected", "sum_rows_sent")


class JsonRows:
    """Digests as the JSON texts that ProxySQL made of them, parsed whenever they are asked for."""

    def __init__(self, groups: Sequence[bytes], count: int) -> None:
        self._groups = groups
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[SeenDigest]:
        for group in self._groups:
            for row in _rows(group):
                yield SeenDigest(*row)


def read_digests(client: AdminClient) -> DigestTable:
    """Return all digests that the instance has seen.

    Raises: InstanceError, also where ProxySQL keeps back rows.
    """
    variables = client.query(
        "SELECT variable_name, variable_value FROM runtime_global_variables"
        f" WHERE variable_name LIKE '{PREFIX.rstrip('_')}%'"
    )
    groups, count, taken_at = _read(client)
    return DigestTable(
        name=client.login.name or client.address,
        address=client.address,
        version=client.version_text,
        taken_at=taken_at,
        rows=JsonRows(groups, count),
        variables={str(name): str(value) for name, value in variables},
    )


def _read(client: AdminClient) -> tuple[list[bytes], int, int]:
    has_rows = client.version >= (2, 0, 6)
    columns = ",".join(name for name in SeenDigest._fields if has_rows or name not in _SINCE_2_0_6)
    if not _makes_json(client):
        answer = client.raw(f"SELECT {columns} FROM {_TABLE}")
        return [_as_json(answer)], len(answer), _now(client)
    answer = client.raw(
        f"SELECT count(*), json_group_array(json_array({columns})) FROM {_TABLE}"
        f" GROUP BY rowid/{_GROUP} UNION ALL"
        f" SELECT (SELECT count(*) FROM {_TABLE}), strftime('%s','now')"
    )
    *groups, (total, now) = answer or [(None, None)]
    if total is None or sum(int(count or 0) for count, _ in groups) != int(total):
        raise InstanceError(
            f"{client.address}: {_TABLE}: ProxySQL answered with a part of the rows only",
            hint="its memory may be short; try again",
        )
    return [text for _, text in groups if text is not None], int(total), int(now or 0)


def _makes_json(client: AdminClient) -> bool:
    """Return whether this ProxySQL can make JSON; asked without naming the table."""
    try:
        client.raw("SELECT json_array(1)")
    except StatementError as error:
        if "no such function" not in error.message:
            raise
        return False
    return True


def _now(client: AdminClient) -> int:
    return int(client.query("SELECT strftime('%s','now')")[0][0] or 0)


_TEXTS = frozenset({"schemaname", "username", "client_address", "digest", "digest_text"})


def _as_json(answer: Sequence[tuple[bytes | None, ...]]) -> bytes:
    """Return rows of the text protocol as the JSON that other ProxySQLs make themselves."""
    is_text = [name in _TEXTS for name in SeenDigest._fields]
    rows = [
        [
            (cell or b"").decode("utf-8", "surrogateescape") if text else int(cell or 0)
            for cell, text in zip(row, is_text, strict=False)
        ]
        for row in answer
    ]
    return json.dumps(rows, ensure_ascii=False).encode("utf-8", "surrogateescape")


def _rows(text: bytes) -> list[list[Any]]:
    import orjson

    try:
        rows: list[list[Any]] = orjson.loads(text)
    except orjson.JSONDecodeError:
        # Text that is not UTF-8: keep its bytes as surrogate escapes.
        rows = json.loads(text.decode("utf-8", "surrogateescape"), strict=False)
    return rows
