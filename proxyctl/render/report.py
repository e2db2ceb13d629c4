"""A report on digests as one HTML file that asks nothing of the network.

Every number has its unit, every text of a server is safe.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from proxyctl.errors import counted
from proxyctl.render.charts import HEIGHT, WIDTH, bars, charts_over_time
from proxyctl.render.style import moment, name_text, percent, seen_hostgroup
from proxyctl.render.table import Column
from proxyctl.stats.report import Report, ReportDigest
from proxyctl.stats.units import time_text
from proxyctl.text import printable

_LONGEST = 2_000
"""Characters of a query text; ProxySQL keeps 2,048 bytes of it unless told otherwise."""
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


def _facts(report: Report) -> Iterator[tuple[str, str]]:
    yield "Query time", time_text(report.time)
    yield "Queries", f"{report.calls:,}"
    yield "Digests", f"{report.count:,}"
    yield "Average", time_text(report.time / report.calls) if report.calls else "-"
    if report.intervals:
        seconds = report.end - report.start
        yield "Queries a second", f"{report.calls / seconds:,.1f}"
        yield "Running at once", f"{report.time / 1e6 / seconds:,.2f}"


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


def _notes(report: Report) -> Iterator[str]:
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
        f" {report.limit:,} by total time, queries, average or maximum. Totals, shares and the load"
        " over time are of all."
    )


Ranked = tuple[int, ReportDigest]
"""A digest and its place by total time, from 1."""


def _columns(report: Report, names: Mapping[int, str]) -> tuple[Column[Ranked], ...]:
    """Return the columns of the table; the page is sorted by their values."""

    def hostgroups(one: Ranked) -> str:
        return _names([seen_hostgroup(number, names) for number in one[1].hostgroups])

    return (
        Column("#", lambda one: str(one[0]), lambda one: one[0]),
        Column("Share", lambda one: percent(one[1].time, report.time), lambda one: one[1].time),
        Column("Total time", lambda one: time_text(one[1].time), lambda one: one[1].time),
        Column("Queries", lambda one: f"{one[1].calls:,}", lambda one: one[1].calls),
        Column("Average", lambda one: time_text(one[1].average), lambda one: one[1].average),
        Column("Maximum", lambda one: time_text(one[1].max_time), lambda one: one[1].max_time),
        Column("Rows a query", lambda one: f"{_rows(one):,.1f}", _rows),
        Column("Hostgroups", hostgroups, is_number=False),
        Column("Schema", lambda one: _names(one[1].schemas), is_number=False),
        Column("User", lambda one: _names(one[1].users), is_number=False),
    )


def _rows(one: Ranked) -> float:
    return one[1].rows / one[1].calls


def _names(names: Sequence[str]) -> str:
    more = f" +{len(names) - _NAMES}" if len(names) > _NAMES else ""
    return ", ".join(name_text(name) or "(none)" for name in names[:_NAMES]) + more


def report_html(report: Report, origin: Origin, templates: Path) -> str:
    """Return the page, made with the templates of the folder `templates`.

    Only the page's own script and style run: a Content-Security-Policy names them by their hashes,
    so that nothing in a query or a name can.
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
    environment.filters["printable"] = printable
    return environment.get_template("report.html").render(
        report=report,
        origin=origin,
        title=name_text(origin.name),
        period=_period(report, origin),
        facts=_facts(report),
        notes=[*_notes(report), *origin.notes],
        columns=_columns(report, origin.hostgroup_names),
        listed=_listed(report),
        longest=_LONGEST,
        over_time=[*charts_over_time(report, origin.hostgroup_names)],
        bars=bars(report, origin.hostgroup_names),
        area=(WIDTH, HEIGHT),
        # No text of a server stands in these two files.
        script=Markup(script),  # noqa: S704
        style=Markup(style),  # noqa: S704
        script_hash=_hash(script),
        style_hash=_hash(style),
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
