"""The sources of digests and rules for `digest suggest`: an instance, a snapshot, files."""

from __future__ import annotations

from dataclasses import dataclass, replace

from proxyctl.catalog import REFERENCE, parse_version
from proxyctl.config.files import ConfigFiles
from proxyctl.config.project import Project
from proxyctl.instance.client import AdminClient
from proxyctl.instance.read import read_configuration, read_deviations, read_layouts
from proxyctl.proxysql.configuration import Configuration
from proxyctl.routing.router import SERVING_TABLES
from proxyctl.rows.row import Layer
from proxyctl.stats.model import DigestTable
from proxyctl.stats.read import read_digests


@dataclass(frozen=True)
class SuggestInput:
    """The input of `digest suggest`."""

    table: DigestTable
    """The digests."""
    configuration: Configuration
    """The rules and the tables that decide where queries go."""
    project: Project | None = None
    """The project of the files; None without files."""

    def may_use(self, rule_id: int) -> bool:
        """Return whether the files may define this rule_id: it is free, and they own it."""
        rules = self.project.desired.tables.get("mysql_query_rules") if self.project else None
        if self.project is None or rules is None:
            return True
        is_reserved = any(rule_id in ids for ids in self.project.reserved)
        return not is_reserved and (rule_id,) not in rules.rows and rules.owns((rule_id,))


def subject_of_files(table: DigestTable, files: ConfigFiles) -> SuggestInput:
    """Return the digests of a snapshot with the rules of files. Raises: ConfigError."""
    try:
        version = parse_version(table.version)
    except ValueError:
        version = REFERENCE
    project = files.project(version, takes_dead_rules=True, needs_secrets=False)
    return SuggestInput(table, project.configuration, project)


def subject_of_instance(
    client: AdminClient, table: DigestTable | None, files: ConfigFiles | None = None
) -> SuggestInput:
    """Return the rules of an instance with its digests, or with the digests of a snapshot.

    The digest table of the instance is read at most once. Raises: as `rules_of_instance`.
    """
    configuration, project = rules_of_instance(client, files)
    return SuggestInput(table or read_digests(client), configuration, project)


def rules_of_instance(
    client: AdminClient, files: ConfigFiles | None = None
) -> tuple[Configuration, Project | None]:
    """Return the rules at RUNTIME, and the project of the files.

    `files` name the hostgroups and decide which rule_ids may be used. Raises: ConfigError,
    InstanceError.
    """
    configuration = read_configuration(client, Layer.RUNTIME, SERVING_TABLES)
    if files is None:
        return configuration, None
    deviations = read_deviations(client, read_layouts(client))
    project = files.project(
        client.version, takes_dead_rules=True, needs_secrets=False, deviations=deviations
    )
    return replace(configuration, hostgroup_names=project.desired.hostgroup_names), project
