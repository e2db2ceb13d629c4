"""The command digest suggest: what would help, with the evidence and rules to paste."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from proxyctl.cli.digest.limits import MOST_LISTED
from proxyctl.cli.options import ConnectionOptions, FileOptions, command
from proxyctl.cli.output import style, write
from proxyctl.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from proxyctl.admin.client import AdminClient
    from proxyctl.catalog import Layout, Value, Version
    from proxyctl.config.load import Sources
    from proxyctl.configuration import Configuration
    from proxyctl.digests.suggest_found import Suggestions
    from proxyctl.digests.suggest_hits import RuleHits
    from proxyctl.replay.seen import DigestTable
    from proxyctl.state import Desired


class SuggestFormat(StrEnum):
    """How suggestions are written."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


class KindName(StrEnum):
    """What suggestions are about, as the command line calls it."""

    READS = "reads"
    CACHE = "cache"
    REPEATS = "repeats"
    SLOW = "slow"
    UNUSED = "unused"
    ORDER = "order"


def register(group: typer.Typer) -> None:
    """Add the command to the group."""
    command(group, "suggest")(suggest)


def suggest(
    files: FileOptions,
    connection: ConnectionOptions,
    digests: Annotated[
        str | None,
        typer.Option(
            "--digests",
            metavar="FILE",
            help="Digests of a snapshot file; the rules are those of the files, or of the instance"
            " that the command line names.",
        ),
    ] = None,
    only: Annotated[
        list[KindName] | None,
        typer.Option(
            "--only",
            metavar="KIND",
            help="reads, cache, repeats, slow, unused or order; many times. Default: all.",
        ),
    ] = None,
    limit: Annotated[
        int,
        typer.Option(
            "--limit", min=1, max=MOST_LISTED, metavar="N", help="At most N of each kind."
        ),
    ] = 5,
    auto_approve: Annotated[
        bool, typer.Option("--auto-approve", help="Do not ask before a very large table is read.")
    ] = False,
    format: Annotated[
        SuggestFormat, typer.Option("--format", help="How to write.")
    ] = SuggestFormat.TEXT,
) -> int:
    """Propose what would help, from the digests that the instance has seen."""
    from proxyctl.cli.progress import progress
    from proxyctl.digests.suggest import suggest as suggested
    from proxyctl.digests.suggest_found import Kind

    read = _read(files, connection, digests, is_approved=auto_approve)
    kinds = [Kind(one) for one in only or ()]
    refused: list[range] = []
    for _ in range(_MOST_TURNS):
        with progress("replaying digests", len(read.table.rows)) as tell:
            found = suggested(
                read.table,
                read.configuration,
                read.hits,
                only=kinds,
                limit=limit,
                may_use=_may_use(read.desired, refused),
                progress=tell,
            )
        more = _refused(read, found)
        if not more:
            break
        refused += more
    write(_output(found, format))
    return ExitCode.DONE


_MOST_TURNS = 4
"""So often rule_ids are looked for that the files take; they may reserve some for sharding."""


@dataclass(frozen=True)
class _Read:
    """What suggestions are made from. `desired`, `given`: of the files, None without any."""

    table: DigestTable
    configuration: Configuration
    hits: RuleHits | None
    desired: Desired | None = None
    given: Sources | None = None


def _read(
    files: FileOptions, connection: ConnectionOptions, digests: str | None, *, is_approved: bool
) -> _Read:
    """Return digests, rules and hits. The instance's digest table is named once, or not at all."""
    from proxyctl.admin.read import read_additions, read_layouts
    from proxyctl.cli.connection import connected, opened
    from proxyctl.cli.subject import is_about_instance
    from proxyctl.config.configuration import configuration_of
    from proxyctl.config.load import ParsedFiles
    from proxyctl.formats.digest_file import read_digest_file

    table = read_digest_file(Path(digests)) if digests is not None else None
    has_files = bool(files.file) or Path(files.paths()[0]).exists()
    if table is not None and not is_about_instance(files, connection):
        if not has_files:
            raise UsageError(
                "digest suggest needs rules", hint="name files with -f, or an instance with --host"
            )
        version = _version(table.version)
        desired = (
            ParsedFiles(files.sources())
            .project(version, takes_dead_rules=True, needs_secrets=False)
            .desired
        )
        return _Read(table, configuration_of(desired), None, desired, files.sources())
    if not has_files:
        with connected(files, connection) as client:
            return _read_instance(client, table, is_approved=is_approved)
    with opened(files, connection) as (client, parsed):
        desired = parsed.project(
            client.version,
            takes_dead_rules=True,
            needs_secrets=False,
            additions=read_additions(client, read_layouts(client)),
        ).desired
        read = _read_instance(client, table, is_approved=is_approved)
    named = replace(read.configuration, hostgroup_names=desired.hostgroup_names)
    # The files are only compiled again where no variable of the instance is needed for it.
    given = files.sources() if not parsed.instances() else None
    return replace(read, configuration=named, desired=desired, given=given)


def _version(text: str) -> Version:
    from proxyctl.catalog import REFERENCE, parse_version

    try:
        return parse_version(text)
    except ValueError:
        return REFERENCE


def _read_instance(client: AdminClient, table: DigestTable | None, *, is_approved: bool) -> _Read:
    from proxyctl.admin.configuration import read_configuration
    from proxyctl.admin.digests import read_digests
    from proxyctl.admin.suggest_hits import read_hits_since
    from proxyctl.cli.digest.size import warn_of_size
    from proxyctl.replay.sides import SIDE_TABLES
    from proxyctl.state import Layer

    if table is None:
        warn_of_size(client, is_approved=is_approved)
    configuration = read_configuration(client, Layer.RUNTIME, SIDE_TABLES)
    hits = read_hits_since(client)
    return _Read(read_digests(client) if table is None else table, configuration, hits)


def _may_use(desired: Desired | None, refused: Sequence[range]) -> Callable[[int], bool]:
    """Return whether the files may have a rule of an id: it is free there, and theirs."""
    rules = desired.tables.get("mysql_query_rules") if desired is not None else None

    def may_use(rule_id: int) -> bool:
        if any(rule_id in one for one in refused):
            return False
        return rules is None or ((rule_id,) not in rules.rows and rules.owns((rule_id,)))

    return may_use


def _refused(read: _Read, found: Suggestions) -> list[range]:
    """Return the gaps between rules whose rule_ids the files do not take: `sharding` may have them.

    All that is proposed is written behind the files, and the whole is compiled.
    """
    rules = [rule for one in found.found if not one.replaces for rule in one.rules]
    if read.given is None or not rules:
        return []
    from proxyctl.config.load import ParsedFiles
    from proxyctl.errors import ConfigError

    with TemporaryDirectory() as folder:
        path = Path(folder) / "proposed.yaml"
        path.write_text("version: 1\n" + rules_yaml(found.layout, rules), encoding="utf-8")
        given = replace(read.given, paths=(*read.given.paths, str(path)))
        try:
            ParsedFiles(given).project(
                read.configuration.version, takes_dead_rules=True, needs_secrets=False
            )
        except ConfigError as error:
            # Two lines stand before the rules, each of which has one.
            lines = [m.line - 3 for m in error.mistakes if m.path == str(path)]
            ids = [int(rules[n]["rule_id"] or 0) for n in lines if 0 <= n < len(rules)]
            return [_gap(read.configuration, rule_id) for rule_id in ids]
    return []


def _gap(configuration: Configuration, rule_id: int) -> range:
    """Return the rule_ids around one, up to the next rules in force."""
    held = configuration.tables.get("mysql_query_rules")
    taken = [int(value or 0) for value in (held.column("rule_id") if held else ())]
    low = max((one for one in taken if one < rule_id), default=0)
    high = min((one for one in taken if one > rule_id), default=rule_id + 1)
    return range(low + 1, high)


def _output(found: Suggestions, format: SuggestFormat) -> str:
    from proxyctl.render.digest_suggest_machine import suggest_json
    from proxyctl.render.digest_suggest_markdown import suggest_markdown
    from proxyctl.render.digest_suggest_text import suggest_text

    def rules_text(rules: Sequence[Mapping[str, Value]]) -> str:
        return rules_yaml(found.layout, rules)

    match format:
        case SuggestFormat.TEXT:
            return suggest_text(found, rules_text, style())
        case SuggestFormat.JSON:
            return suggest_json(found, rules_text)
        case SuggestFormat.MARKDOWN:
            return suggest_markdown(found, rules_text)


def rules_yaml(layout: Layout, rules: Sequence[Mapping[str, Value]]) -> str:
    """Return rules as a section of our files, one a line."""
    from proxyctl.digests.suggest_rules import rule_row
    from proxyctl.formats.yaml_writer import row_lines

    rows = [rule_row(layout, cells) for cells in rules]
    return "\n".join(["mysql_query_rules:", *row_lines(layout, rows)]) + "\n"
