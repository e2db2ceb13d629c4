"""What `digest suggest` looks at, and suggestions whose rules the files take. No printing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from proxyctl.catalog import REFERENCE, Layout, Value, Version, parse_version
from proxyctl.config.configuration import configuration_of
from proxyctl.config.load import ParsedFiles, Sources
from proxyctl.errors import ConfigError
from proxyctl.formats.yaml_writer import row_lines
from proxyctl.instance.client import AdminClient
from proxyctl.instance.read import read_additions, read_configuration, read_layouts
from proxyctl.routing.sides import SIDE_TABLES
from proxyctl.state.configuration import Configuration
from proxyctl.state.row import Desired, Layer
from proxyctl.stats.model import DigestTable
from proxyctl.stats.read import read_digests
from proxyctl.stats.suggest.found import Kind, Suggestions
from proxyctl.stats.suggest.rules import rule_row
from proxyctl.stats.suggest.run import suggest

_MOST_TURNS = 4
"""So often rule_ids are looked for that the files take; they may reserve some for sharding."""
_HEAD = "version: 1\n"


@dataclass(frozen=True)
class Subject:
    """What suggestions are made from.

    Shape: `desired` is what files say, and `given` names them where they can be compiled again;
    both None without any.
    """

    table: DigestTable
    configuration: Configuration
    desired: Desired | None = None
    given: Sources | None = None


def subject_of_files(table: DigestTable, given: Sources) -> Subject:
    """Return the digests of a snapshot with the rules of files. Raises: ConfigError."""
    files = ParsedFiles(given)
    project = files.project(_version(table.version), takes_dead_rules=True, needs_secrets=False)
    return Subject(table, configuration_of(project.desired), project.desired, given)


def _version(text: str) -> Version:
    try:
        return parse_version(text)
    except ValueError:
        return REFERENCE


def subject_of_instance(client: AdminClient, table: DigestTable | None) -> Subject:
    """Return the rules of an instance with its digests, or with those of a snapshot.

    Names the instance's digest table once, or not at all. Raises: InstanceError.
    """
    configuration = read_configuration(client, Layer.RUNTIME, SIDE_TABLES)
    return Subject(read_digests(client) if table is None else table, configuration)


def desired_at(client: AdminClient, files: ParsedFiles) -> Desired:
    """Return what files want of an instance. Raises: ConfigError, InstanceError."""
    return files.project(
        client.version,
        takes_dead_rules=True,
        needs_secrets=False,
        additions=read_additions(client, read_layouts(client)),
    ).desired


def with_files(subject: Subject, desired: Desired, given: Sources | None) -> Subject:
    """Return the subject of an instance, with what its files say of names and rule_ids."""
    named = replace(subject.configuration, hostgroup_names=desired.hostgroup_names)
    return replace(subject, configuration=named, desired=desired, given=given)


def suggestions(
    subject: Subject,
    *,
    only: Collection[Kind] = (),
    limit: int | None = 5,
    progress: Callable[[int], None] = lambda _done: None,
) -> Suggestions:
    """Return what would help, with rule_ids that the files take. As `digests.suggest.suggest`."""
    refused: list[range] = []
    for _ in range(_MOST_TURNS):
        found = suggest(
            subject.table,
            subject.configuration,
            only=only,
            limit=limit,
            may_use=_may_use(subject.desired, refused),
            progress=progress,
        )
        more = _refused(subject, found)
        if not more:
            break
        refused += more
    return found


def _may_use(desired: Desired | None, refused: Sequence[range]) -> Callable[[int], bool]:
    """Return whether the files may have a rule of an id: it is free there, and theirs."""
    rules = desired.tables.get("mysql_query_rules") if desired is not None else None

    def may_use(rule_id: int) -> bool:
        if any(rule_id in one for one in refused):
            return False
        return rules is None or ((rule_id,) not in rules.rows and rules.owns((rule_id,)))

    return may_use


def _refused(subject: Subject, found: Suggestions) -> list[range]:
    """Return the gaps between rules whose rule_ids the files do not take: `sharding` may have them.

    All that is proposed is written behind the files, and the whole is compiled.
    """
    rules = [rule for one in found.found for rule in one.rules]
    if subject.given is None or not rules:
        return []
    with TemporaryDirectory() as folder:
        path = Path(folder) / "proposed.yaml"
        path.write_text(_HEAD + rules_yaml(found.layout, rules), encoding="utf-8")
        given = replace(
            subject.given,
            paths=(*subject.given.paths, str(path)),
            warn=lambda _text: None,  # it was said when they were read first
        )
        try:
            ParsedFiles(given).project(
                subject.configuration.version, takes_dead_rules=True, needs_secrets=False
            )
        except ConfigError as error:
            # Two lines stand before the rules, each of which has one.
            lines = [m.line - 3 for m in error.mistakes if m.path == str(path)]
            ids = [int(rules[n]["rule_id"] or 0) for n in lines if 0 <= n < len(rules)]
            return [_gap(subject.configuration, rule_id) for rule_id in ids]
    return []


def _gap(configuration: Configuration, rule_id: int) -> range:
    """Return the rule_ids around one, up to the next rules in force."""
    held = configuration.tables.get("mysql_query_rules")
    taken = [int(value or 0) for value in (held.column("rule_id") if held else ())]
    low = max((one for one in taken if one < rule_id), default=0)
    high = min((one for one in taken if one > rule_id), default=rule_id + 1)
    return range(low + 1, high)


def rules_yaml(layout: Layout, rules: Sequence[Mapping[str, Value]]) -> str:
    """Return rules as a section of our files, one a line."""
    rows = [rule_row(layout, cells) for cells in rules]
    return "\n".join(["mysql_query_rules:", *row_lines(layout, rows)]) + "\n"
