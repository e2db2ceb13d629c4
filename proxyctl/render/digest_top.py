"""Renders the digests that cost most: on a terminal two lines per digest, figures and text.

The other formats have one line or object per digest; CSV and JSON have the same values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import attrgetter, itemgetter
from typing import Any

from proxyctl.render.encode import ABSENT, INSTANCE, Shape
from proxyctl.render.fleet import FAILED
from proxyctl.render.replay import EVENTS, OUTCOME, outcomes_text
from proxyctl.render.style import (
    PLAIN,
    WIDTH,
    Style,
    listed_names,
    moment,
    seen_hostgroup,
    shown,
    wrapped,
)
from proxyctl.render.table import TableColumn, aligned, csv_text, inline, markdown_table
from proxyctl.stats.events.top import PERCENTS, EventRow, TopOfEvents
from proxyctl.stats.model import CACHE, Group, Load
from proxyctl.stats.top.fleet import TopOfFleet
from proxyctl.stats.top.model import FIGURES, CountedInstance, Ranking, Top, TopRow
from proxyctl.stats.units import number_text, share_text, time_text
from proxyctl.text import counted

_INDENT = 4
_LONGEST_IN_TICKET = 300
EMPTY = "No digests: ProxySQL has counted no queries since it started or was reset."
NO_EVENTS = "No queries in the event log."
NOTHING_LEFT = "No digest passes the filters."

Ranked = tuple[int, TopRow]
"""The place of a row in the list, from 1, and the row."""

_COLUMNS: tuple[TableColumn[Ranked], ...] = (
    TableColumn("#", lambda ranked: str(ranked[0])),
    TableColumn("share", lambda ranked: share_text(ranked[1].share)),
    TableColumn("cum.", lambda ranked: share_text(ranked[1].cumulative_share)),
    TableColumn("total", lambda ranked: time_text(ranked[1].sums.sum_time)),
    TableColumn("queries", lambda ranked: f"{ranked[1].sums.count_star:,}"),
    TableColumn("avg", lambda ranked: time_text(ranked[1].sums.avg_time)),
    TableColumn("max", lambda ranked: time_text(ranked[1].sums.max_time)),
    TableColumn("rows/q", lambda ranked: number_text(ranked[1].sums.rows_per_query)),
    TableColumn("time/row", lambda ranked: _time_per_row_text(ranked[1].sums.time_per_row)),
)


def _time_per_row_text(time: float | None) -> str:
    return "-" if time is None else time_text(time)


_EVENT_COLUMNS: tuple[TableColumn[Ranked], ...] = (
    *(
        TableColumn[Ranked](f"p{percent}", lambda ranked, p=percent: _percentile_text(ranked[1], p))  # type: ignore[misc]
        for percent in PERCENTS
    ),
    TableColumn("errors", lambda ranked: _failed_text(ranked[1])),
)


def _percentile_text(row: TopRow, percent: int) -> str:
    return time_text(row.percentiles[percent]) if isinstance(row, EventRow) else ""


def _failed_text(row: TopRow) -> str:
    failed = row.failed if isinstance(row, EventRow) else None
    return "unknown" if failed is None else f"{failed:,}"


# -- Text.


def digest_top_text(
    top: Ranking,
    heading: str,
    style: Style = PLAIN,
    *,
    width: int = WIDTH,
    has_whole_texts: bool = False,
) -> str:
    """Render the list in lines of `width`, under a heading that says where digests were counted.

    `has_whole_texts`: do not shorten texts.
    """
    lines = [style("bold", heading)]
    lines += [line for note in top.notes() for line in wrapped(f"note: {note}", width)]
    if not top.total.entries:
        return "\n".join([*lines, _empty(top)]) + "\n"
    for text in _summary(top).splitlines():
        lines += wrapped(text, width)
    if not top.rows:
        return "\n".join([*lines, "", NOTHING_LEFT]) + "\n"
    head, *figures = aligned([*_columns(top)], enumerate(top.rows, 1))
    lines += ["", style("dim", head)]
    for row, line in zip(top.rows, figures, strict=True):
        label = "  ".join(_labels(row, top))
        lines += _figures_and_label(line, label, width)
        if row.sums.digest_text is not None:
            limit = None if has_whole_texts else width - _INDENT
            mark = "~ " if isinstance(row, EventRow) and not row.is_text_proven else ""
            lines.append(" " * _INDENT + mark + shown(row.sums.digest_text, limit=limit))
        if row.is_cut:
            lines.append(" " * _INDENT + "(cut by mysql-query_digests_max_digest_length)")
        if isinstance(row, EventRow):
            lines += _event_lines(row, width, has_whole_texts=has_whole_texts)
        if rule := _rule_text(row, top.hostgroup_names):
            lines += wrapped(rule, width, first=" " * _INDENT, then=" " * (_INDENT + 3))
    if top.groups > len(top.rows):
        lines.append(f"... and {top.groups - len(top.rows):,} more (--limit lists more)")
    return "\n".join(lines) + "\n"


def _empty(top: Ranking) -> str:
    return NO_EVENTS if isinstance(top, TopOfEvents) else EMPTY


def _event_lines(row: EventRow, width: int, *, has_whole_texts: bool) -> Iterator[str]:
    """Yield the errors of a group of logged queries, and its example if it has one."""
    if errors := errors_text(row):
        yield from wrapped(f"errors: {errors}", width, first=" " * _INDENT, then=" " * _INDENT * 2)
    if row.example is not None:
        limit = None if has_whole_texts else width - _INDENT - len("slowest: ")
        yield f"{' ' * _INDENT}slowest: {shown(row.example, limit=limit)}"


def errors_text(row: EventRow) -> str:
    """Return the failed queries of a group by errno: `1062 x 3, 9001 x 1`."""
    return ", ".join(f"{errno} x {count:,}" for errno, count in row.errors.items())


def _columns(top: Ranking) -> Iterator[TableColumn[Ranked]]:
    """Yield the columns of figures; of many instances also how many counted the group."""
    if isinstance(top, TopOfEvents):
        # A terminal has no room for all.
        yield from (column for column in _COLUMNS if column.title not in ("cum.", "time/row"))
        yield from _EVENT_COLUMNS
    else:
        yield from _COLUMNS
    if top.instances and Group.INSTANCE not in top.options.groups:
        yield TableColumn("instances", lambda ranked: str(len(ranked[1].sums.instances)))


def _labels(row: TopRow, top: Ranking) -> Iterator[str]:
    """Yield the group, and the instances that counted it unless all did."""
    yield from group_texts(row.group, top.hostgroup_names)
    if len(row.sums.instances) < len(top.instances) and Group.INSTANCE not in row.group:
        yield f"on {listed_names(row.sums.instances)}"


def _summary(top: Ranking) -> str:
    """Return the load of the whole table, and of the part that passes the filters."""
    total, selected = top.total, top.selected
    whole = f"{counted(total.count_star, 'query')}, {time_text(total.sum_time)} of query time"
    if not isinstance(top, TopOfEvents):
        whole = f"{counted(total.entries, 'entry')}, {whole}"
    elif top.rows:
        whole += f", {moment(top.first_seen)} to {moment(top.last_seen)}"
    how = f"by {', '.join(top.options.groups)}, first by {top.options.sort}"
    if not top.options.is_filtered:
        return f"{whole}; {how}"
    part = share_text(selected.sum_time / total.sum_time) if total.sum_time else share_text(0)
    left = f"the filters leave {counted(selected.count_star, 'query')} with {part} of that time"
    return f"{whole};\n{left}; {how}"


def group_texts(group: Mapping[Group, str | int], names: Mapping[int, str]) -> Iterator[str]:
    """Yield the values of a group with their column names, except a digest and the cache."""
    for column, value in group.items():
        text = seen_hostgroup(int(value), names) if column is Group.HOSTGROUP else shown(value)
        yield text if column is Group.DIGEST or value == CACHE else f"{column} {text}"


def _rule_text(row: TopRow, names: Mapping[int, str]) -> str:
    """Return what the rules in force do with a group; '' if not requested."""
    if row.outcomes is None:
        return ""
    return f"-> {outcomes_text(row.outcomes, names, 'hostgroup ') or 'undecided'}"


def _figures_and_label(figures: str, label: str, width: int) -> list[str]:
    """Return figures and their label on one line, or the label below if it does not fit."""
    if len(figures) + 2 + len(label) <= width:
        return [f"{figures}  {label}".rstrip()]
    return [figures, " " * _INDENT + label]


# -- Markdown, CSV and JSON.


def digest_top_markdown(top: Ranking, heading: str) -> str:
    """Render the list as Markdown, to paste into a ticket."""
    lines = [f"**Digests** of {inline(heading)}", ""]
    lines += [f"Note: {inline(note)}\n" for note in top.notes()]
    if not top.rows:
        return "\n".join([*lines, NOTHING_LEFT if top.total.entries else _empty(top)]) + "\n"

    def label(ranked: Ranked) -> str:
        return ", ".join(_labels(ranked[1], top))

    columns = [*_columns(top), TableColumn("of", label, is_number=False)]
    if Group.DIGEST in top.options.groups:
        columns.append(TableColumn("text", _ticket_text, is_number=False))
    if top.rows[0].outcomes is not None:
        rules = TableColumn[Ranked](
            "rules", lambda ranked: _rule_text(ranked[1], top.hostgroup_names), is_number=False
        )
        columns.append(rules)
    table = markdown_table(columns, enumerate(top.rows, 1))
    return "\n".join([*lines, f"{inline(_summary(top))}.", "", *table]) + "\n"


def _ticket_text(ranked: Ranked) -> str:
    return shown(ranked[1].sums.digest_text or "", limit=_LONGEST_IN_TICKET)


_FIGURES = (
    "count_star sum_time min_time max_time avg_time share cumulative_share sum_rows_affected"
    " sum_rows_sent time_per_row first_seen last_seen entries"
)


def digest_top_csv(top: Ranking) -> str:
    """Render the list as CSV, with the column names in the first line."""
    names = [*top.options.groups, *_FIGURES.split()]
    if Group.DIGEST in top.options.groups:
        names.append("digest_text")
    columns = _columns_named(names)
    if isinstance(top, TopOfEvents):
        columns += _CSV_OF_EVENTS
    if top.instances:
        columns.append(TableColumn("instances", str, lambda row: " ".join(row["instances"])))
    return csv_text(columns, [_encoded(row) for row in top.rows])


def _columns_named(names: Iterable[str]) -> list[TableColumn[dict[str, Any]]]:
    return [TableColumn(name, str, itemgetter(name)) for name in names]


_CSV_OF_EVENTS: list[TableColumn[dict[str, Any]]] = [
    *_columns_named(f"p{percent}" for percent in PERCENTS),
    TableColumn(
        "errors",
        str,
        lambda row: " ".join(f"{errno}:{count}" for errno, count in row["errors"].items()),
    ),
    TableColumn("without_errno", str, itemgetter("without_errno")),
    TableColumn("example", str, lambda row: row.get("example", "")),
]


def _encoded(row: TopRow) -> dict[str, Any]:
    return EVENT_ROW.encode(row) if isinstance(row, EventRow) else ROW.encode(row)


def _group_of(group: Group) -> Callable[[TopRow], object]:
    return lambda row: row.group.get(group, ABSENT)


RANKING_KEYS = "group sort total selected notes digests"
RANKING: dict[str, Callable[[Ranking], object]] = {
    "group": lambda top: top.options.groups,
    "sort": lambda top: top.options.sort,
    "total": lambda top: LOAD.encode(top.total),
    "selected": lambda top: SELECTED.encode(top.selected, groups=top.groups),
    "notes": lambda top: top.notes(),
    "digests": lambda top: [_encoded(row) for row in top.rows],
}
"""The keys that every list has, wherever its digests were counted, and their values."""
TOP: Shape[Top] = Shape("digest top", f"{INSTANCE} taken_at {RANKING_KEYS}", **RANKING)
TOP_OF_FLEET: Shape[TopOfFleet] = Shape(
    "digest top of a fleet",
    f"instances failed {RANKING_KEYS}",
    instances=lambda top: COUNTED.each(top.instances),
    failed=lambda top: FAILED.each(top.failed),
    **RANKING,
)
TOP_OF_EVENTS: Shape[TopOfEvents] = Shape(
    "digest top of an event log",
    f"events first_seen last_seen {RANKING_KEYS}",
    events=lambda top: EVENTS.encode(top.events),
    **RANKING,
)
COUNTED: Shape[CountedInstance] = Shape(
    "instance of a list of digests",
    f"{INSTANCE} taken_at total",
    total=lambda instance: LOAD.encode(instance.total),
)
LOAD: Shape[Load] = Shape("load", "entries count_star sum_time")
SELECTED: Shape[Load] = LOAD.extended("selected load", "groups")
_ROW_KEYS = f"{' '.join(Group)} digest_text is_cut {_FIGURES}"
_ROW: dict[str, Callable[[TopRow], object]] = {
    **{group.value: _group_of(group) for group in Group},
    **{name: attrgetter(f"sums.{name}") for name in FIGURES},
    "digest_text": lambda row: ABSENT if row.sums.digest_text is None else row.sums.digest_text,
    "is_cut": lambda row: ABSENT if row.sums.digest_text is None else row.is_cut,
    "avg_time": lambda row: round(row.sums.avg_time, 3),
    "share": lambda row: round(row.share, 6),
    "cumulative_share": lambda row: round(row.cumulative_share, 6),
    "time_per_row": lambda row: row.sums.time_per_row and round(row.sums.time_per_row, 3),
}
ROW: Shape[TopRow] = Shape(
    "group of digests",
    f"{_ROW_KEYS} instances rules",
    instances=lambda row: list(row.sums.instances) or ABSENT,
    rules=lambda row: ABSENT if row.outcomes is None else OUTCOME.each(row.outcomes),
    **_ROW,
)
EVENT_ROW: Shape[EventRow] = Shape(
    "group of logged queries",
    f"{_ROW_KEYS} p50 p95 p99 errors without_errno is_text_proven example",
    p50=lambda row: round(row.percentiles[50], 3),
    p95=lambda row: round(row.percentiles[95], 3),
    p99=lambda row: round(row.percentiles[99], 3),
    errors=lambda row: {str(errno): count for errno, count in row.errors.items()},
    is_text_proven=lambda row: ABSENT if row.sums.digest_text is None else row.is_text_proven,
    example=lambda row: ABSENT if row.example is None else row.example,
    **_ROW,
)
