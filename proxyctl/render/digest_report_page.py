"""The page of a report on digests: one HTML file that asks nothing of the network."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

from proxyctl.render.digest_report import Origin, digest_page
from proxyctl.render.digest_report_charts import charts
from proxyctl.stats.report import Report


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
