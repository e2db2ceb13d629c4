"""The charts of a report on digests, as SVG for its page: no script, and colours by class only.

Colours are the classes `c0` to `c6` on what is drawn, which the page's style sheet knows; every
hostgroup has its own in all charts, and those that are not among the first share the last.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from itertools import accumulate
from typing import Any
from xml.etree import ElementTree as Xml

from proxyctl.render.style import moment, name_text, percent, seen_hostgroup
from proxyctl.render.svg import classes_of, short, svg_of
from proxyctl.stats.model import CACHE
from proxyctl.stats.report import Interval, Part, Report, first_parts
from proxyctl.stats.units import time_text

COLOURS = 7
_TILES = 40
_BARS = 7
_LABEL = 18
_TICKS = 9


@dataclass(frozen=True)
class Chart:
    """A chart. Shape: `legend` has pairs of a class of a colour and what it stands for."""

    title: str
    about: str = ""
    svg: str = ""
    legend: tuple[tuple[str, str], ...] = ()
    is_wide: bool = True


def charts(report: Report, hostgroup_names: Mapping[int, str]) -> list[Chart]:
    """Return the charts of a report. Raises: ProxyctlError when the library is not installed."""
    if not report.time:
        return []
    palette = _Palette(report.hostgroups, hostgroup_names)
    made = []
    if report.intervals:
        made.append(_load(report.intervals, palette))
        made.append(_rate(report.intervals))
    made.append(_treemap(report, palette))
    made.extend(
        _bars(report, parts, title, palette)
        for title, parts in (
            ("By hostgroup", report.hostgroups),
            ("By schema", report.schemas),
            ("By user", report.users),
        )
    )
    return made


@cache
def _pygal() -> Any:  # noqa: ANN401
    """Return the library that draws; it has no types, and is slow to import."""
    import pygal

    # It leaves an import hook of an old kind behind, for maps, at which later imports stumble.
    sys.meta_path[:] = [hook for hook in sys.meta_path if type(hook).__module__ != "pygal"]
    return pygal


def part_text(part: Part) -> str:
    """Return the name of a part; there are queries without a schema."""
    return name_text(part.name) or "(none)"


class _Palette:
    """The colours of hostgroups, and what they are called."""

    def __init__(self, hostgroups: Sequence[Part], names: Mapping[int, str]) -> None:
        self._numbers = [int(part.name) for part in hostgroups]
        self._names = names
        self._is_full = len(self._numbers) > COLOURS

    def number(self, hostgroup: int) -> int:
        place = self._numbers.index(hostgroup)
        return min(place, COLOURS - 1)

    def label(self, part: Part) -> str:
        """Return what the part of a hostgroup, or that of all the others, is called."""
        is_hostgroup = part.name.lstrip("-").isdecimal()
        return seen_hostgroup(int(part.name), self._names) if is_hostgroup else part.name

    def legend(self) -> tuple[tuple[str, str], ...]:
        kept = COLOURS - 1 if self._is_full else COLOURS
        shown = [(f"c{n}", self._long(number)) for n, number in enumerate(self._numbers[:kept])]
        if self._is_full:
            shown.append((f"c{COLOURS - 1}", "other hostgroups"))
        return tuple(shown)

    def _long(self, hostgroup: int) -> str:
        text = seen_hostgroup(hostgroup, self._names)
        return text if hostgroup == CACHE else f"hostgroup {text}"


def _load(intervals: Sequence[Interval], palette: _Palette) -> Chart:
    levels: dict[str, list[float]] = {}
    for number, interval in enumerate(intervals):
        for hostgroup, time in interval.by_hostgroup.items():
            layer = levels.setdefault(f"c{palette.number(hostgroup)}", [0.0] * len(intervals))
            layer[number] += time / 1e6 / (interval.end - interval.start)
    return _areas(
        Chart(
            "Load over time",
            "Queries running at once: seconds of query time in a second.",
            legend=palette.legend(),
        ),
        intervals,
        dict(sorted(levels.items())),
    )


def _rate(intervals: Sequence[Interval]) -> Chart:
    rates = [interval.calls / (interval.end - interval.start) for interval in intervals]
    return _areas(Chart("Queries a second"), intervals, {"plain": rates})


def _areas(
    chart: Chart, intervals: Sequence[Interval], layers: Mapping[str, Sequence[float]]
) -> Chart:
    """Draw layers on top of each other, by their class. The sum of all comes first."""
    start, end = intervals[0].start, intervals[-1].end
    pattern = "%H:%M:%S" if end - start < 600 else "%H:%M" if end - start < 86400 else "%m-%d %H:%M"
    drawn = _pygal().XY(
        **_common(1160, 240), xrange=(start, end), include_x_axis=True, max_scale=6, fill=True
    )
    drawn.x_labels = [
        {"value": tick, "label": _clock(tick, pattern)} for tick in _ticks(start, end)
    ]
    drawn.x_value_formatter = moment
    drawn.value_formatter = lambda value: f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"
    levels = list(accumulate(layers.values(), _added))
    for level in reversed(levels):
        drawn.add("", _steps(intervals, level), show_dots=False)
    classes = [f"area {name}" for name in reversed(list(layers))]
    legend = chart.legend
    if resets := _resets(intervals, max(levels[-1])):
        drawn.add("", resets, stroke=False, fill=False, show_dots=True, dots_size=5)
        classes.append("reset")
        legend = (*legend, ("reset", "statistics reset in this interval"))
    return replace(chart, svg=svg_of(drawn, chart.title, classes), legend=legend)


def _added(one: Sequence[float], other: Sequence[float]) -> Sequence[float]:
    return [a + b for a, b in zip(one, other, strict=True)]


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


def _steps(intervals: Sequence[Interval], levels: Sequence[float]) -> list[tuple[float, float]]:
    return [
        point
        for interval, level in zip(intervals, levels, strict=True)
        for point in ((interval.start, level), (interval.end, level))
    ]


def _resets(intervals: Sequence[Interval], top: float) -> list[dict[str, object]]:
    """Return a mark in the middle of each interval with a reset."""
    return [
        {"value": ((i.start + i.end) / 2, top), "label": "reset or restarted in this interval"}
        for i in intervals
        if i.is_reset
    ]


def _treemap(report: Report, palette: _Palette) -> Chart:
    chart = _pygal().Treemap(**_common(1160, 380))
    chart.value_formatter = lambda value: f"{percent(value, report.time)}, {time_text(value)}"
    tiles: list[dict[str, object]] = []
    for digest in report.digests[:_TILES]:
        if digest.time:
            colour = palette.number(digest.hostgroups[0])
            tiles.append(_tile(digest.time, short(digest.text, 200), f"c{colour}"))
    rest = report.time - sum(digest.time for digest in report.digests[:_TILES])
    if rest > 0:
        others = f"{report.count - min(_TILES, len(report.digests)):,} other digests"
        tiles.append(_tile(rest, others, "rest"))
    chart.add("", tiles)
    legend = (*palette.legend(), ("rest", "other digests")) if rest > 0 else palette.legend()
    return Chart(
        "Query time by digest",
        "The area shows the share of the query time, the colour the hostgroup with most of it.",
        svg_of(chart, "Share of the query time by digest", label=_label_tiles),
        legend,
    )


def _tile(time: int, label: str, colour: str) -> dict[str, object]:
    return {"value": time, "label": label, "node": {"class": f"tile {colour}"}}


def _bars(report: Report, parts: Sequence[Part], title: str, palette: _Palette) -> Chart:
    is_hostgroup = parts is report.hostgroups
    name_of = palette.label if is_hostgroup else part_text
    shown = first_parts(parts, _BARS)[::-1]
    most = max(part.time for part in shown)
    chart = _pygal().HorizontalBar(
        **_common(400, 40 + 26 * len(shown)),
        print_values=True,
        print_values_position="top",
        range=(0, most * 1.3),
        show_x_labels=False,
        # Makes room for the labels: as large as the page's style sheet writes them.
        style=_pygal().style.Style(label_font_size=12),
        margin_left=16,
        spacing=4,
    )
    chart.x_labels = [name_text(name_of(part), _LABEL) for part in shown]
    chart.value_formatter = lambda value: percent(value, report.time)
    bars = []
    for part in shown:
        known = is_hostgroup and part in parts
        colour = "rest" if is_hostgroup else "plain"
        if known:
            colour = f"c{palette.number(int(part.name))}"
        label = f"{name_of(part)}: {part.calls:,} queries, {time_text(part.time)}"
        bars.append({"value": part.time, "label": label, "node": {"class": f"bar {colour}"}})
    chart.add("", bars)
    return Chart(
        title, "", svg_of(chart, f"Share of the query time {title.lower()}"), is_wide=False
    )


def _common(width: int, height: int) -> dict[str, object]:
    return {
        "width": width,
        "height": height,
        "css": (),
        "js": (),
        "show_legend": False,
        "margin": 8,
        "no_data_text": "",
    }


def _label_tiles(root: Xml.Element) -> None:
    """Write on every tile what it stands for, as far as there is room; cut the margin off."""
    plot = next(e for e in root.iter("g") if "plot" in classes_of(e))
    left, top, right, bottom = math.inf, math.inf, 0.0, 0.0
    for group in list(plot.iter("g")):
        for rect in [one for one in group if one.tag == "rect" and "tile" in classes_of(one)]:
            x, y, width, height = (
                float(rect.attrib[name]) for name in ("x", "y", "width", "height")
            )
            left, top = min(left, x), min(top, y)
            right, bottom = max(right, x + width), max(bottom, y + height)
            _label_tile(group, rect, width, height)
    plot.attrib.pop("transform", None)
    root.set("viewBox", f"{left:.1f} {top:.1f} {right - left:.1f} {bottom - top:.1f}")


def _label_tile(group: Xml.Element, rect: Xml.Element, width: float, height: float) -> None:
    """Write lines as long as there is room for all of their letters; about as wide as they are."""
    if width < 44 or height < 18:
        return
    label, _, value = group.findtext("title", "").rpartition("\n")
    share = value.partition(",")[0]
    box = Xml.SubElement(group, "svg")
    box.attrib = {name: rect.attrib[name] for name in ("x", "y", "width", "height")}
    lines = [*_wrapped(label, int((width - 10) / 6.4), int((height - 20) / 14)), share]
    for number, line in enumerate(lines):
        text = Xml.SubElement(box, "text", {"x": "5", "y": str(15 + 14 * number)})
        text.text = line
        if number == len(lines) - 1:
            text.set("class", "value")


def _wrapped(text: str, width: int, height: int) -> list[str]:
    """Return the first lines of a text. A word, which ends at a blank or a comma, stays whole."""
    if width < 8 or height < 1:
        return []
    lines = [""]
    for word in re.findall(r"[^\s,]*(?:,+|\s+|$)", text):
        if len((lines[-1] + word).rstrip()) <= width:
            lines[-1] += word
        elif len(lines) < height and len(word.rstrip()) <= width:
            lines.append(word)
        else:
            # No room for more: the text goes on.
            lines[-1] = f"{lines[-1].rstrip()}…"
            break
    return [line.rstrip() for line in lines if line.strip()]
