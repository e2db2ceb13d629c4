"""The command doctor: what is wrong with a running ProxySQL, and the way out."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated

import typer

from proxyctl.cli.fleet import FleetOptions, examined_fleet, targets_of
from proxyctl.cli.options import ConnectionOptions, FileOptions, TextFormat, command
from proxyctl.cli.output import style, write
from proxyctl.errors import UsageError

if TYPE_CHECKING:
    from proxyctl.admin.client import AdminClient
    from proxyctl.admin.login import Login
    from proxyctl.config.load import ParsedFiles
    from proxyctl.doctor.examination import Examination
    from proxyctl.families import Node


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    command(app, "doctor")(doctor)


def doctor(
    files: FileOptions,
    connection: ConnectionOptions,
    fleet: FleetOptions,
    no_ask: Annotated[
        bool,
        typer.Option(
            "--no-ask",
            help="Connect to no server behind it and no peer: only what ProxySQL knows of them.",
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
    from proxyctl.admin.shared_answers import SharedAnswers
    from proxyctl.cli.connection import connected_beside, instances_beside, login_at_members
    from proxyctl.doctor.examination import examine
    from proxyctl.examining import read_facts_for_doctor
    from proxyctl.render.doctor_machine import doctor_json, examined_fleet_json
    from proxyctl.render.doctor_text import doctor_text, examined_fleet_text

    ignored = _ignored(ignore or ())
    answers = SharedAnswers()

    @functools.cache  # most instances of a fleet share their files
    def login_at(parsed: ParsedFiles | None) -> Callable[[Login, Node], Login]:
        return login_at_members(connection, instances_beside(parsed))

    def look(client: AdminClient, parsed: ParsedFiles | None) -> Examination:
        facts = read_facts_for_doctor(
            client,
            asks=not no_ask,
            ask=answers,
            memory=memory,
            hostgroup_names={} if parsed is None else parsed.hostgroup_names(),
            login_at=login_at(parsed),
        )
        return examine(facts, ignored)

    is_json = format is TextFormat.JSON
    if fleet.is_meant():
        every = examined_fleet(targets_of(files, connection, fleet), look, fleet)
        write(examined_fleet_json(every) if is_json else examined_fleet_text(every, style()))
        return every.exit_code(strict=strict)
    with connected_beside(files, connection) as (client, parsed):
        found = look(client, parsed)
    write(doctor_json(found) if is_json else doctor_text(found, style()))
    return found.exit_code(strict=strict)


def _ignored(codes: Collection[str]) -> frozenset[str]:
    """Return the codes. Raises: UsageError for one that there is not."""
    from proxyctl.doctor.examination import all_checks

    for code in sorted(set(codes) - all_checks().keys()):
        near = get_close_matches(code, all_checks(), n=1)
        hint = f"did you mean {near[0]!r}?" if near else "the page about doctor lists them all"
        raise UsageError(f"--ignore {code}: no finding has this code", hint=hint)
    return frozenset(codes)
