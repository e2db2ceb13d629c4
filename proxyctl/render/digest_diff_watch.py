"""What went on since the last look: a table that fits the width of a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from proxyctl.control_characters import printable
from proxyctl.digests.diff import Diff
from proxyctl.digests.diff_entry import Entry
from proxyctl.digests.diff_verdict import Verdict
from proxyctl.digests.units import count_text, number_text, share_text, time_text
from proxyctl.render.digest_diff_figures import hostgroups_text, name_of, rate_text
from proxyctl.render.digest_diff_text import head_text
from proxyctl.render.style import PLAIN, Style, shown
from proxyctl.render.wrapped import wrapped

_HEADS = ("time/s", "share", "calls", "average", "rows", "hostgroup")
_WIDTHS = (10, 7, 8, 9, 7, 13)
_WIDE = 130
"""From here on there is room for the text beside its digest."""
_INDENT = "    "


def digest_watch_text(diff: Diff, style: Style = PLAIN, *, width: int = 100) -> str:
    """Return the table of one interval; its lines are cut to `width`."""
    side = diff.after
    moment = datetime.fromtimestamp(side.taken_at, UTC)
    busy = side.total.time / side.seconds
    lines = [
        style("bold", f"{head_text(diff)}  {moment:%H:%M:%S} UTC"[:width]),
        f"{side.seconds} s: {rate_text(side.total.calls / side.seconds)}, query time"
        f" {time_text(busy)}/s, {count_text(diff.active, 'digest')}"[:width],
        *_notes(diff, style, width),
        "",
    ]
    shown_ = [entry for entry in diff.entries if entry.after.calls]
    if not shown_:
        return "\n".join([*lines, "No queries in this time."]) + "\n"
    lines.append(style("dim", _line(_HEADS, "digest", width)))
    for entry in shown_:
        lines += _entry_lines(diff, entry, width)
    return "\n".join(lines) + "\n"


def _notes(diff: Diff, style: Style, width: int) -> Iterator[str]:
    for text in diff.remarks.values():
        first, *others = wrapped(printable(text), max(width - 6, 20))
        yield style("refuse", "note: ") + first
        yield from (f"      {line}" for line in others)


def _cells(diff: Diff, entry: Entry) -> tuple[str, ...]:
    total = diff.after.total.time
    calls, busy = diff.rate(entry)[1], diff.busy(entry)[1]
    return (
        time_text(busy),
        share_text(entry.after.time / total) if total else "",
        rate_text(calls),
        time_text(entry.after.average),
        number_text(entry.after.rows_sent / entry.after.calls),
        hostgroups_text(entry.hostgroups_after),
    )


def _entry_lines(diff: Diff, entry: Entry, width: int) -> Iterator[str]:
    """Yield the line of an entry; where its text would hardly begin there, one more for that."""
    what = ["new"] if entry.verdict is Verdict.NEW else []
    what.append(name_of(diff, entry))
    text = shown(entry.text, limit=width) if entry.text else ""
    if width >= _WIDE:
        yield _line(_cells(diff, entry), "  ".join([*what, text]), width)
        return
    yield _line(_cells(diff, entry), "  ".join(what), width)
    if text:
        yield f"{_INDENT}{text}"[:width]


def _line(cells: Sequence[str], last: str, width: int) -> str:
    text = "".join(f"{cell:>{wide}}" for cell, wide in zip(cells, _WIDTHS, strict=True))
    return f"{text}  {last}"[:width].rstrip()
