"""The digests that cost most: one statement, sorted and cut off by ProxySQL.

Every statement that names the table makes ProxySQL copy all of it once, however often it is named
there. Filters are written in hexadecimal: ProxySQL looks for names of tables in the whole text of a
statement, and somebody who looks for a text with the name of a `_reset` table would clear it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from proxyctl.errors import InstanceError
from proxyctl.instance.client import AdminClient
from proxyctl.instance.read import read_configuration
from proxyctl.routing.router import ROUTING_TABLES
from proxyctl.routing.sides import Sides
from proxyctl.state.row import Layer
from proxyctl.stats.model import (
    NOT_COUNTING,
    TRACKS_CLIENTS,
    Group,
    Load,
    SeenDigest,
    is_counting,
    tracks_clients,
)
from proxyctl.stats.read import DIGESTS, as_usual, incomplete, read_digest_variables, spellings

if TYPE_CHECKING:
    from proxyctl.stats.replay.comparison import Outcome


class Sort(StrEnum):
    """What is listed first. Shares of the load have the order of `time`."""

    TIME = "time"
    AVG = "avg"
    MAX = "max"
    COUNT = "count"
    ROWS_SENT = "rows-sent"
    ROWS_AFFECTED = "rows-affected"
    TIME_PER_ROW = "time-per-row"


@dataclass(frozen=True)
class TopOptions:
    """What to list.

    Shape: `columns`, `texts` and `seen_s` choose rows of the table before they are put
    together, `min_count` and `min_avg_us` what came of that. One of the values of a column has to
    fit, if there are any; a text is looked for without regard to upper and lower case, with `%` for
    any run of characters. Units: `seen_s` seconds before the instance's now.
    """

    sort: Sort = Sort.TIME
    groups: tuple[Group, ...] = (Group.DIGEST,)
    limit: int = 20
    columns: Mapping[Group, Sequence[str | int]] = field(default_factory=dict)
    texts: tuple[str, ...] = ()
    seen_s: int = 0
    min_count: int = 0
    min_avg_us: int = 0

    @property
    def is_filtered(self) -> bool:
        """Whether a filter may leave something out."""
        return self != TopOptions(sort=self.sort, groups=self.groups, limit=self.limit)


RULE_GROUPS = (Group.DIGEST, Group.SCHEMANAME, Group.USERNAME)
"""What has to be told apart to see which rule catches a query."""


@dataclass(frozen=True)
class TopRow:
    """Grouped rows of the table, by the table's own column names.

    Shape: `group` has a value for each column that was grouped by, '' and -1 as they stand.
    `digest_text` is None unless grouped by digest. `entries` is how many rows were put together.
    `min_time` is the smallest that is not 0. `share` is the part of the whole instance's query
    time, `cumulative_share` that of this row and those above it. `outcomes` are what the rules in
    force make of it, if that was asked: several where a digest does not tell, none if unknown.
    Units: first_seen and last_seen in unix seconds, times in microseconds.
    """

    group: Mapping[Group, str | int]
    digest_text: str | None
    is_cut: bool
    entries: int
    count_star: int
    first_seen: int
    last_seen: int
    sum_time: int
    min_time: int
    max_time: int
    sum_rows_affected: int
    sum_rows_sent: int
    share: float
    cumulative_share: float
    outcomes: tuple[Outcome, ...] | None = None

    @property
    def avg_time(self) -> float:
        """Time of a query in microseconds."""
        return self.sum_time / self.count_star if self.count_star else 0.0

    @property
    def time_per_row(self) -> float | None:
        """Time of a row sent or affected in microseconds; None where there were none."""
        rows = self.sum_rows_sent + self.sum_rows_affected
        return self.sum_time / rows if rows else None

    @property
    def rows_per_query(self) -> float:
        """Rows of a query."""
        return (self.sum_rows_sent + self.sum_rows_affected) / max(self.count_star, 1)


@dataclass(frozen=True)
class Top:
    """The list, and what it is a part of.

    `total` is the whole table, `selected` what the filters left, in `groups` groups; `rows` are at
    most `options.limit` of those. `variables` are those of mysql-query_digests in force,
    `hostgroup_names` those of the files, by number.
    Units: `taken_at` in unix seconds of the instance's clock.
    """

    name: str
    address: str
    version: str
    taken_at: int
    options: TopOptions
    rows: tuple[TopRow, ...]
    total: Load
    selected: Load
    groups: int
    variables: Mapping[str, str] = field(default_factory=dict)
    hostgroup_names: Mapping[int, str] = field(default_factory=dict)

    def notes(self) -> list[str]:
        """Return what a reader of the list has to know."""
        found = []
        if not is_counting(self.variables):
            earlier = "; what is listed is from before it was switched off"
            found.append(NOT_COUNTING + (earlier if self.total.entries else ""))
        asked = (*self.options.groups, *self.options.columns)
        if Group.CLIENT_ADDRESS in asked and not tracks_clients(self.variables):
            found.append(f"{TRACKS_CLIENTS} is false: clients are not told apart")
        return found


# Reading it ----------------------------------------------------------------------------------
_GROUP, _TOTAL = "0", "1"

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


def read_top(client: AdminClient, options: TopOptions) -> Top:
    """Return the list, without the rules.

    Raises: InstanceError, also where ProxySQL answered with a part only.
    """
    variables = read_digest_variables(client)
    rows = client.query(top_statement(options))
    *found, end = [dict(zip(_COLUMNS, row, strict=True)) for row in rows] or [{"kind": None}]
    if end["kind"] != _TOTAL:
        raise incomplete(client)
    total = Load(_int(end, "hostgroup"), _int(end, "min_time"), _int(end, "max_time"))
    longest = client.number(variables.get("mysql-query_digests_max_digest_length"))
    sums = accumulate(_int(one, "sum_time") for one in found)
    return Top(
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
        selected=Load(_int(end, "entries"), _int(end, "count_star"), _int(end, "sum_time")),
        groups=_int(end, "first_seen"),
        variables=variables,
    )


def with_rules(client: AdminClient, top: Top) -> Top:
    """Return a list by RULE_GROUPS, each group with what the rules at RUNTIME do with it.

    Raises: InstanceError; ProxyctlError for variables under which ProxySQL ends.
    """
    from proxyctl.stats.replay.comparison import Comparison  # takes its time

    now = read_configuration(client, Layer.RUNTIME, ROUTING_TABLES)
    comparison = Comparison(Sides(now, now), top.variables)
    return replace(
        top,
        rows=tuple(
            replace(row, outcomes=comparison.verdict(_seen(row)).before) for row in top.rows
        ),
    )


def _seen(row: TopRow) -> SeenDigest:
    """Return the group as a row of the table; what it does not tell is 0 or ''."""
    cells: dict[str, Any] = dict.fromkeys(SeenDigest._fields, 0)
    cells |= {"client_address": "", "digest_text": row.digest_text}
    cells |= {group.value: value for group, value in row.group.items()}
    return SeenDigest(**cells)


_COLUMNS = ("kind", "sort_key", *[group.value for group in Group], "digest_text", *_SUMS)


def top_statement(options: TopOptions) -> str:
    """Return the statement.

    Shape of the answer: _COLUMNS. Groups in order, and at the very end one row with sums: ProxySQL
    answers OK with a part of the rows when a SELECT fails while it runs. Its first_seen is how many
    groups the filters left, last_seen the time; its hostgroup, min_time and max_time are rows,
    queries and time of the whole table.
    """
    order = f"sort_key DESC, sum_time DESC, {', '.join(options.groups)}"
    columns = [group if group in options.groups else "NULL" for group in Group]
    # Texts are long: they are fetched for what is listed, by the number of one of its rows.
    text = "NULL"
    if Group.DIGEST in options.groups:
        text = f"(SELECT digest_text FROM {DIGESTS} AS one WHERE one.rowid = a_row)"
    # Without a filter the groups are the whole table: it need not be gone through once more.
    whole = "grouped"
    if options.is_filtered:
        whole = (
            "(SELECT count(*) AS entries, sum(count_star) AS count_star,"
            f" sum(sum_time) AS sum_time FROM {DIGESTS})"
        )
    return (
        f"WITH grouped AS ({_grouped(options)}),"
        f" top AS (SELECT *, {_SORT_KEYS[options.sort]} AS sort_key FROM grouped"
        f" ORDER BY {order} LIMIT {options.limit})"
        f" SELECT * FROM (SELECT {_GROUP} AS kind, sort_key, {', '.join(columns)}, {text},"
        f" {', '.join(_SUMS)} FROM top ORDER BY {order})"
        f" UNION ALL SELECT {_TOTAL}, NULL, NULL, whole.entries, NULL, NULL, NULL, NULL,"
        " selected.entries, selected.count_star, selected.groups, strftime('%s','now'),"
        " selected.sum_time, whole.count_star, whole.sum_time, NULL, NULL"
        " FROM (SELECT count(*) AS groups, sum(entries) AS entries,"
        " sum(count_star) AS count_star, sum(sum_time) AS sum_time FROM grouped) AS selected,"
        " (SELECT sum(entries) AS entries, sum(count_star) AS count_star,"
        f" sum(sum_time) AS sum_time FROM {whole}) AS whole"
    )


def _grouped(options: TopOptions) -> str:
    """Return the SELECT that groups the rows."""
    names = ", ".join(options.groups)
    conditions, least = list(_filters(options)), list(_least(options))
    is_row = set(options.groups) == set(Group)
    if is_row:
        # That is the table's key: each row is a group, and needs no sorting to be found.
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
    return (
        f"SELECT {names}, {a_row} AS a_row, count(*) AS entries,"
        " sum(count_star) AS count_star, min(first_seen) AS first_seen,"
        " max(last_seen) AS last_seen, sum(sum_time) AS sum_time,"
        " ifnull(min(nullif(min_time, 0)), 0) AS min_time, max(max_time) AS max_time,"
        " sum(sum_rows_affected) AS sum_rows_affected, sum(sum_rows_sent) AS sum_rows_sent"
        f" FROM {DIGESTS}{where} GROUP BY {names}{having}"
    )


def _filters(options: TopOptions) -> Iterator[str]:
    """Yield the conditions on rows of the table."""
    for column, values in options.columns.items():
        if column is Group.HOSTGROUP:
            texts = [str(int(value)) for value in values]
        elif column is Group.DIGEST:
            texts = [hidden_literal(text) for one in values for text in spellings(str(one))]
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


def _text(record: Record, name: str) -> str:
    text = record[name] or ""
    return as_usual(text) if name == Group.DIGEST else text


def _int(record: Record, name: str) -> int:
    text = record[name] or "0"
    try:
        return int(text)
    except ValueError as error:
        raise InstanceError(f"{DIGESTS}: {text[:40]!r} instead of a number in {name}") from error
