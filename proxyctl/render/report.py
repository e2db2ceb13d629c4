"""A report on digests as one HTML file that asks nothing of the network.

Every number has its unit, every text of a server is safe.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from proxyctl.errors import counted
from proxyctl.render.charts import charts
from proxyctl.render.style import moment, name_text, percent, seen_hostgroup
from proxyctl.render.table import Column
from proxyctl.stats.report import Report, ReportDigest
from proxyctl.stats.units import time_text
from proxyctl.text import printable

_TEXTS = 2_000_000
"""Bytes that all query texts may take in the page."""
_LONGEST = 16_384
_SHORTEST = 250
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
class Line:
    """A digest in the table: its texts beside those of the columns."""

    rank: int
    counted: ReportDigest
    digest: str
    text: str
    left_out: int
    is_cut: bool
    hostgroups: str
    schemas: str
    users: str


@dataclass(frozen=True)
class Page:
    """The texts of a page. `facts` are pairs of a name and a value."""

    title: str
    period: str
    facts: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    columns: tuple[Column[ReportDigest], ...]
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
        columns=_columns(report),
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
        what = f"Everything counted from {start} to {end}: {length}."
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
            f"{more}: the counts between the previous snapshot and the reset are lost."
        )


def _listed(report: Report) -> str:
    if report.count == len(report.digests):
        return f"All {counted(report.count, 'digest')}." if report.count else ""
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
            counted=digest,
            digest=name_text(digest.digest),
            text=text,
            left_out=left_out,
            is_cut=bool(origin.max_length) and size >= (origin.max_length or 0),
            hostgroups=_names(
                (seen_hostgroup(number, origin.hostgroup_names) for number in digest.hostgroups),
                len(digest.hostgroups),
            ),
            schemas=_names(digest.schemas, len(digest.schemas)),
            users=_names(digest.users, len(digest.users)),
        )


def _columns(report: Report) -> tuple[Column[ReportDigest], ...]:
    """Return the columns of numbers; the page is sorted by their values."""
    return (
        Column("Share", lambda one: percent(one.time, report.time), lambda one: one.time),
        Column("Total time", lambda one: time_text(one.time), lambda one: one.time),
        Column("Calls", lambda one: f"{one.calls:,}", lambda one: one.calls),
        Column("Average", lambda one: time_text(one.average), lambda one: one.average),
        Column("Maximum", lambda one: time_text(one.max_time), lambda one: one.max_time),
        Column("Rows a call", lambda one: f"{_rows(one):,.1f}", _rows),
    )


def _rows(digest: ReportDigest) -> float:
    return digest.rows / digest.calls


def fitted(texts: Sequence[str]) -> list[tuple[str, int]]:
    """Return texts that are safe to show, cut so that the page stays small.

    Shape: a text, and how many of its characters were left out; all are cut at the same length.
    """
    safe = [printable(text) for text in texts]
    length = _LONGEST
    while length > _SHORTEST and sum(len(escape(text[:length]).encode()) for text in safe) > _TEXTS:
        length //= 2
    return [(text[:length], max(0, len(text) - length)) for text in safe]


def _names(names: Iterable[str], count: int) -> str:
    shown = [name_text(name) or "(none)" for name, _ in zip(names, range(_NAMES), strict=False)]
    more = f" +{count - _NAMES}" if count > _NAMES else ""
    return ", ".join(shown) + more


def report_html(report: Report, origin: Origin, templates: Path) -> str:
    """Return the page, made with the templates of the folder `templates`.

    Only the page's own script and style run: a Content-Security-Policy names them by their hashes,
    so that nothing in a query, a name or a chart can.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    script = (templates / "report.js").read_text(encoding="utf-8")
    style = (templates / "report.css").read_text(encoding="utf-8")
    environment = Environment(
        loader=FileSystemLoader(templates),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html").render(
        page=digest_page(report, origin),
        # What the library wrote is escaped; no text of a server stands in these two files.
        charts=[(chart, Markup(chart.svg)) for chart in charts(report, origin.hostgroup_names)],  # noqa: S704
        script=Markup(script),  # noqa: S704
        style=Markup(style),  # noqa: S704
        script_hash=_hash(script),
        style_hash=_hash(style),
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
