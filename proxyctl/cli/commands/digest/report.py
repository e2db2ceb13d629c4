"""The command digest report: the statistics as a page for a browser."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proxyctl.cli.commands.init import templates_folder
from proxyctl.cli.connect import Place
from proxyctl.cli.options import out_option, value
from proxyctl.cli.output import check_writable, say, write_file
from proxyctl.errors import ExitCode, ProxyctlError, UsageError, counted
from proxyctl.stats.model import NOT_COUNTING, is_counting
from proxyctl.stats.units import size_text

if TYPE_CHECKING:
    from proxyctl.render.report import Origin
    from proxyctl.stats.model import DigestTable

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
    limit: int = value(
        250, "N", "List the first N digests in each of the four sort orders.", min=1, max=500
    ),
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
    try:
        made = make_report(tables, limit=limit)
    except ValueError as error:
        raise UsageError(str(error), fix="leave one of them out") from error
    origin = _origin(tables, len(snapshots or []), place.hostgroup_names())
    for note in origin.notes:
        say(f"note: {note}")
    write_file(path, report_html(made, origin, templates_folder() / _FOLDER), mode=0o600)
    say(f"{counted(made.count, 'digest')} reported in {path} ({size_text(path.stat().st_size)})")
    return ExitCode.DONE


def _check_target(path: Path, snapshots: Sequence[str]) -> None:
    """Refuse a path that cannot be written, or that is one of the snapshots."""
    check_writable(path)
    if path.exists() and any(Path(name).exists() and path.samefile(name) for name in snapshots):
        raise ProxyctlError(f"{path}: cannot be written: the report reads this snapshot")


def _origin(tables: Sequence[DigestTable], snapshots: int, names: Mapping[int, str]) -> Origin:
    from proxyctl.render.report import Origin

    last = max(tables, key=lambda table: table.taken_at)
    length = last.variables.get("mysql-query_digests_max_digest_length", "")
    return Origin(
        name=last.name,
        address=last.address,
        version=last.version,
        snapshots=snapshots,
        max_length=int(length) if length.isdecimal() else None,
        notes=tuple(_notes(tables, last)),
        hostgroup_names=names,
    )


def _notes(tables: Sequence[DigestTable], last: DigestTable) -> Iterator[str]:
    if not is_counting(last.variables):
        yield f"{NOT_COUNTING}."
    addresses = sorted({table.address for table in tables})
    if len(addresses) > 1:
        yield (
            f"The snapshots were taken at different addresses, {', '.join(addresses)}: if these are"
            " different instances, the difference means nothing."
        )
    versions = sorted({table.version for table in tables})
    if len(versions) > 1:
        yield f"The snapshots are of different versions of ProxySQL: {', '.join(versions)}."
