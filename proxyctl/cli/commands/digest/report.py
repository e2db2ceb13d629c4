"""The command digest report: the statistics as a page for a browser."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from proxyctl.cli.commands.init import templates_folder
from proxyctl.cli.connect import Place
from proxyctl.cli.options import out_option, value
from proxyctl.cli.output import check_writable, say, write_file
from proxyctl.errors import ExitCode, ProxyctlError, counted
from proxyctl.stats.units import size_text

_FOLDER = "report"


def report(
    place: Place,
    out: Annotated[str, out_option(help="The page, such as report.html.")],
    snapshots: list[str] | None = typer.Argument(
        None,
        metavar="SNAPSHOT",
        help="Files that `digest snapshot` wrote. With several, the report shows what was"
        " counted between them.",
        show_default=False,
    ),
    limit: int = value(250, "N", "List the N digests with the most time.", min=1, max=500),
) -> int:
    """Write a page with charts and a table of the digests; the browser needs no network."""
    from proxyctl.render.report import report_html
    from proxyctl.stats.digest_file import read_digest_file
    from proxyctl.stats.read import read_digests
    from proxyctl.stats.report import make_report

    path = Path(out)
    _check_target(path, snapshots or [])
    if snapshots:
        tables = [read_digest_file(Path(name)) for name in snapshots]
    else:
        with place.connect() as client:
            tables = [read_digests(client)]
    made = make_report(tables, limit=limit, snapshots=len(snapshots or []))
    for note in made.notes:
        say(f"note: {note}")
    write_file(
        path, report_html(made, place.hostgroup_names(), templates_folder() / _FOLDER), mode=0o600
    )
    say(f"{counted(made.count, 'digest')} reported in {path} ({size_text(path.stat().st_size)})")
    return ExitCode.DONE


def _check_target(path: Path, snapshots: Sequence[str]) -> None:
    """Refuse a path that cannot be written, or that is one of the snapshots."""
    check_writable(path)
    if path.exists() and any(Path(name).exists() and path.samefile(name) for name in snapshots):
        raise ProxyctlError(f"{path}: cannot be written: the report reads this snapshot")
