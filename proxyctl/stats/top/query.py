"""Reads a top list of stats_mysql_query_digest: one statement, sorted and cut off by ProxySQL.

Every statement that names the table makes ProxySQL copy all of it once, however often it is named
there. Filters are written in hexadecimal: ProxySQL looks for names of tables in the whole text of a
statement, and somebody who looks for a text with the name of a `_reset` table would clear it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING

from proxyctl.errors import InstanceError
from proxyctl.instance.client import AdminClient
from proxyctl.instance.read import read_configuration
from proxyctl.routing.router import ROUTING_TABLES
from proxyctl.routing.sides import Sides
from proxyctl.state.row import Layer
from proxyctl.state.sql import literal
from proxyctl.stats.model import Group, Load, SeenDigest
from proxyctl.stats.read import (
    DIGESTS,
    ROWS_SINCE,
    as_usual,
    incomplete,
    read_digest_variables,
    spellings,
)
from proxyctl.stats.top.listing import Caught, Sort, Top, TopOptions, TopRow

if TYPE_CHECKING:
    from proxyctl.stats.replay.comparison import Outcome

MOST_MEMBERS = 2_000
"""Rows of the table that are read to find the rules that catch them, those with most time."""

_GROUP, _MEMBER, _TOTAL = "0", "1", "2"

_SUMS = (
    "entries",
    "count_star",
    "first_seen",
    "last_seen",
    "sum_time",
    "min_time",
    "max_time",
    "sum_rows_affected",
    "sum_rows_sent",
)

_SORT_KEYS = {
    Sort.TIME: "sum_time",
    Sort.AVG: "1.0 * sum_time / count_star",
    Sort.MAX: "max_time",
    Sort.COUNT: "count_star",
    Sort.ROWS_SENT: "sum_rows_sent",
    Sort.ROWS_AFFECTED: "sum_rows_affected",
    # NULL, without a row, comes last.
    Sort.TIME_PER_ROW: "1.0 * sum_time / nullif(sum_rows_sent + sum_rows_affected, 0)",
}

Record = dict[str, str | None]

Members = list[tuple[tuple[str | int, ...], SeenDigest]]
"""Rows of the table, each with the group that it is in."""


def read_top(client: AdminClient, options: TopOptions) -> tuple[Top, Members]:
    """Return the list, without the rules; and with `with_rules` the rows it was made of.

    Raises: InstanceError, also where ProxySQL answered with a part only.
    """
    variables = read_digest_variables(client)
    statement = top_statement(options, has_rows=client.version >= ROWS_SINCE)
    records = [dict(zip(_COLUMNS, row, strict=True)) for row in client.query(statement)]
    if not records or records[-1]["kind"] != _TOTAL:
        raise incomplete(client)
    end = records[-1]
    total = Load(_int(end, "hostgroup"), _int(end, "min_time"), _int(end, "max_time"))
    selected = Load(_int(end, "entries"), _int(end, "count_star"), _int(end, "sum_time"))
    found = [one for one in records if one["kind"] == _GROUP]
    longest = client.number(variables.get("mysql-query_digests_max_digest_length"))
    sums = accumulate(_int(one, "sum_time") for one in found)
    top = Top(
        name=client.name,
        address=client.address,
        version=client.version_text,
        taken_at=_int(end, "last_seen"),
        options=options,
        rows=tuple(
            _row(one, options.groups, longest, total.sum_time, until)
            for one, until in zip(found, sums, strict=True)
        ),
        total=total,
        selected=selected,
        groups=_int(end, "first_seen"),
        variables=variables,
    )
    members = (_seen(one) for one in records if one["kind"] == _MEMBER)
    return top, [
        (tuple(getattr(one, group.value) for group in options.groups), one) for one in members
    ]


def with_rules(client: AdminClient, top: Top, members: Members) -> Top:
    """Return the list, each group with what the rules at RUNTIME do with its rows.

    A digest has no literals and no client's address: where that matters there are several outcomes.
    Raises: InstanceError; ProxyctlError for variables under which ProxySQL ends.
    """
    from proxyctl.stats.replay.comparison import Comparison  # takes its time

    now = read_configuration(client, Layer.RUNTIME, ROUTING_TABLES)
    comparison = Comparison(Sides(now, now), top.variables)
    loads: dict[tuple[str | int, ...], dict[tuple[Outcome, ...], Load]] = defaultdict(dict)
    for key, seen in members:
        outcomes = comparison.verdict(seen).before
        loads[key].setdefault(outcomes, Load()).add(seen)
    rows = []
    for row in top.rows:
        caught = [Caught(*one) for one in loads[tuple(row.group.values())].items()]
        caught.sort(key=lambda one: -one.load.count_star)
        rows.append(replace(row, caught=tuple(caught)))
    return replace(top, rows=tuple(rows))


_COLUMNS = ("kind", "sort_key", *[group.value for group in Group], "digest_text", *_SUMS)


def top_statement(options: TopOptions, *, has_rows: bool = True) -> str:
    """Return the statement. `has_rows`: whether the table counts rows sent and affected.

    Shape of the answer: _COLUMNS. Groups in order, then rows of the table, and at the very end one
    row with sums: ProxySQL answers OK with a part of the rows when a SELECT fails while it runs.
    Its first_seen is how many groups the filters left, last_seen the time; its hostgroup, min_time
    and max_time are rows, queries and time of the whole table.
    """
    where = " WHERE " + " AND ".join(conditions) if (conditions := list(_filters(options))) else ""
    names = ", ".join(options.groups)
    order = f"sort_key DESC, sum_time DESC, {names}"
    parts = [
        f"WITH grouped AS ({_grouped(options, where, has_rows=has_rows)}),"
        f" top AS (SELECT *, {_SORT_KEYS[options.sort]} AS sort_key FROM grouped"
        f" ORDER BY {order} LIMIT {options.limit})",
        f"SELECT * FROM (SELECT {_GROUP} AS kind, sort_key, {_group_columns(options.groups)},"
        f" {', '.join(f'top.{name}' for name in _SUMS)} FROM {_with_text(options.groups)}"
        f" ORDER BY sort_key DESC, top.sum_time DESC,"
        f" {', '.join(f'top.{group}' for group in options.groups)})",
    ]
    if options.with_rules:
        parts.append(f"UNION ALL {_members(options, where, has_rows=has_rows)}")
    # Without a filter the groups are the whole table: it need not be gone through once more.
    whole = "grouped"
    if options.is_filtered:
        whole = (
            "(SELECT count(*) AS entries, sum(count_star) AS count_star,"
            f" sum(sum_time) AS sum_time FROM {DIGESTS})"
        )
    parts.append(
        f"UNION ALL SELECT {_TOTAL}, NULL, NULL, whole.entries, NULL, NULL, NULL, NULL,"
        " selected.entries, selected.count_star, selected.groups, strftime('%s','now'),"
        " selected.sum_time, whole.count_star, whole.sum_time, NULL, NULL"
        " FROM (SELECT count(*) AS groups, sum(entries) AS entries,"
        " sum(count_star) AS count_star, sum(sum_time) AS sum_time FROM grouped) AS selected,"
        " (SELECT sum(entries) AS entries, sum(count_star) AS count_star,"
        f" sum(sum_time) AS sum_time FROM {whole}) AS whole"
    )
    return " ".join(parts)


def _grouped(options: TopOptions, where: str, *, has_rows: bool) -> str:
    """Return the SELECT that groups the rows."""
    sent, affected = ("sum_rows_sent", "sum_rows_affected") if has_rows else ("0", "0")
    names = ", ".join(options.groups)
    least = list(_least(options))
    if set(options.groups) == set(Group):
        # That is the table's key: each row is a group, and needs no sorting to be found.
        if least:
            where = f"{where} AND " if where else " WHERE "
            where += " AND ".join(least)
        return (
            f"SELECT {names}, rowid AS a_row, 1 AS entries, count_star, first_seen, last_seen,"
            f" sum_time, min_time, max_time, {affected} AS sum_rows_affected,"
            f" {sent} AS sum_rows_sent FROM {DIGESTS}{where}"
        )
    a_row = "max(rowid)" if Group.DIGEST in options.groups else "NULL"
    having = f" HAVING {' AND '.join(least)}" if least else ""
    return (
        f"SELECT {names}, {a_row} AS a_row, count(*) AS entries,"
        " sum(count_star) AS count_star, min(first_seen) AS first_seen,"
        " max(last_seen) AS last_seen, sum(sum_time) AS sum_time,"
        " ifnull(min(nullif(min_time, 0)), 0) AS min_time, max(max_time) AS max_time,"
        f" sum({affected}) AS sum_rows_affected, sum({sent}) AS sum_rows_sent"
        f" FROM {DIGESTS}{where} GROUP BY {names}{having}"
    )


def _members(options: TopOptions, where: str, *, has_rows: bool) -> str:
    """Return the SELECT of the table's rows that the list is made of."""
    rows = {} if has_rows else {"sum_rows_affected": "0", "sum_rows_sent": "0"}
    fields = ", ".join(
        {"entries": "1", **rows}.get(name, f"one.{name}")
        for name in (*Group, "digest_text", *_SUMS)
    )
    joined = " AND ".join(f"one.{group} = top.{group}" for group in options.groups)
    # CROSS JOIN: SQLite goes through the table once, and does not make an index of it first.
    return (
        f"SELECT * FROM (SELECT {_MEMBER}, NULL, {fields}"
        f" FROM (SELECT * FROM {DIGESTS}{where}) AS one CROSS JOIN top ON {joined}"
        f" ORDER BY one.sum_time DESC LIMIT {MOST_MEMBERS})"
    )


def _with_text(groups: Sequence[Group]) -> str:
    """Return what the list is read from.

    Texts are long: they are fetched for what is listed, by the number of one of its rows.
    """
    if Group.DIGEST not in groups:
        return "top"
    return f"top JOIN {DIGESTS} AS text ON text.rowid = top.a_row"


def _group_columns(groups: Sequence[Group]) -> str:
    columns = [f"top.{group}" if group in groups else "NULL" for group in Group]
    return ", ".join([*columns, "text.digest_text" if Group.DIGEST in groups else "NULL"])


def _filters(options: TopOptions) -> Iterator[str]:
    """Yield the conditions on rows of the table."""
    if options.hostgroups:
        yield f"hostgroup IN ({','.join(map(literal, options.hostgroups))})"
    for column, values in (
        ("schemaname", options.schemanames),
        ("username", options.usernames),
        ("client_address", options.client_addresses),
        ("digest", [text for digest in options.digests for text in spellings(digest)]),
    ):
        if values:
            yield f"{column} IN ({','.join(map(hidden_literal, values))})"
    if options.texts:
        likes = (
            f"digest_text LIKE {hidden_literal(like_pattern(text))} ESCAPE '|'"
            for text in options.texts
        )
        yield f"({' OR '.join(likes)})"
    if since := options.seen_since:
        before_now = "strftime('%s','now') - " if since.is_ago else ""
        yield f"last_seen >= {before_now}{since.seconds}"


def _least(options: TopOptions) -> Iterator[str]:
    """Yield the conditions on groups, or on rows where each is a group."""
    is_row = set(options.groups) == set(Group)
    count, time = ("count_star", "sum_time") if is_row else ("sum(count_star)", "sum(sum_time)")
    if options.min_count:
        yield f"{count} >= {options.min_count}"
    if options.min_avg_us:
        yield f"{time} >= {options.min_avg_us} * {count}"


def like_pattern(text: str) -> str:
    """Return the LIKE pattern, escaped by `|`, of a text in which `%` stands for anything.

    An underscore is itself: names of tables are full of them.
    """
    return f"%{text.replace('|', '||').replace('_', '|_')}%"


def hidden_literal(text: str) -> str:
    """Return a text literal in which ProxySQL finds no name of a table."""
    return f"CAST(x'{text.encode('utf-8', 'surrogateescape').hex()}' AS TEXT)"


def _row(record: Record, groups: Sequence[Group], longest: int, total: int, until: int) -> TopRow:
    text = record["digest_text"]
    return TopRow(
        group={
            group: _int(record, group) if group is Group.HOSTGROUP else _text(record, group)
            for group in groups
        },
        digest_text=text,
        is_cut=bool(text and longest and len(text.encode("utf-8", "surrogateescape")) >= longest),
        **{name: _int(record, name) for name in _SUMS},  # type: ignore[arg-type]
        share=_int(record, "sum_time") / total if total else 0.0,
        cumulative_share=until / total if total else 0.0,
    )


def _seen(record: Record) -> SeenDigest:
    texts = {*Group, "digest_text"} - {Group.HOSTGROUP}
    return SeenDigest(
        **{
            name: _text(record, name) if name in texts else _int(record, name)
            for name in SeenDigest._fields
        }  # type: ignore[arg-type]
    )


def _text(record: Record, name: str) -> str:
    text = record[name] or ""
    return as_usual(text) if name == Group.DIGEST else text


def _int(record: Record, name: str) -> int:
    text = record[name] or "0"
    try:
        return int(text)
    except ValueError as error:
        raise InstanceError(f"{DIGESTS}: {text[:40]!r} instead of a number in {name}") from error
