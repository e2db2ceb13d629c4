"""The digests that cost most, read with one statement that ProxySQL sorts and limits.

A statement that names the digest table makes ProxySQL copy the whole table once, however often the
statement names it. Filter values are written in hexadecimal: ProxySQL searches the whole text of a
statement for table names, so a filter for the name of a `_reset` table would clear that table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from proxyctl.errors import InstanceError
from proxyctl.instance.client import AdminClient
from proxyctl.instance.read import read_configuration
from proxyctl.instance.sockets import TABLE_LIMIT
from proxyctl.proxysql.configuration import BeforeAfter
from proxyctl.routing.router import ROUTING_TABLES
from proxyctl.rows.row import Layer
from proxyctl.stats.model import TABLE_GROUPS, Group, Load, SeenDigest
from proxyctl.stats.read import DIGESTS, as_usual, incomplete, read_digest_variables, spellings
from proxyctl.stats.top.model import FIGURES, GroupSums, Sort, Top, TopOptions, TopRow
from proxyctl.stats.top.rank import top_rows

_GROUP, _TOTAL = "0", "1"

_SORT_KEYS = {
    Sort.TIME: "sum_time",
    Sort.AVG: "1.0 * sum_time / count_star",
    Sort.MAX: "max_time",
    Sort.COUNT: "count_star",
    Sort.ROWS_SENT: "sum_rows_sent",
    Sort.ROWS_AFFECTED: "sum_rows_affected",
    # NULL, for digests without rows, comes last.
    Sort.TIME_PER_ROW: "1.0 * sum_time / nullif(sum_rows_sent + sum_rows_affected, 0)",
}

Record = dict[str, str | None]


def read_top(client: AdminClient, options: TopOptions) -> Top:
    """Return the list, without the rules.

    Raises: InstanceError, also when ProxySQL answered with only a part of the rows.
    """
    variables = read_digest_variables(client)
    rows = client.query(top_statement(options), limit=TABLE_LIMIT, most_rows=options.limit + 1)
    *records, end = [dict(zip(_COLUMNS, row, strict=True)) for row in rows] or [{"kind": None}]
    if end["kind"] != _TOTAL:
        raise incomplete(client)
    total = Load(_int(end, "hostgroup"), _int(end, "min_time"), _int(end, "max_time"))
    longest = client.number(variables.get("mysql-query_digests_max_digest_length"))
    return Top(
        name=client.name,
        address=client.address,
        version=client.version_text,
        taken_at=_int(end, "last_seen"),
        options=options,
        rows=top_rows(
            [_sums(record, options.groups) for record in records],
            options.groups,
            total_time=total.sum_time,
            longest=longest,
        ),
        total=total,
        selected=Load(_int(end, "entries"), _int(end, "count_star"), _int(end, "sum_time")),
        groups=_int(end, "first_seen"),
        variables=variables,
    )


def with_rules(client: AdminClient, top: Top) -> Top:
    """Return a list grouped by RULE_GROUPS, with what the rules at RUNTIME do with each group.

    Raises: InstanceError; ProxyctlError for variables under which ProxySQL ends.
    """
    from proxyctl.stats.replay.comparison import Comparison  # slow to import

    now = read_configuration(client, Layer.RUNTIME, ROUTING_TABLES)
    comparison = Comparison(BeforeAfter(now, now), top.variables)
    return replace(
        top,
        rows=tuple(
            replace(row, outcomes=comparison.verdict(_seen(row)).before) for row in top.rows
        ),
    )


def _seen(row: TopRow) -> SeenDigest:
    """Return the group as a row of the table; unknown columns are 0 or ''."""
    cells: dict[str, Any] = dict.fromkeys(SeenDigest._fields, 0)
    cells |= {"client_address": "", "digest_text": row.sums.digest_text}
    cells |= {group.value: value for group, value in row.group.items()}
    return SeenDigest(**cells)


_COLUMNS = ("kind", "sort_key", *[group.value for group in TABLE_GROUPS], "digest_text", *FIGURES)


def top_statement(options: TopOptions) -> str:
    """Return the statement.

    Shape of the answer: _COLUMNS. The groups in order, then a last row with sums, which proves that
    the answer is whole: when a running SELECT fails, ProxySQL answers OK with a part of the rows.
    In the last row first_seen is the number of groups that pass the filters, last_seen the time;
    hostgroup, min_time and max_time are the rows, queries and time of the whole table.
    """
    order = f"sort_key DESC, sum_time DESC, {', '.join(options.groups)}"
    columns = [group if group in options.groups else "NULL" for group in TABLE_GROUPS]
    # Texts are long, so only listed groups fetch theirs, by the rowid of a row of the group.
    text = "NULL"
    if Group.DIGEST in options.groups:
        text = f"(SELECT digest_text FROM {DIGESTS} AS one WHERE one.rowid = a_row)"
    # Without a filter the groups are the whole table, so the sums need no second pass.
    whole = "grouped"
    if options.is_filtered:
        whole = (
            "(SELECT count(*) AS entries, sum(count_star) AS count_star,"
            f" sum(sum_time) AS sum_time FROM {DIGESTS})"
        )
    return (
        f"WITH grouped AS ({grouped(options)}),"
        f" top AS (SELECT *, {_SORT_KEYS[options.sort]} AS sort_key FROM grouped"
        f" ORDER BY {order} LIMIT {options.limit})"
        f" SELECT * FROM (SELECT {_GROUP} AS kind, sort_key, {', '.join(columns)}, {text},"
        f" {', '.join(FIGURES)} FROM top ORDER BY {order})"
        f" UNION ALL SELECT {_TOTAL}, NULL, NULL, whole.entries, NULL, NULL, NULL, NULL,"
        " selected.entries, selected.count_star, selected.groups, strftime('%s','now'),"
        " selected.sum_time, whole.count_star, whole.sum_time, NULL, NULL"
        " FROM (SELECT count(*) AS groups, sum(entries) AS entries,"
        " sum(count_star) AS count_star, sum(sum_time) AS sum_time FROM grouped) AS selected,"
        " (SELECT sum(entries) AS entries, sum(count_star) AS count_star,"
        f" sum(sum_time) AS sum_time FROM {whole}) AS whole"
    )


def grouped(options: TopOptions) -> str:
    """Return the SELECT that groups the rows, without columns into one group.

    `a_row` is the rowid of a row of the group.
    """
    names = ", ".join(options.groups)
    conditions, least = list(_filters(options)), list(_least(options))
    is_row = set(options.groups) == set(TABLE_GROUPS)
    if is_row:
        # These columns are the table's key: each row is a group, so grouping needs no sorting.
        conditions, least = conditions + least, []
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    if is_row:
        return (
            f"SELECT {names}, rowid AS a_row, 1 AS entries, count_star, first_seen, last_seen,"
            " sum_time, min_time, max_time, sum_rows_affected, sum_rows_sent"
            f" FROM {DIGESTS}{where}"
        )
    a_row = "max(rowid)" if Group.DIGEST in options.groups else "NULL"
    having = f" HAVING {' AND '.join(least)}" if least else ""
    by = f" GROUP BY {names}{having}" if names else ""
    return (
        f"SELECT {', '.join([*options.groups, f'{a_row} AS a_row'])}, count(*) AS entries,"
        " sum(count_star) AS count_star, min(first_seen) AS first_seen,"
        " max(last_seen) AS last_seen, sum(sum_time) AS sum_time,"
        " ifnull(min(nullif(min_time, 0)), 0) AS min_time, max(max_time) AS max_time,"
        " sum(sum_rows_affected) AS sum_rows_affected, sum(sum_rows_sent) AS sum_rows_sent"
        f" FROM {DIGESTS}{where}{by}"
    )


def _filters(options: TopOptions) -> Iterator[str]:
    """Yield the conditions on rows of the table."""
    for column, values in options.columns.items():
        if column is Group.HOSTGROUP:
            texts = [str(int(value)) for value in values]
        elif column is Group.DIGEST:
            texts = [hidden_literal(text) for value in values for text in spellings(str(value))]
        else:
            texts = [hidden_literal(str(value)) for value in values]
        yield f"{column} IN ({','.join(texts)})"
    if options.texts:
        likes = (
            f"digest_text LIKE {hidden_literal(like_pattern(text))} ESCAPE '|'"
            for text in options.texts
        )
        yield f"({' OR '.join(likes)})"
    if options.seen_s:
        yield f"last_seen >= strftime('%s','now') - {options.seen_s}"


def _least(options: TopOptions) -> Iterator[str]:
    """Yield the conditions on groups, or on rows if each row is a group."""
    is_row = set(options.groups) == set(TABLE_GROUPS)
    count, time = ("count_star", "sum_time") if is_row else ("sum(count_star)", "sum(sum_time)")
    if options.min_count:
        yield f"{count} >= {options.min_count}"
    if options.min_avg_us:
        yield f"{time} >= {options.min_avg_us} * {count}"


def like_pattern(text: str) -> str:
    """Return the LIKE pattern, escaped with `|`, for a text in which `%` matches anything.

    An underscore matches only itself, because table names are full of underscores.
    """
    return f"%{text.replace('|', '||').replace('_', '|_')}%"


def hidden_literal(text: str) -> str:
    """Return a text literal in which ProxySQL cannot find a table name."""
    return f"CAST(x'{text.encode('utf-8', 'surrogateescape').hex()}' AS TEXT)"


def _sums(record: Record, groups: Sequence[Group]) -> GroupSums:
    key = tuple(
        _int(record, group) if group is Group.HOSTGROUP else _text(record, group)
        for group in groups
    )
    figures = [_int(record, name) for name in FIGURES]
    return GroupSums._make((key, record["digest_text"], *figures, ()))


def _text(record: Record, name: str) -> str:
    text = record[name] or ""
    return as_usual(text) if name == Group.DIGEST else text


def _int(record: Record, name: str) -> int:
    text = record[name] or "0"
    try:
        return int(text)
    except ValueError as error:
        raise InstanceError(f"{DIGESTS}: {text[:40]!r} instead of a number in {name}") from error
