"""Renders a comparison of digests: the totals, then how each digest changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter, itemgetter

from proxyctl.render.digest_top import group_texts
from proxyctl.render.encode import ABSENT, INSTANCE, Shape
from proxyctl.render.fleet import FAILED
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
from proxyctl.render.table import TableColumn, aligned
from proxyctl.stats.diff import (
    ComparedInstance,
    Diff,
    DigestDifference,
    DigestTrend,
    Side,
    SideLoad,
)
from proxyctl.stats.diff_of_fleet import DiffOfFleet
from proxyctl.stats.model import DigestTable, Group
from proxyctl.stats.store.diff import DiffOfStore
from proxyctl.stats.store.window import StoreWindow
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
    if isinstance(diff, DiffOfStore):
        yield "from", moment(diff.earlier.since), moment(diff.window.since), ""
    both = (
        [instance.before for instance in diff.instances],
        [instance.after for instance in diff.instances],
    )
    until = [moment(max(side.table.taken_at for side in sides)) for sides in both]
    yield "until", until[0], until[1], ""
    lengths = [_seconds_text([side.seconds for side in sides]) for sides in both]
    yield "counted for", lengths[0], lengths[1], ""
    before, after = diff.before, diff.after
    change = change_text(before.rate, after.rate)
    yield "queries", rate_text(before.rate), rate_text(after.rate), change
    times = [f"{time_text(side.busy)}/s" for side in (before, after)]
    yield "query time", times[0], times[1], change_text(before.busy, after.busy)
    has_both = before.load.count_star and after.load.count_star
    change = change_text(before.average, after.average) if has_both else ""
    yield "average", average_text(before), average_text(after), change


def _seconds_text(seconds: Sequence[int]) -> str:
    """Return the times that instances were counted for: `1.00 h`, or `5.00 min to 1.00 h`."""
    texts = [time_text(length * 1e6) for length in (min(seconds), max(seconds))]
    return " to ".join(dict.fromkeys(texts))


def average_text(side: SideLoad) -> str:
    """Return the average time of a query, `-` without queries."""
    return time_text(side.average) if side.load.count_star else "-"


def _rate(side: SideLoad) -> str:
    return rate_text(side.rate) if side.load.count_star else "-"


def _busy(side: SideLoad) -> str:
    return f"{time_text(side.busy)}/s" if side.load.count_star else "-"


_COLUMNS: tuple[TableColumn[DigestDifference], ...] = (
    TableColumn("", lambda entry: _WORDS[entry.verdict], is_number=False),
    TableColumn("time", lambda entry: _busy(entry.before)),
    TableColumn("after", lambda entry: _busy(entry.after)),
    TableColumn("queries", lambda entry: _rate(entry.before)),
    TableColumn("after", lambda entry: _rate(entry.after)),
    TableColumn("avg", lambda entry: average_text(entry.before)),
    TableColumn("after", lambda entry: average_text(entry.after)),
    TableColumn("change", lambda entry: _average_change(entry)),
)
"""The columns of an entry, each number before and after."""


def _average_change(entry: DigestDifference) -> str:
    """Return how much slower or faster a digest became; '' if unknown."""
    before, after = entry.before, entry.after
    is_known = after.load.count_star and entry.verdict is not DigestTrend.FEW_CALLS
    return change_text(before.average, after.average) if is_known else ""


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
    heading: str,
    order: str,
    style: Style = PLAIN,
    *,
    width: int = WIDTH,
    has_whole_texts: bool = False,
) -> str:
    """Render a comparison in lines of `width`, under a heading that names the instances.

    `has_whole_texts`: do not shorten texts.
    """
    lines = [style("bold", heading), ""]
    lines += [*aligned(_TOTAL_COLUMNS, _totals(diff)), ""]
    for text in diff.notes:
        first, *continued = wrapped(printable(text), width - 6)
        lines += [style("refuse", "note: ") + first, *(f"      {line}" for line in continued)]
    if diff.notes:
        lines.append("")
    if not diff.count:
        return "\n".join([*lines, "No digest has any queries."]) + "\n"
    lines += [style("bold", _counts(diff)), ""]
    head, *figures = aligned(_COLUMNS, diff.entries)
    lines.append(style("dim", head))
    for entry, line in zip(diff.entries, figures, strict=True):
        lines.append(style(_COLOURS[entry.verdict], line))
        group = dict(zip(diff.by, entry.key, strict=True))
        labels = [*group_texts(group, diff.hostgroup_names)]
        if Group.HOSTGROUP not in group:
            labels.append(_moves(entry, diff.hostgroup_names))
        if len(entry.instances) < len(diff.instances) and Group.INSTANCE not in group:
            labels.append(f"on {listed_names(entry.instances)}")
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
    before = _hostgroups(entry.before.hostgroups, names)
    after = _hostgroups(entry.after.hostgroups, names)
    return f"hostgroup {f'{before} -> {after}' if entry.is_moved else after or before}"


# -- JSON.


DIFF: Shape[Diff] = Shape(
    "digest diff",
    "before after is_cleared notes counts digests",
    before=lambda diff: _side(diff.instances[0].before),
    after=lambda diff: _side(diff.instances[0].after),
    is_cleared=lambda diff: diff.instances[0].is_cleared,
    counts=lambda diff: _counts_by_verdict(diff),
    digests=lambda diff: [_entry(diff, entry, is_of_many=False) for entry in diff.entries],
)
DIFF_OF_FLEET: Shape[DiffOfFleet] = Shape(
    "digest diff of a fleet",
    "before after instances failed notes counts digests",
    before=lambda diff: _figures(diff.before, is_of_many=True, hostgroups=ABSENT),
    after=lambda diff: _figures(diff.after, is_of_many=True, hostgroups=ABSENT),
    instances=lambda diff: COMPARED.each(diff.instances),
    failed=lambda diff: FAILED.each(diff.failed),
    counts=lambda diff: _counts_by_verdict(diff),
    digests=lambda diff: [_entry(diff, entry, is_of_many=True) for entry in diff.entries],
)
DIFF_OF_STORE: Shape[DiffOfStore] = Shape(
    "digest diff of a store",
    "store before after instances notes counts digests",
    store=lambda diff: str(diff.window.path),
    before=lambda diff: _period(diff.earlier, diff.before),
    after=lambda diff: _period(diff.window, diff.after),
    instances=lambda diff: [
        COMPARED.encode(
            instance, before=_stored_side(instance.before), after=_stored_side(instance.after)
        )
        for instance in diff.instances
    ],
    counts=lambda diff: _counts_by_verdict(diff),
    digests=lambda diff: [_entry(diff, entry, is_of_many=True) for entry in diff.entries],
)
PERIOD: Shape[StoreWindow] = Shape("period of a store", "since until")
COMPARED: Shape[ComparedInstance] = Shape(
    "compared instance",
    "before after is_cleared",
    before=lambda instance: _side(instance.before),
    after=lambda instance: _side(instance.after),
)
SIDE: Shape[DigestTable] = Shape(
    "side of a comparison",
    f"{INSTANCE} taken_at uptime entries seconds",
    entries=lambda table: len(table.rows),
    seconds=lambda _: ABSENT,
)
ENTRY: Shape[DigestDifference] = Shape(
    "compared digest",
    f"{' '.join(Group)} digest_text verdict moved instances before after",
    **{group.value: lambda _: ABSENT for group in Group},
    digest_text=lambda _: ABSENT,
    moved=lambda entry: entry.is_moved,
    instances=lambda entry: list(entry.instances),
)
FIGURES: Shape[SideLoad] = Shape(
    "figures of a side",
    "count_star sum_time average max_time sum_rows_sent sum_rows_affected hostgroups"
    " queries_per_s time_per_s",
    **{name: attrgetter(f"load.{name}") for name in ("count_star", "sum_time", "max_time")},
    average=lambda side: round(side.average, 3),
    sum_rows_sent=attrgetter("load.sum_rows_sent"),
    sum_rows_affected=attrgetter("load.sum_rows_affected"),
    queries_per_s=lambda side: round(side.rate, 6),
    time_per_s=lambda side: round(side.busy, 3),
)


def _counts_by_verdict(diff: Diff) -> dict[str, int]:
    counts = {str(verdict): count for verdict, count in diff.counts.items()}
    return {**counts, "moved": diff.moved, "digests": diff.count}


def _side(side: Side, **values: object) -> dict[str, object]:
    figures = _figures(side.counted, is_of_many=False, hostgroups=ABSENT)
    return {**SIDE.encode(side.table, seconds=side.seconds, **values), **figures}


def _stored_side(side: Side) -> dict[str, object]:
    return _side(side, uptime=ABSENT, entries=ABSENT)


def _period(window: StoreWindow, side: SideLoad) -> dict[str, object]:
    return {**PERIOD.encode(window), **_figures(side, is_of_many=True, hostgroups=ABSENT)}


def _figures(side: SideLoad, *, is_of_many: bool, **values: object) -> dict[str, object]:
    """Return the figures; the rates of one instance follow from its `seconds`."""
    rates = {} if is_of_many else {"queries_per_s": ABSENT, "time_per_s": ABSENT}
    return FIGURES.encode(side, **rates, **values)


def _entry(diff: Diff, entry: DigestDifference, *, is_of_many: bool) -> dict[str, object]:
    values: dict[str, object] = dict(zip(diff.by, entry.key, strict=True))
    if Group.DIGEST in diff.by:
        values["digest_text"] = entry.text
    if not is_of_many:
        values["instances"] = ABSENT
    before = _figures(entry.before, is_of_many=is_of_many)
    after = _figures(entry.after, is_of_many=is_of_many)
    return ENTRY.encode(entry, **values, before=before, after=after)
