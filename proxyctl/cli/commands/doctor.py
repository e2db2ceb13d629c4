"""The command doctor: what is wrong with a running ProxySQL, and the fix."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import typer

from proxyctl.cli.completion import finding_codes
from proxyctl.cli.connect import Place
from proxyctl.cli.options import (
    FleetOptions,
    FormatOption,
    TextFormat,
)
from proxyctl.cli.output import progress, style, write
from proxyctl.errors import UsageError
from proxyctl.text import nearest

if TYPE_CHECKING:
    from proxyctl.config.project import ParsedFiles
    from proxyctl.doctor.finding import Examination
    from proxyctl.instance.client import AdminClient


def doctor(
    place: Place,
    fleet: FleetOptions,
    no_ask: bool = typer.Option(
        False, "--no-ask", help="Do not connect to the servers behind ProxySQL."
    ),
    memory: bool = typer.Option(
        False,
        "--memory",
        help="Measure the memory of the digests. Queries wait meanwhile:"
        " about 1 s for 500,000 digests.",
    ),
    ignore: list[str] | None = typer.Option(
        None,
        metavar="CODE",
        help="Leave out findings with this code; repeatable.",
        autocompletion=finding_codes,
    ),
    strict: bool = typer.Option(False, "--strict", help="Exit 1 for a warning, too."),
    format: FormatOption = TextFormat.TEXT,
) -> int:
    """Find what is wrong with a running ProxySQL. Exit 1 for an error."""
    from proxyctl.doctor.examine import examine, examine_fleet
    from proxyctl.doctor.facts import read_facts
    from proxyctl.render.doctor import doctor_json, doctor_text

    ignored = _ignored(ignore or ())

    def look(client: AdminClient, parsed: ParsedFiles) -> Examination:
        names = parsed.hostgroup_names()
        return examine(
            read_facts(client, asks=not no_ask, memory=memory, hostgroup_names=names), ignored
        )

    targets = place.targets(fleet, files_are_optional=True)
    with progress("examining", len(targets) if fleet.all_instances else 0) as tell:
        found = examine_fleet(targets, look, workers=fleet.parallel, done=tell)
    is_all = fleet.all_instances
    if format is TextFormat.JSON:
        write(doctor_json(found, is_all=is_all))
    else:
        write(doctor_text(found, style(), is_all=is_all))
    return found.exit_code(strict=strict)


def _ignored(codes: Collection[str]) -> frozenset[str]:
    """Return the codes to ignore. Raises: UsageError for an unknown code."""
    from proxyctl.doctor.finding import CODES

    for code in sorted(set(codes) - CODES.keys()):
        near = nearest(code, CODES, cutoff=0.6)
        fix = f"did you mean {near!r}?" if near else "the how-to about doctor lists all codes"
        raise UsageError(f"--ignore {code}: no finding has this code", fix=fix)
    return frozenset(codes)
