"""Renders the digests that cost most: on a terminal two lines per digest, figures and text.

The other formats have one line or object per digest; CSV and JSON have the same values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from operator import itemgetter
from typing import Any

from proxyctl.errors import counted
from proxyctl.render.encode import ABSENT, INSTANCE, Shape
from proxyctl.render.fleet import FAILED
from proxyctl.render.replay import OUTCOME, outcomes_text
from proxyctl.render.style import (
    PLAIN,
    WIDTH,
    Style,
    listed_names,
    seen_hostgroup,
    shown,
    wrapped,
)
from proxyctl.render.table import TableColumn, aligned, csv_text, inline, markdown_table
from proxyctl.stats.model import CACHE, Group, Load
from proxyctl.stats.top.fleet import TopOfFleet
from proxyctl.stats.top.model import CountedInstance, Ranking, Top, TopRow
from proxyctl.stats.units import number_text, share_text, time_text

_INDENT = 4
_LONGEST_IN_TICKET = 300
EMPTY = "No digests: ProxySQL has counted no queries since it started or was reset."
NOTHING_LEFT = "No digest passes the filters."

Ranked = tuple[int, TopRow]
"""The place of a row in the list, from 1, and the row."""

_COLUMNS: tuple[TableColumn[Ranked], ...] = (
    TableColumn("#", lambda one: str(one[0])),
    TableColumn("share", lambda one: share_text(one[1].share)),
    TableColumn("cum.", lambda one: share_text(one[1].cumulative_share)),
    TableColumn("total", lambda one: time_text(one[1].sum_time)),
    TableColumn("queries", lambda one: f"{one[1].count_star:,}"),
    TableColumn("avg", lambda one: time_text(one[1].avg_time)),
    TableColumn("max", lambda one: time_text(one[1].max_time)),
    TableColumn("rows/q", lambda one: number_text(one[1].rows_per_query)),
    TableColumn(
        "time/row",
        lambda one: "-" if one[1].time_per_row is None else time_text(one[1].time_per_row),
    ),
)


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
        return "\n".join([*lines, EMPTY]) + "\n"
    for text in _summary(top).splitlines():
        lines += wrapped(text, width)
    if not top.rows:
        return "\n".join([*lines, "", NOTHING_LEFT]) + "\n"
    head, *figures = aligned([*_columns(top)], enumerate(top.rows, 1))
    lines += ["", style("dim", head)]
    for row, line in zip(top.rows, figures, strict=True):
        label = "  ".join(_labels(row, top))
        lines += _figures_and_label(line, label, width)
        if row.digest_text is not None:
            limit = None if has_whole_texts else width - _INDENT
            lines.append(" " * _INDENT + shown(row.digest_text, limit=limit))
        if row.is_cut:
            lines.append(" " * _INDENT + "(cut by mysql-query_digests_max_digest_length)")
        if rule := _rule_text(row, top.hostgroup_names):
            lines += wrapped(rule, width, first=" " * _INDENT, then=" " * (_INDENT + 3))
    if top.groups > len(top.rows):
        lines.append(f"... and {top.groups - len(top.rows):,} more (--limit lists more)")
    return "\n".join(lines) + "\n"


def _columns(top: Ranking) -> Iterator[TableColumn[Ranked]]:
    """Yield the columns of figures; of many instances also how many counted the group."""
    yield from _COLUMNS
    if top.instances and Group.INSTANCE not in top.options.groups:
        yield TableColumn("instances", lambda one: str(len(one[1].instances)))


def _labels(row: TopRow, top: Ranking) -> Iterator[str]:
    """Yield the group, and the instances that counted it unless all did."""
    yield from group_texts(row.group, top.hostgroup_names)
    if len(row.instances) < len(top.instances) and Group.INSTANCE not in row.group:
        yield f"on {listed_names(row.instances)}"


def _summary(top: Ranking) -> str:
    """Return the load of the whole table, and of the part that passes the filters."""
    total, selected = top.total, top.selected
    whole = (
        f"{counted(total.entries, 'entry')}, {counted(total.count_star, 'query')},"
        f" {time_text(total.sum_time)} of query time"
    )
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
        return "\n".join([*lines, NOTHING_LEFT if top.total.entries else EMPTY]) + "\n"

    def label(ranked: Ranked) -> str:
        return ", ".join(_labels(ranked[1], top))

    columns = [*_columns(top), TableColumn("of", label, is_number=False)]
    if Group.DIGEST in top.options.groups:
        columns.append(TableColumn("text", _ticket_text, is_number=False))
    if top.rows[0].outcomes is not None:
        rules = TableColumn[Ranked](
            "rules", lambda one: _rule_text(one[1], top.hostgroup_names), is_number=False
        )
        columns.append(rules)
    table = markdown_table(columns, enumerate(top.rows, 1))
    return "\n".join([*lines, f"{inline(_summary(top))}.", "", *table]) + "\n"


def _ticket_text(ranked: Ranked) -> str:
    return shown(ranked[1].digest_text or "", limit=_LONGEST_IN_TICKET)


_FIGURES = (
    "count_star sum_time min_time max_time avg_time share cumulative_share sum_rows_affected"
    " sum_rows_sent time_per_row first_seen last_seen entries"
)


def digest_top_csv(top: Ranking) -> str:
    """Render the list as CSV, with the column names in the first line."""
    names = [*top.options.groups, *_FIGURES.split()]
    if Group.DIGEST in top.options.groups:
        names.append("digest_text")
    columns: list[TableColumn[dict[str, Any]]] = [
        TableColumn(name, str, itemgetter(name)) for name in names
    ]
    if top.instances:
        columns.append(TableColumn("instances", str, lambda row: " ".join(row["instances"])))
    return csv_text(columns, ROW.each(top.rows))


def _group_of(group: Group) -> Callable[[TopRow], object]:
    return lambda row: row.group.get(group, ABSENT)


RANKING_KEYS = "group sort total selected notes digests"
RANKING: dict[str, Callable[[Ranking], object]] = {
    "group": lambda one: one.options.groups,
    "sort": lambda one: one.options.sort,
    "total": lambda one: LOAD.encode(one.total),
    "selected": lambda one: SELECTED.encode(one.selected, groups=one.groups),
    "notes": lambda one: one.notes(),
    "digests": lambda one: ROW.each(one.rows),
}
"""The keys that every list has, wherever its digests were counted, and their values."""
TOP: Shape[Top] = Shape("digest top", f"{INSTANCE} taken_at {RANKING_KEYS}", **RANKING)
TOP_OF_FLEET: Shape[TopOfFleet] = Shape(
    "digest top of a fleet",
    f"instances failed {RANKING_KEYS}",
    instances=lambda one: COUNTED.each(one.instances),
    failed=lambda one: FAILED.each(one.failed),
    **RANKING,
)
COUNTED: Shape[CountedInstance] = Shape(
    "instance of a list of digests",
    f"{INSTANCE} taken_at total",
    total=lambda one: LOAD.encode(one.total),
)
LOAD: Shape[Load] = Shape("load", "entries count_star sum_time")
SELECTED: Shape[Load] = LOAD.extended("selected load", "groups")
ROW: Shape[TopRow] = Shape(
    "group of digests",
    f"{' '.join(Group)} digest_text is_cut {_FIGURES} instances rules",
    **{group.value: _group_of(group) for group in Group},
    digest_text=lambda one: ABSENT if one.digest_text is None else one.digest_text,
    is_cut=lambda one: ABSENT if one.digest_text is None else one.is_cut,
    avg_time=lambda one: round(one.avg_time, 3),
    share=lambda one: round(one.share, 6),
    cumulative_share=lambda one: round(one.cumulative_share, 6),
    time_per_row=lambda one: None if one.time_per_row is None else round(one.time_per_row, 3),
    instances=lambda one: list(one.instances) or ABSENT,
    rules=lambda one: ABSENT if one.outcomes is None else OUTCOME.each(one.outcomes),
)
