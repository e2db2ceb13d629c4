"""Computes the coordinates and labels of the charts that the report's template draws.

Colours are the classes `c0` to `c6` of the page's style sheet. A hostgroup has the same colour in
all charts; hostgroups beyond the first six share the last colour.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor, log10
from typing import NamedTuple

from proxyctl.render.style import moment, name_text, percent, seen_hostgroup
from proxyctl.stats.model import Load
from proxyctl.stats.report import DigestReport, LoadShare
from proxyctl.stats.units import time_text

_COLOURS = 6
"""The number of hostgroups with a colour of their own."""
_BARS = 7
_LEVELS, _TICKS = 5, 6
"""The most labelled levels, and the number of parts that the time axis has."""
WIDTH, HEIGHT = 1000, 200
"""The size of a chart over time, in units of the drawing."""


class Block(NamedTuple):
    """The load of one hostgroup in one interval."""

    x: float
    y: float
    width: float
    height: float
    colour: str
    title: str


@dataclass(frozen=True)
class OverTime:
    """The load over time: queries running at once, that is seconds of query time per second."""

    legend: Sequence[tuple[str, str]]
    """Pairs of a colour and a hostgroup."""
    blocks: Sequence[Block]
    """The load of each hostgroup in each interval."""
    levels: Sequence[tuple[float, str]]
    """Positions on the load axis with their labels."""
    ticks: Sequence[tuple[float, str]]
    """Positions on the time axis with their labels."""


class Bar(NamedTuple):
    """A part of the query time."""

    name: str
    """The name of the part."""
    share: str
    """Its percentage of the whole query time, as text."""
    width: float
    """Its length, as a percentage of the biggest part."""
    colour: str
    """The colour of the bar."""
    title: str
    """The name, the number of queries and their time, as text."""


def load_over_time(report: DigestReport, names: Mapping[int, str]) -> OverTime | None:
    """Return the stacked load of the hostgroups over time; None without intervals or load."""
    if not report.intervals or not report.total.sum_time:
        return None
    places = {int(part.name): place for place, part in enumerate(report.hostgroups)}
    start, end = report.intervals[0].start, report.intervals[-1].end
    most = max(
        interval.load.sum_time / 1e6 / (interval.end - interval.start)
        for interval in report.intervals
    )
    step, top = _scale(most)

    def x(seconds: float) -> float:
        return round(WIDTH * (seconds - start) / (end - start), 1)

    def y(value: float) -> float:
        return round(HEIGHT * (1 - value / top), 1)

    blocks = []
    for interval in report.intervals:
        begin, stop = interval.start, interval.end
        when = f"{moment(begin)} to {moment(stop)}"
        left, width, level = x(begin), x(stop) - x(begin), 0.0
        for number, time in sorted(interval.by_hostgroup.items(), key=lambda item: places[item[0]]):
            value = time / 1e6 / (stop - begin)
            level += value
            title = f"{when}\n{seen_hostgroup(number, names)}: {_number(value)}"
            height = y(level - value) - y(level)
            blocks.append(Block(left, y(level), width, height, _colour(places[number]), title))
    legend = [(_colour(places[n]), seen_hostgroup(n, names)) for n in list(places)[:_COLOURS]]
    if len(places) > _COLOURS:
        legend.append((_colour(_COLOURS), "other hostgroups"))
    shown = slice(11, 19) if end - start < 600 else slice(11, 16)
    if end - start >= 86_400:
        shown = slice(5, 16)
    ticks = [start + (end - start) * n // _TICKS for n in range(_TICKS + 1)]
    return OverTime(
        legend,
        blocks,
        [(y(step * n), _number(step * n)) for n in range(round(top / step) + 1)],
        [(x(tick), moment(tick)[shown]) for tick in ticks],
    )


def _colour(place: int) -> str:
    return f"c{min(place, _COLOURS)}"


def bars(report: DigestReport, names: Mapping[int, str]) -> dict[str, list[Bar]]:
    """Return the bars for the shares of the query time, by title of the chart."""
    if not report.total.sum_time:
        return {}
    hostgroups = [
        (seen_hostgroup(int(part.name), names), _colour(place), part.load)
        for place, part in enumerate(report.hostgroups)
    ]
    instances = {"By instance": _bars(report, _plain(report.instances))} if report.instances else {}
    return {
        "By hostgroup": _bars(report, hostgroups),
        "By schema": _bars(report, _plain(report.schemas)),
        "By user": _bars(report, _plain(report.users)),
        **instances,
    }


def _plain(parts: Sequence[LoadShare]) -> list[tuple[str, str, Load]]:
    return [(name_text(part.name) or "(none)", "plain", part.load) for part in parts]


def _bars(report: DigestReport, parts: Sequence[tuple[str, str, Load]]) -> list[Bar]:
    """Return a bar for each of the biggest parts, and a last bar for all other parts."""
    listed = list(parts)
    if len(parts) > _BARS:
        others = Load()
        for *_, load in parts[_BARS - 1 :]:
            others += load
        listed[_BARS - 1 :] = [(f"{len(parts) - _BARS + 1:,} others", "plain", others)]
    most = max(load.sum_time for *_, load in listed)
    return [
        Bar(
            name,
            percent(load.sum_time, report.total.sum_time),
            round(100 * load.sum_time / most, 1),
            colour,
            f"{name}: {load.count_star:,} queries, {time_text(load.sum_time)}",
        )
        for name, colour, load in listed
    ]


def _scale(most: float) -> tuple[float, float]:
    """Return the step between levels (a round number), and the highest level."""
    size = 10.0 ** floor(log10(most or 1.0))
    for step in (size * part for part in (0.2, 0.5, 1, 2)):
        count = -(-most // step) or 1
        if count <= _LEVELS:
            break
    return step, step * count


def _number(value: float) -> str:
    return f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"
