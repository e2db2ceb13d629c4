"""Where `digest suggest` takes digests and rules from: an instance, a snapshot, files."""

from __future__ import annotations

from dataclasses import dataclass, replace

from proxyctl.catalog import REFERENCE, parse_version
from proxyctl.config.project import ParsedFiles, Project
from proxyctl.instance.client import AdminClient
from proxyctl.instance.read import read_configuration, read_deviations, read_layouts
from proxyctl.routing.sides import SIDE_TABLES
from proxyctl.state.configuration import Configuration
from proxyctl.state.row import Layer
from proxyctl.stats.model import DigestTable
from proxyctl.stats.read import read_digests


@dataclass(frozen=True)
class Subject:
    """What suggestions are made from. Shape: `project` is None without files."""

    table: DigestTable
    configuration: Configuration
    project: Project | None = None

    def may_use(self, rule_id: int) -> bool:
        """Return whether the files may have a rule of an id: it is free there, and theirs."""
        rules = self.project.desired.tables.get("mysql_query_rules") if self.project else None
        if self.project is None or rules is None:
            return True
        is_reserved = any(rule_id in ids for ids in self.project.reserved)
        return not is_reserved and (rule_id,) not in rules.rows and rules.owns((rule_id,))


def subject_of_files(table: DigestTable, files: ParsedFiles) -> Subject:
    """Return the digests of a snapshot with the rules of files. Raises: ConfigError."""
    try:
        version = parse_version(table.version)
    except ValueError:
        version = REFERENCE
    project = files.project(version, takes_dead_rules=True, needs_secrets=False)
    return Subject(table, project.configuration, project)


def subject_of_instance(
    client: AdminClient, table: DigestTable | None, files: ParsedFiles | None = None
) -> Subject:
    """Return the rules of an instance with its digests, or with those of a snapshot.

    `files` say what hostgroups are called, and which rule_ids are theirs. Names the instance's
    digest table once, or not at all. Raises: ConfigError, InstanceError.
    """
    project = None
    configuration = read_configuration(client, Layer.RUNTIME, SIDE_TABLES)
    if files is not None:
        deviations = read_deviations(client, read_layouts(client))
        project = files.project(
            client.version, takes_dead_rules=True, needs_secrets=False, deviations=deviations
        )
        names = project.desired.hostgroup_names
        configuration = replace(configuration, hostgroup_names=names)
    return Subject(table or read_digests(client), configuration, project)
