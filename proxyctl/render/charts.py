"""Computes the coordinates and labels of the charts that the report's template draws.

Colours are the classes `c0` to `c6` of the page's style sheet. A hostgroup has the same colour in
all charts; the parts of a chart beyond the first six share the last colour.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import floor, log10
from typing import NamedTuple, TypeVar

from proxyctl.render.style import moment, name_text, percent, seen_hostgroup
from proxyctl.stats.model import Load
from proxyctl.stats.report import DigestReport, Interval, LoadShare, ReportDigest
from proxyctl.stats.units import number_text, time_text
from proxyctl.text import counted

_COLOURS = 6
"""The number of parts with a colour of their own."""
_BARS = 7
_LEVELS, _TICKS = 5, 6
"""The most labelled levels, and the number of parts that the time axis has."""
WIDTH, HEIGHT = 1000, 200
"""The size of a chart over time, in units of the drawing."""
LINE_HEIGHT = 60
"""The height of the line of a digest. Units: as above."""


PartName = TypeVar("PartName", int, str)
"""A hostgroup's number, or the name of an instance or a schema."""


class Block(NamedTuple):
    """The load of one part in one interval."""

    x: float
    y: float
    width: float
    height: float
    colour: str
    title: str


@dataclass(frozen=True)
class OverTime:
    """The load over time: queries running at once, that is seconds of query time per second."""

    by: str
    """What the parts are: hostgroup, instance or schema."""
    legend: Sequence[tuple[str, str]]
    """Pairs of a colour and a part."""
    blocks: Sequence[Block]
    """The load of each part in each interval."""
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


def charts_over_time(report: DigestReport, names: Mapping[int, str]) -> list[OverTime]:
    """Return the stacked load over time: by hostgroup, and of a history by instance and schema.

    None without intervals or load, and none of a single instance or schema.
    """
    if not report.intervals or not report.total.sum_time:
        return []
    charts = [
        _over_time(
            "hostgroup",
            report.intervals,
            {int(part.name): seen_hostgroup(int(part.name), names) for part in report.hostgroups},
            lambda interval: interval.by_hostgroup,
        )
    ]
    instances = {part.name: name_text(part.name) for part in report.instances}
    schemas = {part.name: name_text(part.name) or "(none)" for part in report.schemas}
    if len(instances) > 1 and any(interval.by_instance for interval in report.intervals):
        charts.append(
            _over_time(
                "instance", report.intervals, instances, lambda interval: interval.by_instance
            )
        )
    if len(schemas) > 1 and any(interval.by_schema for interval in report.intervals):
        charts.append(
            _over_time("schema", report.intervals, schemas, lambda interval: interval.by_schema)
        )
    return charts


def _over_time(
    by: str,
    intervals: Sequence[Interval],
    labels: Mapping[PartName, str],
    times: Callable[[Interval], Mapping[PartName, int]],
) -> OverTime:
    """Return a chart of the query time of parts. `labels`: of the parts, the largest first."""
    places = {name: min(place, _COLOURS) for place, name in enumerate(labels)}
    legend = [(_colour(place), label) for place, label in enumerate(labels.values())][:_COLOURS]
    if len(labels) > _COLOURS:
        legend.append((_colour(_COLOURS), f"other {by}s"))
    start, end = intervals[0].start, intervals[-1].end
    step, top = _scale(
        max(
            interval.load.sum_time / 1e6 / (interval.end - interval.start) for interval in intervals
        )
    )

    def x(seconds: float) -> float:
        return round(WIDTH * (seconds - start) / (end - start), 1)

    def y(value: float) -> float:
        return round(HEIGHT * (1 - value / top), 1)

    blocks = []
    for interval in intervals:
        when = f"{moment(interval.start)} to {moment(interval.end)}"
        left, width, level = x(interval.start), x(interval.end) - x(interval.start), 0.0
        sums: dict[int, int] = defaultdict(int)
        for name, time in times(interval).items():
            sums[places[name]] += time
        for place, time in sorted(sums.items()):
            value = time / 1e6 / (interval.end - interval.start)
            level += value
            title = f"{when}\n{legend[place][1]}: {_number(value)}"
            height = y(level - value) - y(level)
            blocks.append(Block(left, y(level), width, height, _colour(place), title))
    shown = slice(11, 19) if end - start < 600 else slice(11, 16)
    if end - start >= 86_400:
        shown = slice(5, 16)
    ticks = [start + (end - start) * n // _TICKS for n in range(_TICKS + 1)]
    return OverTime(
        by,
        legend,
        blocks,
        [(y(step * n), _number(step * n)) for n in range(round(top / step) + 1)],
        [(x(tick), moment(tick)[shown]) for tick in ticks],
    )


class ChartLine(NamedTuple):
    """A value of a digest over time, as steps."""

    title: str
    """What it is, and the largest value."""
    path: str
    """The path of an SVG, WIDTH wide and LINE_HEIGHT high; it has gaps where nothing ran."""


def lines_of(digest: ReportDigest, report: DigestReport) -> list[ChartLine]:
    """Return the average and the queries a second over time; none without a history."""
    if not digest.over_time:
        return []
    seconds = [interval.end - interval.start for interval in report.intervals]
    averages = [load.average if load.count_star else None for load in digest.over_time]
    rates = [
        load.count_star / length for load, length in zip(digest.over_time, seconds, strict=True)
    ]
    most = max((average for average in averages if average is not None), default=0.0)
    return [
        ChartLine(f"Average, up to {time_text(most)}", _steps(report, averages, most)),
        ChartLine(
            f"Queries a second, up to {number_text(max(rates))}",
            _steps(report, [rate or None for rate in rates], max(rates)),
        ),
    ]


def _steps(report: DigestReport, values: Sequence[float | None], most: float) -> str:
    """Return a path with a level for each interval; None is a gap."""
    start, end = report.intervals[0].start, report.intervals[-1].end

    def parts() -> Iterator[str]:
        was_there = False
        for interval, value in zip(report.intervals, values, strict=True):
            if value is not None:
                left, right = (
                    round(WIDTH * (at - start) / (end - start), 1)
                    for at in (interval.start, interval.end)
                )
                height = round(LINE_HEIGHT * (1 - value / most), 1) if most else LINE_HEIGHT
                yield f"V{height}" if was_there else f"M{left} {height}"
                yield f"H{right}"
            was_there = value is not None

    return "".join(parts())


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
            f"{name}: {counted(load.count_star, 'query')}, {time_text(load.sum_time)}",
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
