"""Reads statistics: the whole of stats_mysql_query_digest in one statement, and hits of rules.

Every statement that names the digest table makes ProxySQL copy the whole table, which can have a
million rows. No statement names the `_reset` table: reading that table clears the statistics.
"""

from __future__ import annotations

import json
import re
import time
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from proxyctl.catalog import Value, Version
from proxyctl.errors import InstanceError
from proxyctl.instance.client import AdminClient
from proxyctl.instance.lethal import refuse_stopped
from proxyctl.instance.read import read_configuration
from proxyctl.routing.digest.options import PREFIX
from proxyctl.rows.row import Layer
from proxyctl.rows.sql import Statement, literal
from proxyctl.stats.model import DigestRows, DigestTable, SeenDigest
from proxyctl.stats.rule_hits import RuleHitsSample

DIGESTS = "stats_mysql_query_digest"

GROUP_ROWS = 1_000
"""Rows per JSON text. A digest text has up to 2 KB by default, and 1 MB at most."""


# The size of the table, without naming it ---------------------------------------------------------
DIGEST_MEMORY = ("query_digest_memory", "mysql_query_digest_memory")
"""Its names in stats_memory_metrics; ProxySQL 3.0 uses the second name."""


def read_memory_metrics(client: AdminClient) -> dict[str, int]:
    """Return the numbers of stats_memory_metrics by name. Units: bytes. Raises: InstanceError."""
    return named_numbers(client, "SELECT Variable_Name, Variable_Value FROM stats_memory_metrics")


def named_numbers(client: AdminClient, sql: str) -> dict[str, int]:
    """Return numbers by name, without NULL values. Raises: InstanceError."""
    rows = client.query(sql)
    return {str(name): client.number(value) for name, value in rows if value is not None}


def digest_memory(metrics: Mapping[str, int]) -> int:
    """Return the bytes that digests take; 0 if this ProxySQL does not report it."""
    return next((metrics[name] for name in DIGEST_MEMORY if name in metrics), 0)


def read_digest_memory(client: AdminClient) -> int:
    """Return the bytes that digests take; 0 if not reported. Raises: InstanceError."""
    return digest_memory(read_memory_metrics(client))


def read_digest_variables(client: AdminClient) -> dict[str, str]:
    """Return the mysql-query_digests variables at RUNTIME, by full name.

    Every reading of digests begins with it. Raises: InstanceError, also after PROXYSQL STOP, whose
    empty statistics count nothing, and end ProxySQL when they are cleared.
    """
    refuse_stopped(client)
    rows = client.query(
        "SELECT variable_name, variable_value FROM runtime_global_variables"
        f" WHERE variable_name LIKE '{PREFIX.rstrip('_')}%'",
    )
    return {str(name): value or "" for name, value in rows}


# The spelling of a digest ------------------------------------------------------------------------
_DIGEST = re.compile(r"0x *([0-9A-Fa-f]{1,16})\Z")


def as_usual(text: str) -> str:
    """Return a digest as nearly every version prints it: `0x` and sixteen capital digits.

    2.5.2 to 2.6.4 print small letters and no leading zeros; 2.6.5 and 2.7.0 print blanks for the
    zeros. A digest must have one spelling everywhere, because rules, digest files and other
    instances refer to it. Source: stats___mysql_query_digests of each release; 2.5.5 and 2.7.1 run.
    """
    match = _DIGEST.match(text)
    return f"0x{match[1].upper():0>16}" if match else text


def spellings(digest: str) -> list[str]:
    """Return every spelling of a digest that some version prints, the usual spelling first."""
    usual = as_usual(digest)
    if not _DIGEST.match(usual):
        return [digest]
    digits = usual[2:].lstrip("0") or "0"
    return list(dict.fromkeys((usual, f"0x{digits.lower()}", f"0x{digits:>16}")))


def digest_column(version: Version) -> str:
    """Return the SQL expression for the column `digest` of a version, in the usual spelling."""
    if version < (2, 5, 2) or version == (2, 6, 6) or version >= (2, 7, 1):
        return "digest"
    return "'0x'||substr('0000000000000000'||upper(trim(substr(digest,3))),-16)"


def row_columns(version: Version) -> str:
    """Return the SQL expressions for the columns of a `SeenDigest`, separated by commas."""
    return ",".join(SeenDigest._fields).replace("digest", digest_column(version), 1)


# The table, whole --------------------------------------------------------------------------------
def read_digests(client: AdminClient) -> DigestTable:
    """Return all digests that the instance has seen, as rows that can be read more than once.

    The rows are kept as compressed JSON, because digest texts are much alike: a million digests
    take an eighth of the memory. Raises: InstanceError, also when ProxySQL sends too few rows.
    """
    with _groups(client) as (table, groups):
        kept = [zlib.compress(group, 1) for group in groups]
    rows = DigestRows(
        len(table.rows), lambda: (r for group in kept for r in _rows(zlib.decompress(group)))
    )
    return replace(table, rows=rows)


@contextmanager
def streamed_digests(client: AdminClient) -> Iterator[DigestTable]:
    """Yield all digests that the instance has seen, as a stream of rows that can be read once.

    Some thousand rows are held at a time. A caller that stops before the last row closes the
    connection. Raises: InstanceError; the rows raise it too, also when ProxySQL sends too few.
    """
    with _groups(client) as (table, groups):
        rows = DigestRows(
            len(table.rows), lambda: (row for group in groups for row in _rows(group))
        )
        yield replace(table, rows=rows)


def read_started_at(client: AdminClient) -> int | None:
    """Return when ProxySQL started, in unix seconds of its clock; None if not reported.

    The statement also reads the clock: reading the digest table afterwards takes seconds.
    """
    rows = client.query(
        "SELECT Variable_Value, strftime('%s','now') FROM stats_mysql_global"
        " WHERE Variable_Name='ProxySQL_Uptime'",
    )
    uptime, now = rows[0] if rows else (None, None)
    since_s = client.number(uptime)
    return client.number(now) - since_s if since_s > 0 and now else None


@contextmanager
def _groups(client: AdminClient) -> Iterator[tuple[DigestTable, Iterator[bytes]]]:
    """Yield the table with the number of its rows, and the rows as JSON lists."""
    variables, started_at = read_digest_variables(client), read_started_at(client)
    columns = row_columns(client.version)
    # The count comes first, so that a file can begin with it.
    sql = (
        f"SELECT (SELECT count(*) FROM {DIGESTS}), strftime('%s','now') UNION ALL"
        f" SELECT count(*), json_group_array(json_array({columns})) FROM {DIGESTS}"
        f" GROUP BY rowid/{GROUP_ROWS}"
    )
    with client.stream(sql) as records:
        total, now = next(records, (None, None))
        if total is None or now is None:
            raise incomplete(client)
        count, taken_at = client.number(total), client.number(now)
        table = DigestTable(
            client.name,
            client.address,
            client.version_text,
            taken_at,
            DigestRows(count, tuple),
            variables,
            None if started_at is None else max(taken_at - started_at, 0),
        )
        yield table, _whole(client, count, records)


def _whole(
    client: AdminClient, total: int, records: Iterable[tuple[bytes | None, ...]]
) -> Iterator[bytes]:
    received = 0
    for count, group in records:
        if group is not None:
            received += client.number(count)
            yield group
    if received != total:
        raise incomplete(client)


def incomplete(client: AdminClient) -> InstanceError:
    """Return the error for an answer that ended early, which ProxySQL still reports as OK."""
    return InstanceError(
        f"{client.address}: {DIGESTS}: ProxySQL answered with only part of the rows",
        fix="try again; ProxySQL may be short of memory",
    )


def _rows(text: bytes) -> Iterator[SeenDigest]:
    return map(SeenDigest._make, json_list(text))


def json_list(text: bytes) -> list[Any]:
    """Return a JSON list that SQLite made; bytes that are not UTF-8 become surrogate escapes."""
    import orjson

    try:
        values: list[Any] = orjson.loads(text)
    except orjson.JSONDecodeError:
        values = json.loads(text.decode("utf-8", "surrogateescape"), strict=False)
    return values


_CLEAR = Statement.plain(f"TRUNCATE TABLE {DIGESTS}")
"""A SELECT from the `_reset` table would also clear, but copies all rows first, and loses the
numbers if its answer is lost. TRUNCATE copies nothing."""


def clear_digests(client: AdminClient) -> None:
    """Clear the statistics for everybody.

    ProxySQL's count of affected rows is ignored: it also counts texts that entries share.
    Raises: StatementError; ConnectionLostError when it is unknown whether the statement ran.
    """
    client.execute(_CLEAR)


def purge_digests(client: AdminClient, until: int) -> int:
    """Clear the entries last seen at `until` or before, and return their number.

    Units: `until` in unix seconds. Raises: as `clear_digests`. Source: pull request 5943; not run.
    """
    return client.execute(Statement.plain(f"PURGE TABLE {DIGESTS} TO {until}"))


# Hits of rules -----------------------------------------------------------------------------------
_RULES = "mysql_query_rules"


def read_rule_hits(client: AdminClient, earlier: RuleHitsSample | None = None) -> RuleHitsSample:
    """Return the rules in force and their hits, about two seconds old. Raises: InstanceError.

    Rules that were not loaded since an `earlier` sample of this client are not read again.
    """
    loads, loaded_at = _loaded(client)
    if earlier and loads is not None and (loads, loaded_at) == (earlier.loads, earlier.loaded_at):
        rules = earlier.rules
    else:
        rules = _rules(client)
    rows = client.query("SELECT rule_id, hits FROM stats_mysql_query_rules")
    hits = {client.number(rule_id): client.number(hits) for rule_id, hits in rows}
    return RuleHitsSample(time.monotonic(), hits, rules, loads, loaded_at)


def _rules(client: AdminClient) -> dict[int, dict[str, Value]]:
    """Return the rules at RUNTIME, in the order in which ProxySQL tries them."""
    held = read_configuration(client, Layer.RUNTIME, [_RULES]).tables[_RULES]
    rules = [dict(zip(held.layout.names, row, strict=True)) for row in held.rows.values()]
    rules.sort(key=lambda cells: int(str(cells["rule_id"])))
    return {int(str(cells["rule_id"])): cells for cells in rules}


def _loaded(client: AdminClient) -> tuple[int | None, int | None]:
    """Return the number of LOADs of the rules, and the time of the last LOAD."""
    loads = read_loads(client, [_RULES])
    return (None, None) if loads is None else loads[0]


def read_loads(client: AdminClient, modules: Collection[str]) -> list[tuple[int, int]] | None:
    """Return the number of LOADs of modules and the time of each last LOAD, in order of names.

    ProxySQL counts LOADs unless an admin-checksum variable is false: then the version is 0, and
    this is None. Each start counts as one. `modules`: by their names in runtime_checksums_values.
    Raises: InstanceError.
    """
    names = ", ".join(map(literal, modules))
    rows = client.query(
        "SELECT version, epoch FROM runtime_checksums_values"
        f" WHERE name IN ({names}) ORDER BY name",
    )
    loads = [(client.number(version), client.number(epoch)) for version, epoch in rows]
    is_counted = len(loads) == len(modules) and all(version for version, _ in loads)
    return loads if is_counted else None
