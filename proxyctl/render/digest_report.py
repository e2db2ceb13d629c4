"""A report on digests as the texts of its page: every number with its unit, every text safe."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from html import escape

from proxyctl.render.style import seen_hostgroup
from proxyctl.stats.report import Part, Report, ReportDigest
from proxyctl.stats.units import count_text, share_text, time_text
from proxyctl.text import printable

_TEXTS = 2_000_000
"""Bytes that all query texts may take in the page."""
_LONGEST = 16_384
_SHORTEST = 250
_NAME = 64
_NAMES = 2


@dataclass(frozen=True)
class Origin:
    """Where the digests of a report come from.

    Shape: `snapshots` is how many files there were, 0 for a live instance. `max_length` is
    mysql-query_digests_max_digest_length, in bytes; None where it is not known. `hostgroup_names`
    are those of the files, by number.
    """

    name: str
    address: str
    version: str
    snapshots: int
    max_length: int | None = None
    notes: tuple[str, ...] = ()
    hostgroup_names: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Cell:
    """What a cell shows, and the number it is sorted by."""

    shown: str
    number: float


@dataclass(frozen=True)
class Line:
    """A digest in the table; `cells` are in the order of `COLUMNS`."""

    rank: int
    digest: str
    text: str
    left_out: int
    is_cut: bool
    cells: tuple[Cell, ...]
    hostgroups: str
    schemas: str
    users: str


COLUMNS = ("Share", "Total time", "Calls", "Average", "Maximum", "Rows a call")


@dataclass(frozen=True)
class Page:
    """The texts of a page. `facts` are pairs of a name and a value."""

    title: str
    period: str
    facts: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    columns: tuple[str, ...]
    lines: tuple[Line, ...]
    listed: str
    is_difference: bool


def digest_page(report: Report, origin: Origin) -> Page:
    """Return the texts of the page."""
    seconds = report.end - report.start
    facts = [
        ("Query time", time_text(report.time)),
        ("Queries", f"{report.calls:,}"),
        ("Digests", f"{report.count:,}"),
        ("Average", time_text(report.time / report.calls) if report.calls else "-"),
    ]
    if report.intervals and seconds:
        facts.append(("Queries a second", f"{report.calls / seconds:,.1f}"))
        facts.append(("Running at once", f"{report.time / 1e6 / seconds:,.2f}"))
    return Page(
        title=name_text(origin.name),
        period=_period(report, origin),
        facts=tuple(facts),
        notes=tuple(map(printable, (*_notes(report), *origin.notes))),
        columns=COLUMNS,
        lines=tuple(_lines(report, origin)),
        listed=_listed(report),
        is_difference=bool(report.intervals),
    )


def _period(report: Report, origin: Origin) -> str:
    start, end = moment(report.start), moment(report.end)
    length = time_text((report.end - report.start) * 1e6)
    if report.intervals:
        between = f"between {origin.snapshots} snapshots, {start} and {end}"
        what = f"What was counted {between}: {length}."
    else:
        what = f"All that was counted from {start} to {end}: {length}."
    address = f" at {name_text(origin.address)}" if origin.address != origin.name else ""
    return f"ProxySQL {name_text(origin.version)}{address}. {what}"


def _notes(report: Report) -> Iterable[str]:
    if not report.count:
        yield "No queries were counted."
    resets = [interval for interval in report.intervals if interval.is_reset]
    if resets:
        when = ", ".join(moment(interval.end) for interval in resets[:5])
        more = f" and {len(resets) - 5} more" if len(resets) > 5 else ""
        yield (
            f"The statistics were reset, or ProxySQL was restarted, before the snapshot of {when}"
            f"{more}: what was counted between the snapshot before and the reset is lost."
        )


def _listed(report: Report) -> str:
    if report.count == len(report.digests):
        return f"All {count_text(report.count, 'digest')}." if report.count else ""
    return (
        f"{len(report.digests):,} of {report.count:,} digests: those among the first"
        f" {report.limit:,} by total time, calls, average or maximum. Totals, shares and the load"
        " over time are of all."
    )


def _lines(report: Report, origin: Origin) -> Iterable[Line]:
    texts = fitted([digest.text for digest in report.digests])
    for rank, (digest, (text, left_out)) in enumerate(
        zip(report.digests, texts, strict=True), start=1
    ):
        # Each surrogate escape, which stands for one byte, is replaced by one byte.
        size = len(digest.text.encode("utf-8", "replace"))
        yield Line(
            rank=rank,
            digest=name_text(digest.digest),
            text=text,
            left_out=left_out,
            is_cut=bool(origin.max_length) and size >= (origin.max_length or 0),
            cells=_cells(digest, report),
            hostgroups=_names(
                (seen_hostgroup(number, origin.hostgroup_names) for number in digest.hostgroups),
                len(digest.hostgroups),
            ),
            schemas=_names(digest.schemas, len(digest.schemas)),
            users=_names(digest.users, len(digest.users)),
        )


def _cells(digest: ReportDigest, report: Report) -> tuple[Cell, ...]:
    rows = digest.rows / digest.calls
    return (
        Cell(percent(digest.time, report.time), digest.time),
        Cell(time_text(digest.time), digest.time),
        Cell(f"{digest.calls:,}", digest.calls),
        Cell(time_text(digest.average), digest.average),
        Cell(time_text(digest.max_time), digest.max_time),
        Cell(f"{rows:,.1f}", rows),
    )


def fitted(texts: Sequence[str]) -> list[tuple[str, int]]:
    """Return texts that are safe to show, cut so that the page stays small.

    Shape: a text, and how many of its characters were left out; all are cut at the same length.
    """
    safe = [printable(text) for text in texts]
    length = _LONGEST
    while length > _SHORTEST and sum(_size(text[:length]) for text in safe) > _TEXTS:
        length //= 2
    return [(text[:length], max(0, len(text) - length)) for text in safe]


def _size(text: str) -> int:
    return len(escape(text).encode())


def name_text(name: str) -> str:
    """Return a name of a server that is safe to show, and short."""
    text = printable(name)
    return text if len(text) <= _NAME else f"{text[: _NAME - 1]}…"


def part_text(part: Part) -> str:
    """Return the name of a part; there are queries without a schema."""
    return name_text(part.name) or "(none)"


def _names(names: Iterable[str], count: int) -> str:
    shown = [name_text(name) or "(none)" for name, _ in zip(names, range(_NAMES), strict=False)]
    more = f" +{count - _NAMES}" if count > _NAMES else ""
    return ", ".join(shown) + more


def percent(part: float, whole: float) -> str:
    """Return a share of the whole."""
    return share_text(part / whole) if whole else "-"


def moment(seconds: float) -> str:
    """Return a moment for people; ProxySQL's clock is read as UTC."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):
        return f"{seconds:.0f} s"
