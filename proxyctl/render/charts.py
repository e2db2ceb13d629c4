"""The charts of a report on digests: numbers and places, which the page's template draws.

Colours are the classes `c0` to `c6` of the page's style sheet. Every hostgroup has its own in all
charts; those that are not among the first share the last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import floor, log10
from typing import NamedTuple

from proxyctl.render.style import moment, name_text, percent, seen_hostgroup
from proxyctl.stats.model import CACHE
from proxyctl.stats.report import Interval, Part, Report, first_parts
from proxyctl.stats.units import time_text

_COLOURS = 7
_BARS = 7
_LEVELS, _TICKS = 5, 9
"""At most so many lines and moments are labelled."""
WIDTH, HEIGHT = 1000, 200
"""Of the area of a chart over time, in units of the drawing."""

Legend = Sequence[tuple[str, str]]
"""Pairs of a class of a colour and what it stands for."""


class Block(NamedTuple):
    """The load of one colour in one interval."""

    x: float
    y: float
    width: float
    height: float
    colour: str
    title: str


@dataclass(frozen=True)
class OverTime:
    """A chart over time. Shape: `levels` and `ticks` are places on its axes with their labels."""

    title: str
    about: str
    legend: Legend
    blocks: Sequence[Block]
    levels: Sequence[tuple[float, str]]
    ticks: Sequence[tuple[float, str]]


class Bar(NamedTuple):
    """A part of the query time. `width` is in hundredths of the biggest."""

    name: str
    share: str
    width: float
    colour: str
    title: str


def charts_over_time(report: Report, names: Mapping[int, str]) -> Iterator[OverTime]:
    """Yield the load and the rate of queries; nothing where there are no intervals."""
    if not report.intervals or not report.time:
        return
    colours = _colours(report)
    labels = {number: _long(number, names) for number in colours}
    loads = [
        [
            (colours[number], labels[number], time / 1e6 / one.seconds)
            for number, time in sorted(one.by_hostgroup.items(), key=lambda item: colours[item[0]])
        ]
        for one in report.intervals
    ]
    yield _over_time(
        "Load over time",
        "Queries running at once: seconds of query time in a second.",
        [*_legend(colours, labels)],
        report.intervals,
        loads,
    )
    rates = [[("plain", "queries a second", one.calls / one.seconds)] for one in report.intervals]
    yield _over_time("Queries a second", "", (), report.intervals, rates)


def bars(report: Report, names: Mapping[int, str]) -> dict[str, list[Bar]]:
    """Return the shares of the query time, by title."""
    if not report.time:
        return {}
    colours = _colours(report)

    def bar(part: Part, most: int) -> Bar:
        name, colour = name_text(part.name) or "(none)", "plain"
        if part in report.hostgroups:
            name, colour = seen_hostgroup(int(part.name), names), colours[int(part.name)]
        title = f"{name}: {part.calls:,} queries, {time_text(part.time)}"
        width = round(100 * part.time / most, 1)
        return Bar(name, percent(part.time, report.time), width, colour, title)

    found = {}
    for title, parts in (
        ("By hostgroup", report.hostgroups),
        ("By schema", report.schemas),
        ("By user", report.users),
    ):
        listed = first_parts(parts, _BARS)
        most = max(part.time for part in listed)
        found[title] = [bar(part, most) for part in listed]
    return found


def _colours(report: Report) -> dict[int, str]:
    return {
        int(part.name): f"c{min(place, _COLOURS - 1)}"
        for place, part in enumerate(report.hostgroups)
    }


def _long(hostgroup: int, names: Mapping[int, str]) -> str:
    text = seen_hostgroup(hostgroup, names)
    return text if hostgroup == CACHE else f"hostgroup {text}"


def _legend(colours: Mapping[int, str], labels: Mapping[int, str]) -> Iterator[tuple[str, str]]:
    last = f"c{_COLOURS - 1}"
    shares_last = len(colours) > _COLOURS
    yield from (
        (colour, labels[number])
        for number, colour in colours.items()
        if not shares_last or colour != last
    )
    if shares_last:
        yield last, "other hostgroups"


def _over_time(
    title: str,
    about: str,
    legend: Legend,
    intervals: Sequence[Interval],
    layers: Sequence[Sequence[tuple[str, str, float]]],
) -> OverTime:
    """Return a chart of layers on top of each other: colour, label and value, by interval."""
    start, end = intervals[0].start, intervals[-1].end
    step, top = _scale(max(sum(value for *_, value in one) for one in layers))

    def x(seconds: float) -> float:
        return round(WIDTH * (seconds - start) / (end - start), 1)

    def y(value: float) -> float:
        return round(HEIGHT * (1 - value / top), 1)

    blocks = []
    for interval, layer in zip(intervals, layers, strict=True):
        when = f"{moment(interval.start)} to {moment(interval.end)}"
        left, width, level = x(interval.start), x(interval.end) - x(interval.start), 0.0
        for colour, label, value in layer:
            level += value
            text = f"{when}\n{label}: {_number(value)}"
            blocks.append(Block(left, y(level), width, y(level - value) - y(level), colour, text))
    pattern = "%H:%M:%S" if end - start < 600 else "%H:%M" if end - start < 86400 else "%m-%d %H:%M"
    return OverTime(
        title,
        about,
        legend,
        blocks,
        [(y(step * n), _number(step * n)) for n in range(round(top / step) + 1)],
        [(x(tick), _clock(tick, pattern)) for tick in _ticks(start, end)],
    )


def _scale(most: float) -> tuple[float, float]:
    """Return the step between levels, which is a round number, and the highest level."""
    size = 10.0 ** floor(log10(most or 1.0))
    for step in (size * part for part in (0.2, 0.5, 1, 2)):
        count = -(-most // step) or 1
        if count <= _LEVELS:
            break
    return step, step * count


def _number(value: float) -> str:
    return f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"


_STEPS = (1, 2, 5, 10, 15, 30, *(60 * n for n in (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720)))


def _ticks(start: int, end: int) -> range:
    """Return round moments; fewer than `_TICKS` of them, but for the longest times."""
    day = 86400
    days = day * (1 + (end - start) // (day * _TICKS))
    step = next((step for step in _STEPS if (end - start) / step < _TICKS), days)
    return range(-(-start // step) * step, end + 1, step)


def _clock(seconds: float, pattern: str) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime(pattern)
    except (ValueError, OverflowError, OSError):
        return f"{seconds:.0f}"
