"""The command doctor: what is wrong with a running ProxySQL, and the way out."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Annotated

import typer

from proxyctl.cli.options import ConnectionOptions, FileOptions, TextFormat, command
from proxyctl.cli.output import style, write
from proxyctl.errors import ExitCode, UsageError


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    command(app, "doctor")(doctor)


def doctor(
    files: FileOptions,
    connection: ConnectionOptions,
    no_ask: Annotated[
        bool,
        typer.Option(
            "--no-ask",
            help="Do not connect to the servers behind it: only what ProxySQL knows of them.",
        ),
    ] = False,
    memory: Annotated[
        bool,
        typer.Option(
            "--memory",
            help="Add up what the digests take. Queries wait meanwhile: 1 s for 500,000 digests.",
        ),
    ] = False,
    ignore: Annotated[
        list[str] | None,
        typer.Option(metavar="CODE", help="Leave out what has this code; many times."),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 for a warning, too.")] = False,
    format: Annotated[TextFormat, typer.Option("--format", help="How to write.")] = TextFormat.TEXT,
) -> int:
    """Find what is wrong with a running ProxySQL. Exit 1 for an error."""
    from proxyctl.cli.nodes.names import connected_with_names
    from proxyctl.doctor.examination import all_checks, examine
    from proxyctl.examining import read_facts_for_doctor
    from proxyctl.render.doctor_machine import doctor_json
    from proxyctl.render.doctor_text import doctor_text

    ignored = frozenset(ignore or ())
    for code in sorted(ignored - all_checks().keys()):
        near = get_close_matches(code, all_checks(), n=1)
        hint = f"did you mean {near[0]!r}?" if near else "the page about doctor lists them all"
        raise UsageError(f"--ignore {code}: no finding has this code", hint=hint)
    with connected_with_names(files, connection) as (client, names):
        facts = read_facts_for_doctor(client, asks=not no_ask, memory=memory, hostgroup_names=names)
    found = examine(facts, ignored)
    write(doctor_json(found) if format is TextFormat.JSON else doctor_text(found, style()))
    fails = found.has_errors or (strict and found.has_warnings)
    return ExitCode.ERROR if fails else ExitCode.DONE
