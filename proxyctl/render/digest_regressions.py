"""Renders what got worse in a period of a store: text, JSON, Markdown, and metrics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from proxyctl.render.digest_diff import FIGURES, average_text, change_text, rate_text
from proxyctl.render.digest_store import store_heading
from proxyctl.render.encode import Shape
from proxyctl.render.explain import SOURCES
from proxyctl.render.prometheus import LONGEST_TEXT, Metric, exposition
from proxyctl.render.replay import OUTCOME
from proxyctl.render.style import (
    PLAIN,
    WIDTH,
    Style,
    moment,
    seen_hostgroup,
    shown,
    wrapped,
)
from proxyctl.render.table import TableColumn, aligned, inline, markdown_table
from proxyctl.routing.result import HostgroupOrigin
from proxyctl.stats.diff import SideLoad
from proxyctl.stats.replay.comparison import QueryTreatment
from proxyctl.stats.store.caught import CaughtQueries
from proxyctl.stats.store.regressions import (
    ComparedWindow,
    Regression,
    RegressionKind,
    Regressions,
)
from proxyctl.stats.units import number_text, share_text, time_text
from proxyctl.text import counted, printable

_INDENT = 4
_NOTHING = "No digest got worse, appeared or vanished."
_WORDS = {kind: kind.replace("_", " ") for kind in RegressionKind}


def _columns(regressions: Regressions) -> list[TableColumn[Regression]]:
    """Return the columns of a digest; numbers as `before -> after`."""

    def pair(before: str, after: str) -> str:
        return f"{before} -> {after}"

    def share(regression: Regression) -> str:
        sides = (
            regressions.before.share(regression.before),
            regressions.after.share(regression.after),
        )
        return pair(*map(share_text, sides))

    def rates(regression: Regression) -> str:
        sides = regression.before, regression.after
        return pair(*(rate_text(side.rate) if side.load.count_star else "-" for side in sides))

    def averages(regression: Regression) -> str:
        return pair(average_text(regression.before), average_text(regression.after))

    def rows(regression: Regression) -> str:
        return pair(_rows(regression.before), _rows(regression.after))

    return [
        TableColumn(
            "",
            lambda regression: ", ".join(_WORDS[kind] for kind in regression.kinds),
            is_number=False,
        ),
        TableColumn("share", share),
        TableColumn("queries", rates),
        TableColumn("avg", averages),
        TableColumn("rows/q", rows),
    ]


def _rows(side: SideLoad) -> str:
    # A quotient of rates is not exactly whole.
    return number_text(round(side.rows_per_query, 9)) if side.load.count_star else "-"


def _hostgroups(regression: Regression, names: Mapping[int, str]) -> str:
    """Return the hostgroups of a digest; then and now if its queries moved."""

    def text(calls: Mapping[int, int]) -> str:
        return ", ".join(seen_hostgroup(number, names) for number in calls)

    before, after = text(regression.before.hostgroups), text(regression.after.hostgroups)
    return f"hostgroup {f'{before} -> {after}' if regression.is_moved else after or before}"


_MOST_PARTS = 3
"""How many parts of a digest's queries are shown, those with most queries first."""


def _rules(regression: Regression) -> str:
    """Return what caught a digest; then and now if that is not the same."""
    before, after = (
        _caught_text(side) for side in (regression.caught_before, regression.caught_after)
    )
    return after if before == after else f"{before} -> {after}"


def _caught_text(caught: Sequence[CaughtQueries] | None) -> str:
    """Return what caught the queries: `rule 1; rule 2 or no rule`; `-` if unknown.

    `or` joins what a digest leaves open, a semicolon the queries of different users and instances.
    """
    if caught is None:
        return "-"
    alternatives = (dict.fromkeys(map(_catcher, queries.outcomes)) for queries in caught)
    parts = [*dict.fromkeys(" or ".join(catchers) or "undecided" for catchers in alternatives)]
    if len(parts) > _MOST_PARTS:
        parts[_MOST_PARTS:] = [counted(len(parts) - _MOST_PARTS, "other")]
    return "; ".join(parts)


def _catcher(outcome: QueryTreatment) -> str:
    """Return what decided the outcome of a query: `rule 5`, `no rule`, `fast_routing`."""
    if outcome.source in (HostgroupOrigin.FAST_ROUTING, HostgroupOrigin.HINT):
        return str(SOURCES[outcome.source])
    if outcome.rule_id is not None:
        return f"rule {outcome.rule_id}"
    return "no rule"


def _heading(regressions: Regressions) -> str:
    return store_heading(
        regressions.after.window, [instance.name for instance in regressions.instances]
    )


def _sides(regressions: Regressions) -> Iterator[str]:
    """Yield a line about each of the two times."""
    for label, side in (("before", regressions.before), ("now", regressions.after)):
        window, load = side.window, side.total
        yield (
            f"{label:<6}  {moment(window.since)} to {moment(window.until)}:"
            f" {rate_text(load.rate)}, {time_text(load.busy)}/s of query time,"
            f" {average_text(load)} a query"
        )
    change = change_text(regressions.before.total.busy, regressions.after.total.busy)
    yield f"query time {change or 'not known before'}"


def _counts(regressions: Regressions) -> str:
    parts = [f"{count:,} {_WORDS[kind]}" for kind, count in regressions.counts.items() if count]
    return f"{counted(regressions.count, 'digest')}: {', '.join(parts)}"


def regressions_text(
    regressions: Regressions,
    style: Style = PLAIN,
    *,
    width: int = WIDTH,
    has_whole_texts: bool = False,
) -> str:
    """Render the comparison in lines of `width`. `has_whole_texts`: do not shorten texts."""
    lines = [style("bold", _heading(regressions)), *_sides(regressions)]
    for note in regressions.notes:
        lines += wrapped(f"note: {printable(note)}", width)
    if not regressions.count:
        return "\n".join([*lines, "", _NOTHING]) + "\n"
    lines += ["", style("bold", _counts(regressions)), ""]
    head, *figures = aligned(_columns(regressions), regressions.entries)
    lines.append(style("dim", head))
    for regression, line in zip(regressions.entries, figures, strict=True):
        lines.append(
            style("dim" if regression.kinds == (RegressionKind.VANISHED,) else "delete", line)
        )
        lines += _label_lines(regression, regressions.hostgroup_names, width)
        limit = None if has_whole_texts else width - _INDENT
        lines.append(" " * _INDENT + shown(regression.digest_text, limit=limit))
    if regressions.count > len(regressions.entries):
        lines.append(
            f"... and {regressions.count - len(regressions.entries):,} more (--limit lists more)"
        )
    return "\n".join(lines) + "\n"


def _label_lines(regression: Regression, names: Mapping[int, str], width: int) -> list[str]:
    """Return a digest with its hostgroups and rules, on one line if they fit."""
    label = f"{' ' * _INDENT}{regression.digest}  {_hostgroups(regression, names)}"
    if regression.caught_before is None and regression.caught_after is None:
        return [label]
    rules = f"by {_rules(regression)}"
    if len(label) + 2 + len(rules) <= width:
        return [f"{label}  {rules}"]
    return [label, *wrapped(rules, width, first=" " * _INDENT, then=" " * (_INDENT + 3))]


def regressions_markdown(regressions: Regressions) -> str:
    """Render the comparison as Markdown, to paste into a ticket."""
    lines = [f"**Regressions** of {inline(_heading(regressions))}", ""]
    lines += [f"- {inline(line)}" for line in _sides(regressions)]
    lines += [f"\nNote: {inline(note)}" for note in regressions.notes]
    if not regressions.count:
        return "\n".join([*lines, "", _NOTHING]) + "\n"
    columns = [
        *_columns(regressions),
        TableColumn("digest", lambda regression: regression.digest, is_number=False),
        TableColumn(
            "hostgroups",
            lambda regression: _hostgroups(regression, regressions.hostgroup_names),
            is_number=False,
        ),
        TableColumn("rules", _rules, is_number=False),
        TableColumn(
            "text", lambda regression: shown(regression.digest_text, limit=300), is_number=False
        ),
    ]
    table = markdown_table(columns, regressions.entries)
    return "\n".join([*lines, "", f"{inline(_counts(regressions))}.", "", *table]) + "\n"


def regressions_prometheus(regressions: Regressions) -> str:
    """Return the comparison as gauges, with a series per listed digest and kind."""
    entries = [
        (
            {
                "digest": regression.digest,
                "digest_text": regression.digest_text[:LONGEST_TEXT],
                "kind": kind,
            },
            regression,
        )
        for regression in regressions.entries
        for kind in regression.kinds
    ]
    shares = [
        (
            labels,
            regressions.after.share(regression.after)
            or regressions.before.share(regression.before),
        )
        for labels, regression in entries
    ]
    counts = [({"kind": str(kind)}, count) for kind, count in regressions.counts.items()]
    return exposition(
        [
            Metric("proxyctl_digest_regressions", "Digests that got worse, by kind.", [*counts]),
            Metric(
                "proxyctl_digest_regression_share",
                "The share of the query time of a digest that got worse; the earlier share if it"
                " vanished.",
                shares,
            ),
        ]
    )


REGRESSIONS: Shape[Regressions] = Shape(
    "digest regressions",
    "store before after instances notes counts digests",
    store=lambda regressions: str(regressions.after.window.path),
    before=lambda regressions: SIDE_OF_TIME.encode(regressions.before),
    after=lambda regressions: SIDE_OF_TIME.encode(regressions.after),
    instances=lambda regressions: [instance.name for instance in regressions.instances],
    counts=lambda regressions: {
        **{str(kind): count for kind, count in regressions.counts.items()},
        "digests": regressions.count,
    },
    digests=lambda regressions: [
        _regression(regressions, regression) for regression in regressions.entries
    ],
)
SIDE_OF_TIME: Shape[ComparedWindow] = Shape(
    "compared time",
    "since until count_star sum_time average queries_per_s time_per_s",
    since=lambda side: side.window.since,
    until=lambda side: side.window.until,
    count_star=lambda side: side.total.load.count_star,
    sum_time=lambda side: side.total.load.sum_time,
    average=lambda side: round(side.total.average, 3),
    queries_per_s=lambda side: round(side.total.rate, 6),
    time_per_s=lambda side: round(side.total.busy, 3),
)
REGRESSION: Shape[Regression] = Shape(
    "regression",
    "digest digest_text kinds moved share_before share_after before after rules_before rules_after",
    moved=lambda regression: regression.is_moved,
    share_before=lambda _: None,
    share_after=lambda _: None,
    before=lambda _: None,
    after=lambda _: None,
    rules_before=lambda regression: _caught(regression.caught_before),
    rules_after=lambda regression: _caught(regression.caught_after),
)
CAUGHT: Shape[CaughtQueries] = Shape(
    "queries that rules catch",
    "count_star outcomes",
    outcomes=lambda queries: OUTCOME.each(queries.outcomes),
)


def _caught(caught: Sequence[CaughtQueries] | None) -> list[dict[str, object]] | None:
    return None if caught is None else CAUGHT.each(caught)


def _regression(regressions: Regressions, regression: Regression) -> dict[str, object]:
    return REGRESSION.encode(
        regression,
        share_before=round(regressions.before.share(regression.before), 6),
        share_after=round(regressions.after.share(regression.after), 6),
        before=FIGURES.encode(regression.before),
        after=FIGURES.encode(regression.after),
    )
