"""Renders a comparison of two snapshots of digests: the totals, then how each digest changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import itemgetter

from proxyctl.render.digest_top import group_texts
from proxyctl.render.encode import ABSENT, INSTANCE, Shape
from proxyctl.render.style import (
    PLAIN,
    WIDTH,
    Style,
    instance_text,
    moment,
    seen_hostgroup,
    shown,
    wrapped,
)
from proxyctl.render.table import TableColumn, aligned
from proxyctl.stats.diff import Diff, DigestDifference, DigestTrend, Side
from proxyctl.stats.model import TABLE_GROUPS, DigestTable, Group, Load
from proxyctl.stats.units import number_text, share_text, time_text
from proxyctl.text import printable

_INDENT = 4
_LEAST_A_SECOND = 0.1
_WORDS = {verdict: verdict.replace("few_calls", "too few") for verdict in DigestTrend}
_COLOURS = {
    DigestTrend.SLOWER: "delete",
    DigestTrend.FASTER: "add",
    DigestTrend.NEW: "change",
    DigestTrend.VANISHED: "change",
    DigestTrend.SAME: "dim",
    DigestTrend.FEW_CALLS: "dim",
}


# -- Numbers.


def rate_text(rate: float) -> str:
    """Return queries per second (`12.3/s`), or per hour if they are rare (`4.00/h`)."""
    if 0 < rate < _LEAST_A_SECOND:
        return f"{number_text(rate * 3600)}/h"
    return f"{number_text(rate)}/s"


def change_text(before: float, after: float) -> str:
    """Return a relative change: `-65.7%`; '' if `before` is 0."""
    return f"{(after - before) / before:+.1%}" if before else ""


Total = tuple[str, str, str, str]
"""A line of the summary: label, before, after, change."""

_TOTAL_COLUMNS: tuple[TableColumn[Total], ...] = (
    TableColumn("", itemgetter(0), is_number=False),
    TableColumn("before", itemgetter(1)),
    TableColumn("after", itemgetter(2)),
    TableColumn("change", itemgetter(3)),
)


def _totals(diff: Diff) -> Iterator[Total]:
    before, after = sides = diff.before, diff.after
    yield "until", moment(before.table.taken_at), moment(after.table.taken_at), ""
    yield "counted for", time_text(before.seconds * 1e6), time_text(after.seconds * 1e6), ""
    rates = [side.rate(side.total) for side in sides]
    yield "queries", rate_text(rates[0]), rate_text(rates[1]), change_text(*rates)
    busy = [side.busy(side.total) for side in sides]
    times = [f"{time_text(time)}/s" for time in busy]
    yield "query time", times[0], times[1], change_text(*busy)
    averages = [_average(side.total) for side in sides]
    has_both = before.total.count_star and after.total.count_star
    change = change_text(before.total.average, after.total.average) if has_both else ""
    yield "average", averages[0], averages[1], change


def _average(load: Load) -> str:
    return time_text(load.average) if load.count_star else "-"


def _columns(before: Side, after: Side) -> list[TableColumn[DigestDifference]]:
    """Return the columns of an entry, each number before and after."""

    def rate(side: Side, load: Load) -> str:
        return rate_text(side.rate(load)) if load.count_star else "-"

    def busy(side: Side, load: Load) -> str:
        return f"{time_text(side.busy(load))}/s" if load.count_star else "-"

    return [
        TableColumn("", lambda one: _WORDS[one.verdict], is_number=False),
        TableColumn("time", lambda one: busy(before, one.before)),
        TableColumn("after", lambda one: busy(after, one.after)),
        TableColumn("queries", lambda one: rate(before, one.before)),
        TableColumn("after", lambda one: rate(after, one.after)),
        TableColumn("avg", lambda one: _average(one.before)),
        TableColumn("after", lambda one: _average(one.after)),
        TableColumn("change", _average_change),
    ]


def _average_change(entry: DigestDifference) -> str:
    """Return how much slower or faster a digest became; '' if unknown."""
    is_known = entry.after.count_star and entry.verdict is not DigestTrend.FEW_CALLS
    return change_text(entry.before.average, entry.after.average) if is_known else ""


def _hostgroups(calls: Mapping[int, int], names: Mapping[int, str]) -> str:
    """Return the hostgroups that queries went to: `10 (writer) 75.0%, query cache 25.0%`."""
    total = sum(calls.values())
    return ", ".join(
        seen_hostgroup(number, names) + (f" {share_text(count / total)}" if len(calls) > 1 else "")
        for number, count in sorted(calls.items(), key=lambda item: -item[1])
    )


def _counts(diff: Diff) -> str:
    """Return the number of digests by verdict, on one line."""
    parts = [f"{count:,} {_WORDS[kind]}" for kind, count in diff.counts.items() if count]
    if diff.moved:
        parts.append(f"{diff.moved:,} moved to other hostgroups")
    return ", ".join(parts) or "no digests"


# -- Text.


def digest_diff_text(
    diff: Diff,
    order: str,
    style: Style = PLAIN,
    *,
    width: int = WIDTH,
    has_whole_texts: bool = False,
) -> str:
    """Render a comparison in lines of `width`. `has_whole_texts`: do not shorten texts."""
    lines = [style("bold", instance_text(diff.after.table)), ""]
    lines += [*aligned(_TOTAL_COLUMNS, _totals(diff)), ""]
    for text in diff.notes:
        first, *continued = wrapped(printable(text), width - 6)
        lines += [style("refuse", "note: ") + first, *(f"      {line}" for line in continued)]
    if diff.notes:
        lines.append("")
    if not diff.count:
        return "\n".join([*lines, "No digest has any queries."]) + "\n"
    lines += [style("bold", _counts(diff)), ""]
    head, *figures = aligned(_columns(diff.before, diff.after), diff.entries)
    lines.append(style("dim", head))
    for entry, line in zip(diff.entries, figures, strict=True):
        lines.append(style(_COLOURS[entry.verdict], line))
        group = dict(zip(diff.by, entry.key, strict=True))
        labels = [*group_texts(group, diff.hostgroup_names)]
        if Group.HOSTGROUP not in group:
            labels.append(_moves(entry, diff.hostgroup_names))
        lines.append(" " * _INDENT + "  ".join(labels))
        if entry.text:
            limit = None if has_whole_texts else width - _INDENT
            lines.append(" " * _INDENT + shown(entry.text, limit=limit))
    unlisted = diff.count - len(diff.entries)
    more = f" {unlisted:,} more (--limit lists more)." if unlisted else ""
    lines.append(f"Listed by {order}.{more}")
    return "\n".join(lines) + "\n"


def _moves(entry: DigestDifference, names: Mapping[int, str]) -> str:
    """Return the hostgroups of a digest; before and after if they differ."""
    before = _hostgroups(entry.hostgroups_before, names)
    after = _hostgroups(entry.hostgroups_after, names)
    return f"hostgroup {f'{before} -> {after}' if entry.is_moved else after or before}"


# -- JSON.


DIFF: Shape[Diff] = Shape(
    "digest diff",
    "before after is_cleared notes counts digests",
    before=lambda diff: _side(diff.before),
    after=lambda diff: _side(diff.after),
    counts=lambda diff: _counts_by_verdict(diff),
    digests=lambda diff: [_entry(diff, entry) for entry in diff.entries],
)
SIDE: Shape[DigestTable] = Shape(
    "side of a comparison",
    f"{INSTANCE} taken_at uptime entries seconds",
    entries=lambda one: len(one.rows),
    seconds=lambda _: ABSENT,
)
ENTRY: Shape[DigestDifference] = Shape(
    "compared digest",
    f"{' '.join(TABLE_GROUPS)} digest_text verdict moved before after",
    **{group.value: lambda _: ABSENT for group in TABLE_GROUPS},
    digest_text=lambda _: ABSENT,
    moved=lambda one: one.is_moved,
)
FIGURES: Shape[Load] = Shape(
    "figures of a side",
    "count_star sum_time average max_time sum_rows_sent sum_rows_affected hostgroups",
    average=lambda one: round(one.average, 3),
    hostgroups=lambda _: ABSENT,
)


def _counts_by_verdict(diff: Diff) -> dict[str, int]:
    counts = {str(verdict): count for verdict, count in diff.counts.items()}
    return {**counts, "moved": diff.moved, "digests": diff.count}


def _side(side: Side) -> dict[str, object]:
    return {**SIDE.encode(side.table, seconds=side.seconds), **FIGURES.encode(side.total)}


def _entry(diff: Diff, entry: DigestDifference) -> dict[str, object]:
    columns: dict[str, object] = dict(zip(diff.by, entry.key, strict=True))
    if Group.DIGEST in diff.by:
        columns["digest_text"] = entry.text
    before = FIGURES.encode(entry.before, hostgroups=entry.hostgroups_before)
    after = FIGURES.encode(entry.after, hostgroups=entry.hostgroups_after)
    return ENTRY.encode(entry, **columns, before=before, after=after)
