"""Where `digest suggest` takes digests and rules from: an instance, a snapshot, files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from proxyctl.catalog import REFERENCE, Layout, Value, Version, parse_version
from proxyctl.config.project import ParsedFiles, Project
from proxyctl.formats.yaml import row_lines
from proxyctl.instance.client import AdminClient
from proxyctl.instance.read import read_configuration, read_deviations, read_layouts
from proxyctl.routing.sides import SIDE_TABLES
from proxyctl.state.configuration import Configuration
from proxyctl.state.row import Layer
from proxyctl.stats.model import DigestTable
from proxyctl.stats.read import read_digests
from proxyctl.stats.suggest.context import rule_row


@dataclass(frozen=True)
class Subject:
    """What suggestions are made from. Shape: `project` is None without files."""

    table: DigestTable
    configuration: Configuration
    project: Project | None = None

    def may_use(self, rule_id: int) -> bool:
        """Return whether the files may have a rule of an id: it is free there, and theirs."""
        if self.project is None:
            return True
        rules = self.project.desired.tables.get("mysql_query_rules")
        if rules is None:
            return True
        is_reserved = any(rule_id in ids for ids in self.project.reserved)
        return not is_reserved and (rule_id,) not in rules.rows and rules.owns((rule_id,))


def subject_of_files(table: DigestTable, files: ParsedFiles) -> Subject:
    """Return the digests of a snapshot with the rules of files. Raises: ConfigError."""
    project = files.project(_version(table.version), takes_dead_rules=True, needs_secrets=False)
    return Subject(table, project.configuration, project)


def _version(text: str) -> Version:
    try:
        return parse_version(text)
    except ValueError:
        return REFERENCE


def subject_of_instance(
    client: AdminClient, table: DigestTable | None, files: ParsedFiles | None = None
) -> Subject:
    """Return the rules of an instance with its digests, or with those of a snapshot.

    `files` say what hostgroups are called, and which rule_ids are theirs. Names the instance's
    digest table once, or not at all. Raises: ConfigError, InstanceError.
    """
    project = None
    if files is not None:
        project = files.project(
            client.version,
            takes_dead_rules=True,
            needs_secrets=False,
            deviations=read_deviations(client, read_layouts(client)),
        )
    configuration = read_configuration(client, Layer.RUNTIME, SIDE_TABLES)
    if project is not None:
        names = project.desired.hostgroup_names
        configuration = replace(configuration, hostgroup_names=names)
    return Subject(read_digests(client) if table is None else table, configuration, project)


def rules_yaml(layout: Layout, rules: Sequence[Mapping[str, Value]]) -> str:
    """Return rules as a section of our files, one a line."""
    rows = [rule_row(layout, cells) for cells in rules]
    return "\n".join(["mysql_query_rules:", *row_lines(layout, rows)]) + "\n"
