"""The page about the cost of query rules, and its picture, from measured numbers.

`python -m tests.bench.rules_cost` measures them on a real ProxySQL.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from docs import markdown, notes

MEASURED = Path(__file__).parent / "pictures" / "rules-cost.csv"
SHAPES = {
    "no_sharding": "no sharding",
    "per_table": "one rule a table",
    "per_hostgroup": "rules per hostgroup",
    "fast_routing": "by schema, fast routing",
}
"""The shapes of the rules, in the order of the table, with their names."""
_IS_SPLIT = {"False": "no", "True": "yes"}


def rules_cost() -> Iterator[str]:
    """Yield the lines of the page."""
    yield from markdown.head("What rules cost", notes.RULES_COST)
    alt = "Microseconds of a query, by the shape of the rules and the number of tables"
    yield f'<img src="../pictures/rules-cost.svg" alt="{alt}" width="760">'
    yield ""
    titles = ("tables", "read/write split", "shape", "rules", "microseconds", "queries a second")
    yield from markdown.table(titles, (_row(one) for one in measured()))
    yield notes.RULES_COST_CONCLUSIONS


def measured() -> list[dict[str, str]]:
    """Return the measured costs. Shape: the columns of the file, as text."""
    with MEASURED.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _row(one: dict[str, str]) -> Sequence[str]:
    return (
        f"{int(one['names']):,}",
        _IS_SPLIT[one["is_split"]],
        SHAPES[one["shape"]],
        f"{int(one['rules']):,}",
        f"{float(one['us_per_query']):,.0f}",
        f"{float(one['queries_per_s']):,.0f}",
    )


# The picture -------------------------------------------------------------------------------------

_WIDTH, _BAR, _GAP, _LEFT, _RIGHT, _TOP = 760, 18, 16, 190, 70, 58
_COLOURS = {
    "no_sharding": "#8c959f",
    "per_table": "#cf222e",
    "per_hostgroup": "#1a7f37",
    "fast_routing": "#0969da",
}
_FIRST, _LAST = 10, 10_000
"""The ends of the axis. Unit: microseconds."""


def picture() -> Iterator[str]:
    """Yield the lines of a bar chart of the costs without a split, on a logarithmic axis."""
    shown = [one for one in measured() if one["is_split"] == "False"]
    sizes = list(dict.fromkeys(one["names"] for one in shown))
    height = _TOP + len(shown) * _BAR + len(sizes) * _GAP + 40
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}"'
        ' font-family="sans-serif" font-size="13">'
    )
    yield f'<rect width="{_WIDTH}" height="{height}" rx="6" fill="#ffffff"/>'
    yield _text(16, 24, "ProxySQL's processor time for a query, in microseconds", weight="bold")
    yield _text(16, 42, "logarithmic; point selects through ProxySQL 2.7.1", colour="#57606a")
    bottom = height - 30
    for power in range(int(math.log10(_FIRST)), int(math.log10(_LAST)) + 1):
        x = _x(10**power)
        yield f'<path d="M{x:.1f} {_TOP - 6}V{bottom}" stroke="#d0d7de"/>'
        yield _text(x, bottom + 18, f"{10**power:,}", anchor="middle", colour="#57606a")
    y = _TOP
    for size in sizes:
        for one in (one for one in shown if one["names"] == size):
            if one["shape"] == "no_sharding":
                yield _text(16, y + 13, f"{int(size):,} tables", weight="bold")
            yield from _bar(one, y)
            y += _BAR
        y += _GAP
    yield "</svg>"


def _bar(one: dict[str, str], y: int) -> Iterator[str]:
    cost, shape = float(one["us_per_query"]), one["shape"]
    width = _x(cost) - _LEFT
    yield _text(_LEFT - 8, y + 13, SHAPES[shape].partition(",")[0], anchor="end", size=12)
    yield (
        f'<rect x="{_LEFT}" y="{y + 1}" width="{width:.1f}" height="{_BAR - 3}"'
        f' fill="{_COLOURS[shape]}"/>'
    )
    yield _text(_LEFT + width + 6, y + 13, f"{cost:,.0f}")


def _x(cost: float) -> float:
    part = math.log10(cost / _FIRST) / math.log10(_LAST / _FIRST)
    return _LEFT + part * (_WIDTH - _LEFT - _RIGHT)


def _text(
    x: float,
    y: float,
    text: str,
    *,
    anchor: str = "start",
    weight: str = "normal",
    size: int = 13,
    colour: str = "#1f2328",
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y}" text-anchor="{anchor}" font-weight="{weight}"'
        f' font-size="{size}" fill="{colour}">{text}</text>'
    )
