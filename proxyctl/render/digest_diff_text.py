"""A comparison of two snapshots for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from proxyctl.render.digest_diff_figures import (
    change_text,
    counts_text,
    hostgroups_text,
    name_of,
    rate_text,
    totals_of,
    verdict_text,
)
from proxyctl.render.style import PLAIN, Style, shown
from proxyctl.render.wrapped import wrapped
from proxyctl.stats.diff import LEAST_CALLS, LEAST_CHANGE, LEAST_EXPECTED, Diff, Entry, Verdict
from proxyctl.stats.units import time_text
from proxyctl.text import printable

WIDTH = 100
"""Of a line, unless told."""
RULE = (
    f"slower, faster: at least {LEAST_CALLS} calls on both sides, and averages {LEAST_CHANGE:.0%}"
    " apart,",
    f"also without the slowest call; new, vanished: at least {LEAST_EXPECTED} calls were to be",
    "expected, at the rate of the other side; few calls: too few to tell",
)
_COLOURS = {
    Verdict.SLOWER: "delete",
    Verdict.FASTER: "add",
    Verdict.NEW: "change",
    Verdict.VANISHED: "change",
    Verdict.SAME: "dim",
    Verdict.FEW_CALLS: "dim",
}
_INDENT = 11


def digest_diff_text(
    diff: Diff,
    order: str,
    style: Style = PLAIN,
    *,
    width: int = WIDTH,
    has_whole_texts: bool = False,
) -> str:
    """Return a comparison, in lines of `width`. `has_whole_texts`: texts are not shortened."""
    lines = [style("bold", head_text(diff)), ""]
    lines.append(f"{'':<14}{'before':>20}{'after':>22}")
    lines += [
        f"{what:<14}{one:>20}{other:>22}{change:>10}".rstrip()
        for what, one, other, change in totals_of(diff)
    ]
    lines.append("")
    for text in diff.remarks.values():
        first, *others = wrapped(printable(text), width - 6)
        lines += [style("refuse", "note: ") + first, *(f"      {line}" for line in others)]
    if diff.remarks:
        lines.append("")
    if not diff.count:
        return "\n".join([*lines, "No digest has any calls."]) + "\n"
    lines += [style("bold", counts_text(diff)), *(style("dim", text) for text in RULE), ""]
    for entry in diff.entries:
        lines += _entry_lines(diff, entry, style, width, has_whole_texts=has_whole_texts)
    left = diff.count - len(diff.entries)
    lines.append(f"Listed by {order}." + (f" {left:,} more: --limit." if left else ""))
    return "\n".join(lines) + "\n"


def head_text(diff: Diff) -> str:
    """Return which instance it is."""
    side = diff.after
    name = f"{side.name}  " if side.name != side.address else ""
    return printable(f"{name}{side.address}  ProxySQL {side.version}")


def _entry_lines(
    diff: Diff, entry: Entry, style: Style, width: int, *, has_whole_texts: bool
) -> Iterator[str]:
    word = style(_COLOURS[entry.verdict], f"{verdict_text(entry):<{_INDENT}}")
    moved = style("change", "  moved") if entry.is_moved else ""
    reset = "  counters cleared in between" if entry.is_reset else ""
    yield f"{word}{name_of(diff, entry)}{moved}{reset}"
    pad = " " * _INDENT
    yield from (pad + line for line in _packed(figure_texts(diff, entry), width - _INDENT))
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


def figure_texts(diff: Diff, entry: Entry) -> list[str]:
    """Return the numbers of an entry, each as `before -> after`."""
    one, other = entry.before, entry.after
    rates = [rate_text(rate) for rate in diff.rate(entry)]
    busy = [f"{time_text(time)}/s" for time in diff.busy(entry)]
    if not other.count_star:
        where = hostgroups_text(entry.hostgroups_before, diff.hostgroup_names)
        return [f"was {busy[0]}", rates[0], f"avg {time_text(one.average)}", f"hostgroup {where}"]
    where = hostgroups_text(entry.hostgroups_after, diff.hostgroup_names)
    if not one.count_star:
        return [
            f"time {busy[1]}",
            rates[1],
            f"avg {time_text(other.average)}",
            f"hostgroup {where}",
        ]
    is_known = entry.verdict is not Verdict.FEW_CALLS
    change = change_text(one.average, other.average) if is_known else ""
    if entry.is_moved:
        where = f"{hostgroups_text(entry.hostgroups_before, diff.hostgroup_names)} -> {where}"
    return [
        f"time {busy[0]} -> {busy[1]}",
        f"{rates[0]} -> {rates[1]}",
        f"avg {time_text(one.average)} -> {time_text(other.average)}"
        + (f" ({change})" if change else ""),
        f"hostgroup {where}",
    ]
