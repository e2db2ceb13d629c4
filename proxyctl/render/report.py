"""Renders a report on digests as one HTML file that loads nothing from the network.

Every number has its unit, and every text from a server is escaped.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from math import inf
from operator import attrgetter
from pathlib import Path

from proxyctl.render.charts import (
    HEIGHT,
    LINE_HEIGHT,
    WIDTH,
    bars,
    charts_over_time,
    lines_of,
)
from proxyctl.render.style import listed_names, moment, name_text, percent, seen_hostgroup
from proxyctl.render.table import TableColumn
from proxyctl.stats.model import DigestTable
from proxyctl.stats.report import DigestReport, ReportDigest
from proxyctl.stats.units import time_text
from proxyctl.text import counted, printable

_LONGEST = 2_000
"""The most characters of a query text; by default, ProxySQL keeps 2,048 bytes."""
_NAMES = 2


def _facts(report: DigestReport) -> Iterator[tuple[str, str]]:
    total, seconds = report.total, report.end - report.start
    yield "Query time", time_text(total.sum_time)
    yield "Queries", f"{total.count_star:,}"
    yield "Digests", f"{report.count:,}"
    yield "Average", time_text(total.average) if total.count_star else "-"
    if report.intervals:
        yield "Queries a second", f"{total.count_star / seconds:,.1f}"
        yield "Running at once", f"{total.sum_time / 1e6 / seconds:,.2f}"


def _period(report: DigestReport) -> str:
    start, end = moment(report.start), moment(report.end)
    if len(report.tables) > 1:
        versions = " and ".join(sorted({name_text(table.version) for table in report.tables}))
        return (
            f"ProxySQL {versions} on {len(report.tables)} instances. Everything that they counted,"
            f" the earliest since {start}, until {end}."
        )
    table = report.tables[-1]
    counts = f"Everything counted from {start} to {end}"
    if report.snapshots:
        counts = f"What was counted between {report.snapshots} snapshots, {start} and {end}"
    address = f" at {name_text(table.address)}" if table.address != table.name else ""
    length = time_text((report.end - report.start) * 1e6)
    return f"ProxySQL {name_text(table.version)}{address}. {counts}: {length}."


def _notes(report: DigestReport) -> Iterator[str]:
    if not report.count:
        yield "No queries were counted."
    if cleared := [moment(interval.end) for interval in report.intervals if interval.is_cleared]:
        more = f" and {len(cleared) - 5} more" if len(cleared) > 5 else ""
        when = "the snapshot of " if report.snapshots else ""
        reading = "snapshot" if report.snapshots else "collection"
        yield (
            f"The statistics were reset, or ProxySQL was restarted, before {when}"
            f"{', '.join(cleared[:5])}{more}: the counts between the previous {reading} and the"
            " reset are lost."
        )
    yield from report.notes


def _listed(report: DigestReport) -> str:
    if report.count == len(report.digests):
        return f"All {counted(report.count, 'digest')}."
    return (
        f"{len(report.digests):,} of {report.count:,} digests: the digests with the most time."
        " Totals, shares and the load over time cover all digests."
    )


def _columns(
    report: DigestReport, names: Mapping[int, str]
) -> tuple[TableColumn[ReportDigest], ...]:
    """Return the columns of the table; the page can be sorted by their values."""

    def hostgroups(digest: ReportDigest) -> str:
        return _names([seen_hostgroup(int(part.name), names) for part in digest.hostgroups])

    def rows(digest: ReportDigest) -> float:
        return digest.load.rows / digest.load.count_star

    time, total = attrgetter("load.sum_time"), report.total.sum_time
    average, most = attrgetter("load.average"), attrgetter("load.max_time")
    return (
        TableColumn("#", lambda digest: str(digest.place), attrgetter("place")),
        TableColumn("Share", lambda digest: percent(time(digest), total), time),
        TableColumn("Total time", lambda digest: time_text(time(digest)), time),
        TableColumn(
            "Queries", lambda digest: f"{digest.load.count_star:,}", attrgetter("load.count_star")
        ),
        TableColumn("Average", lambda digest: time_text(average(digest)), average),
        TableColumn("Maximum", lambda digest: time_text(most(digest)), most),
        TableColumn("Rows a query", lambda digest: f"{rows(digest):,.1f}", rows),
        TableColumn("Hostgroups", hostgroups, is_number=False),
        TableColumn(
            "Schema", lambda digest: _names([p.name for p in digest.schemas]), is_number=False
        ),
        TableColumn("User", lambda digest: _names([p.name for p in digest.users]), is_number=False),
        *((_INSTANCES,) if report.instances else ()),
    )


_INSTANCES: TableColumn[ReportDigest] = TableColumn(
    "Instances", lambda digest: _names([part.name for part in digest.instances]), is_number=False
)


def _names(names: Sequence[str]) -> str:
    more = f" +{len(names) - _NAMES}" if len(names) > _NAMES else ""
    return ", ".join(name_text(name) or "(none)" for name in names[:_NAMES]) + more


def report_html(report: DigestReport, names: Mapping[int, str], templates: Path) -> str:
    """Render the page with the templates of the folder `templates`.

    `names`: the hostgroup names from the files. A Content-Security-Policy allows only the page's
    own script and style, by hash, so that no script in a query or a name can run.
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
        title=listed_names([name_text(table.name) for table in report.tables]),
        period=_period(report),
        facts=_facts(report),
        notes=_notes(report),
        columns=_columns(report, names),
        listed=_listed(report),
        longest=_LONGEST,
        cut_at=_cut_at(report.tables),
        charts=charts_over_time(report, names),
        lines=lambda digest: lines_of(digest, report),
        bars=bars(report, names),
        area=(WIDTH, HEIGHT),
        line_height=LINE_HEIGHT,
        # These two files contain no text from a server.
        script=Markup(script),  # noqa: S704
        style=Markup(style),  # noqa: S704
        script_hash=_hash(script),
        style_hash=_hash(style),
    )


def _cut_at(tables: Sequence[DigestTable]) -> float:
    """Return the bytes at which ProxySQL cuts texts."""
    name = "mysql-query_digests_max_digest_length"
    lengths = [table.variables.get(name, "") for table in tables]
    return max((int(text) for text in lengths if text.isdecimal()), default=inf)


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
