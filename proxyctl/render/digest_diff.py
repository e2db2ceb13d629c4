"""A comparison of two snapshots of digests: the totals, then what became of each digest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from proxyctl.render.table import Column, aligned
from proxyctl.stats.diff import (
    LEAST_CALLS,
    LEAST_CHANGE,
    LEAST_EXPECTED,
    Diff,
    Entry,
    Side,
    Verdict,
)
from proxyctl.stats.model import DigestTable, Group, Load
from proxyctl.stats.units import number_text, share_text, time_text
from proxyctl.text import printable

_INDENT = 11
_LEAST_A_SECOND = 0.1
_RULE = (
    f"slower, faster: at least {LEAST_CALLS} queries on both sides, and averages {LEAST_CHANGE:.0%}"
    " apart,",
    f"even without the slowest query; new, vanished: at least {LEAST_EXPECTED} queries expected",
    "at the rate of the other side; too few: not enough queries to tell",
)
_WORDS = {verdict: verdict.replace("few_calls", "too few") for verdict in Verdict}
_COLOURS = {
    Verdict.SLOWER: "delete",
    Verdict.FASTER: "add",
    Verdict.NEW: "change",
    Verdict.VANISHED: "change",
    Verdict.SAME: "dim",
    Verdict.FEW_CALLS: "dim",
}


# -- How the numbers read.


def rate_text(rate: float) -> str:
    """Return queries a second: `12.3/s`; few of them by the hour: `4.00/h`."""
    if 0 < rate < _LEAST_A_SECOND:
        return f"{number_text(rate * 3600)}/h"
    return f"{number_text(rate)}/s"


def change_text(before: float, after: float) -> str:
    """Return how much more or less something became: `-65.7%`; '' where nothing was before."""
    return f"{(after - before) / before:+.1%}" if before else ""


Total = tuple[str, str, str, str]
"""A line of the summary: what it is, before, after, and the change."""

_TOTAL_COLUMNS: tuple[Column[Total], ...] = (
    Column("", itemgetter(0), is_number=False),
    Column("before", itemgetter(1)),
    Column("after", itemgetter(2)),
    Column("change", itemgetter(3)),
)


def _totals(diff: Diff) -> Iterator[Total]:
    sides = diff.before, diff.after
    one, other = sides
    yield "until", moment(one.table.taken_at), moment(other.table.taken_at), ""
    yield "counted for", time_text(one.seconds * 1e6), time_text(other.seconds * 1e6), ""
    rates = [side.rate(side.total) for side in sides]
    yield "queries", rate_text(rates[0]), rate_text(rates[1]), change_text(*rates)
    busy = [side.busy(side.total) for side in sides]
    times = [f"{time_text(time)}/s" for time in busy]
    yield "query time", times[0], times[1], change_text(*busy)
    averages = [_average(side.total) or "-" for side in sides]
    has_both = one.total.count_star and other.total.count_star
    change = change_text(one.total.average, other.total.average) if has_both else ""
    yield "average", averages[0], averages[1], change


def _average(load: Load) -> str:
    return time_text(load.average) if load.count_star else ""


def _hostgroups(calls: Mapping[int, int], names: Mapping[int, str]) -> str:
    """Return where queries went: `10 (writer) 75.0%, query cache 25.0%`."""
    total = sum(calls.values())
    return ", ".join(
        seen_hostgroup(number, names) + (f" {share_text(count / total)}" if len(calls) > 1 else "")
        for number, count in sorted(calls.items(), key=lambda item: -item[1])
    )


def _counts(diff: Diff) -> str:
    """Return how many of which kind there are, in one line."""
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
    """Return a comparison, in lines of `width`. `has_whole_texts`: texts are not shortened."""
    lines = [style("bold", instance_text(diff.after.table)), ""]
    lines += [*aligned(_TOTAL_COLUMNS, _totals(diff)), ""]
    for text in diff.notes:
        first, *others = wrapped(printable(text), width - 6)
        lines += [style("refuse", "note: ") + first, *(f"      {line}" for line in others)]
    if diff.notes:
        lines.append("")
    if not diff.count:
        return "\n".join([*lines, "No digest has any queries."]) + "\n"
    lines += [style("bold", _counts(diff)), *(style("dim", text) for text in _RULE), ""]
    for entry in diff.entries:
        lines += _entry_lines(diff, entry, style, width, has_whole_texts=has_whole_texts)
    left = diff.count - len(diff.entries)
    lines.append(f"Listed by {order}." + (f" {left:,} more (--limit lists more)." if left else ""))
    return "\n".join(lines) + "\n"


def _entry_lines(
    diff: Diff, entry: Entry, style: Style, width: int, *, has_whole_texts: bool
) -> Iterator[str]:
    word = style(_COLOURS[entry.verdict], f"{_WORDS[entry.verdict]:<{_INDENT}}")
    moved = style("change", "  moved") if entry.is_moved else ""
    group = dict(zip(diff.by, entry.key, strict=True))
    yield f"{word}{'  '.join(group_texts(group, diff.hostgroup_names))}{moved}"
    pad = " " * _INDENT
    yield from (pad + line for line in _packed(_figures(diff, entry), width - _INDENT))
    if entry.text:
        limit = width - _INDENT
        yield pad + (printable(entry.text) if has_whole_texts else shown(entry.text, limit=limit))


def _packed(parts: Iterable[str], width: int) -> Iterator[str]:
    """Yield parts side by side, in as many lines as they need."""
    line = ""
    for part in parts:
        longer = f"{line}   {part}" if line else part
        if line and len(longer) > width:
            yield line
            longer = part
        line = longer
    yield line


def _figures(diff: Diff, entry: Entry) -> Sequence[str]:
    """Return the numbers of an entry, each as `before -> after`; of one side where it has one."""
    before, after, names = entry.before, entry.after, diff.hostgroup_names
    rate, busy, average = _side_figures(diff.before, before)
    rate_after, busy_after, average_after = _side_figures(diff.after, after)
    one = _hostgroups(entry.hostgroups_before, names)
    other = _hostgroups(entry.hostgroups_after, names)
    where = f"hostgroup {f'{one} -> {other}' if entry.is_moved else other or one}"
    if not after.count_star:
        return f"was {busy}", rate, f"avg {average}", where
    if not before.count_star:
        return f"time {busy_after}", rate_after, f"avg {average_after}", where
    averages = f"avg {average} -> {average_after}"
    if entry.verdict is not Verdict.FEW_CALLS and before.average:
        averages += f" ({change_text(before.average, after.average)})"
    return f"time {busy} -> {busy_after}", f"{rate} -> {rate_after}", averages, where


def _side_figures(side: Side, load: Load) -> tuple[str, str, str]:
    return rate_text(side.rate(load)), f"{time_text(side.busy(load))}/s", _average(load)


# -- JSON.


DIFF: Shape[Diff] = Shape(
    "digest diff",
    "before after is_cleared notes counts digests",
    before=lambda one: _side(one.before),
    after=lambda one: _side(one.after),
    counts=lambda one: _counts_of(one),
    digests=lambda one: [_entry(one, entry) for entry in one.entries],
)
SIDE: Shape[DigestTable] = Shape(
    "side of a comparison",
    f"{INSTANCE} taken_at uptime entries seconds",
    entries=lambda one: len(one.rows),
    seconds=lambda _: ABSENT,
)
ENTRY: Shape[Entry] = Shape(
    "compared digest",
    f"{' '.join(Group)} digest_text verdict moved before after",
    **{group.value: lambda _: ABSENT for group in Group},
    digest_text=lambda _: ABSENT,
    moved=lambda one: one.is_moved,
)
FIGURES: Shape[Load] = Shape(
    "figures of a side",
    "count_star sum_time average max_time sum_rows_sent sum_rows_affected calls_per_second"
    " time_per_second hostgroups",
    average=lambda one: round(one.average, 3),
)


def _counts_of(diff: Diff) -> dict[str, int]:
    counts = {str(verdict): count for verdict, count in diff.counts.items()}
    return {**counts, "moved": diff.moved, "digests": diff.count}


def _side(side: Side) -> dict[str, object]:
    figures = _figures_of(side.total, side, ABSENT)
    return {**SIDE.encode(side.table, seconds=side.seconds), **figures}


def _figures_of(load: Load, side: Side, hostgroups: object) -> dict[str, object]:
    return FIGURES.encode(
        load,
        calls_per_second=round(side.rate(load), 6),
        time_per_second=round(side.busy(load), 3),
        hostgroups=hostgroups,
    )


def _entry(diff: Diff, entry: Entry) -> dict[str, object]:
    columns: dict[str, object] = dict(zip(diff.by, entry.key, strict=True))
    if Group.DIGEST in diff.by:
        columns["digest_text"] = entry.text
    before = _figures_of(entry.before, diff.before, entry.hostgroups_before)
    after = _figures_of(entry.after, diff.after, entry.hostgroups_after)
    return ENTRY.encode(entry, **columns, before=before, after=after)
