"""Files, or DISK of an instance, as the subject of a check.

An upgraded ProxySQL starts from DISK, so DISK is checked, and RUNTIME is compared with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

from proxyctl.catalog import ADMIN_MODULES, Version
from proxyctl.catalog.variable_rules import INTERFACES
from proxyctl.catalog.variables import VARIABLES
from proxyctl.config.files import ConfigFiles
from proxyctl.config.project import Project, places_in
from proxyctl.errors import ConfigError, Mistake, UsageError
from proxyctl.fleet.targets import Target, at_all
from proxyctl.instance.client import AdminClient
from proxyctl.instance.facts import read_variables
from proxyctl.instance.read import TableLayers, read_deviations, read_layouts, read_tables
from proxyctl.plan.diff import TableDiff, diff_table
from proxyctl.plan.secrets import hide_in_configuration
from proxyctl.proxysql.compare import Difference
from proxyctl.proxysql.configuration import ConfigTable, Configuration, variables_of
from proxyctl.proxysql.topology import MonitorSettings, Topologies, Topology
from proxyctl.rows.row import Layer, row_name
from proxyctl.rows.sql import literal
from proxyctl.stats.events.event import EventTally, QueryEvent
from proxyctl.stats.model import DigestTable
from proxyctl.stats.read import read_digest_variables, read_digests
from proxyctl.upgrade.check import check_upgrade
from proxyctl.upgrade.finding import UpgradeOfFleet, UpgradeReport
from proxyctl.upgrade.logged import logged_queries
from proxyctl.upgrade.subject import UpgradeSubject

EventsOf = Callable[[AdminClient | None, EventTally], AbstractContextManager[Iterator[QueryEvent]]]
"""Opens an event log; see `EventOptions.reading`."""


def subject_of_files(
    files: ConfigFiles, to: Version, version: Version | None, events: EventsOf | None = None
) -> UpgradeSubject:
    """Return the files as the subject.

    `version`: the ProxySQL that they are for; None: the one that they name. `events`: the log to
    route, if any. Raises: UsageError if nothing names a version; ConfigError for mistakes that the
    files have already.
    """
    files.raise_if_misread()  # what cannot be read may name a version
    version = version or files.version
    if version is None:
        raise UsageError(
            "the files do not name the ProxySQL version that they are for",
            fix="write `proxysql_version: X.Y.Z` in the files, or give --proxysql-version X.Y.Z; or"
            " check an instance with --host, --instance or --all",
        )
    project = files.project(version, takes_dead_rules=True, needs_secrets=False)
    subject = UpgradeSubject(project.configuration, to, project, _mistakes(files, to))
    return subject if events is None else _with_log(subject, None, events)


def _mistakes(files: ConfigFiles, to: Version) -> tuple[Mistake, ...]:
    """Return the mistakes of files for the release, which have none for the present one."""
    try:
        files.project(to, takes_dead_rules=True, needs_secrets=False)
    except ConfigError as error:
        return tuple(error.mistakes)
    return ()


def check_fleet(
    targets: Sequence[Target],
    to: Version,
    *,
    reads_digests: bool,
    events: EventsOf | None = None,
    workers: int,
    done: Callable[[int], None],
) -> UpgradeOfFleet:
    """Return the reports for all instances.

    `reads_digests`: also route the digests that each instance has seen; `events`: a log in their
    place, for a single instance. `done` receives the number
    of finished instances.
    """

    def work(target: Target) -> UpgradeReport:
        with target.connect() as client:
            reads_table = reads_digests and events is None
            subject = subject_of_instance(client, target.files, to, reads_digests=reads_table)
            if events is not None and subject.version != to:
                subject = _with_log(subject, client, events)
            return check_upgrade(subject)

    return UpgradeOfFleet(*at_all(targets, work, workers=workers, done=done))


def _with_log(
    subject: UpgradeSubject, client: AdminClient | None, events: EventsOf
) -> UpgradeSubject:
    """Return the subject with the queries of a log. Raises: as `logged_queries`."""
    variables = read_digest_variables(client) if client else {}
    instance = DigestTable(subject.name, subject.address, subject.version_text, 0, (), variables)
    tally = EventTally()
    with events(client, tally) as stream:
        logged = logged_queries(stream, tally, instance, subject.sides)
    return replace(subject, logged=logged)


def subject_of_instance(
    client: AdminClient, files: ConfigFiles, to: Version, *, reads_digests: bool = True
) -> UpgradeSubject:
    """Return DISK of an instance as the subject. Sends SELECTs only.

    Raises: InstanceError; ConfigError for mistakes that the files have already.
    """
    layouts = read_layouts(client)
    deviations = read_deviations(client, layouts)
    project = files.project(
        client.version, takes_dead_rules=True, needs_secrets=False, deviations=deviations
    )
    running = read_variables(client)
    # Numbers that would end ProxySQL are refused before RUNTIME is read.
    tables = read_tables(client, layouts.values())
    diffs = _diffs(tables, running)
    return UpgradeSubject(
        _on_disk(client, tables, project),
        to,
        project,
        _mistakes(files, to),
        client.name,
        client.address,
        client.version_text,
        _by_module(diffs, lambda diff: diff.unsaved),
        _by_module(diffs, _published_by_restart),
        _restarting(diffs, running),
        read_digests(client) if reads_digests and client.version != to else None,
    )


def _diffs(tables: Mapping[str, TableLayers], running: Mapping[str, str]) -> dict[str, TableDiff]:
    layouts = {name: table.layout for name, table in tables.items()}
    rows = {name: table.rows[Layer.RUNTIME].values() for name, table in tables.items()}
    topology = Topology.of(layouts, rows, MonitorSettings.of(running))
    return {
        name: diff_table(layout, None, tables[name].rows, Topologies(memory=topology))
        for name, layout in layouts.items()
    }


def _on_disk(
    client: AdminClient, tables: Mapping[str, TableLayers], project: Project
) -> Configuration:
    """Return DISK, with what the files know of it."""
    held: dict[str, ConfigTable] = {}
    variables: dict[str, str] = {}
    for name, table in tables.items():
        rows = table.rows[Layer.DISK]
        if table.layout.table.prefix is not None:
            variables |= variables_of(rows.values())
        else:
            held[name] = ConfigTable(table.layout, rows)
    desired = project.desired
    configuration = Configuration(
        client.version, held, variables | _later_interfaces(client), desired.hostgroup_names
    )
    configuration = hide_in_configuration(configuration, desired)
    if not desired.tables:
        return configuration
    return replace(configuration, place=places_in(desired.tables), lacks=desired.source.lacks)


def _later_interfaces(client: AdminClient) -> dict[str, str]:
    """Return the interfaces that DISK has for a later release, which is the way to choose them."""
    names = [name for name in INTERFACES if not VARIABLES[name].exists_in(client.version)]
    if not names:
        return {}
    listed = ", ".join(map(literal, names))
    rows = client.query(
        "SELECT variable_name, variable_value FROM disk.global_variables"
        f" WHERE variable_name IN ({listed})"
    )
    return {str(name): value or "" for name, value in rows}


def _by_module(
    diffs: Mapping[str, TableDiff], differences: Callable[[TableDiff], Iterable[Difference]]
) -> dict[str, tuple[str, ...]]:
    """Return the names of the rows that differ, by admin module."""
    found: dict[str, tuple[str, ...]] = {}
    for module in ADMIN_MODULES.values():
        names = dict.fromkeys(
            row_name(table.name, difference.key)
            for table in module.tables
            if table.name in diffs
            for difference in differences(diffs[table.name])
        )
        if names:
            found[module.name] = tuple(names)
    return found


def _published_by_restart(diff: TableDiff) -> list[Difference]:
    """Return the rows that DISK and MEMORY have alike, and RUNTIME otherwise."""
    unsaved = {difference.key for difference in diff.unsaved}
    return [difference for difference in diff.unpublished if difference.key not in unsaved]


def _restarting(
    diffs: Mapping[str, TableDiff], running: Mapping[str, str]
) -> dict[str, tuple[str, str]]:
    """Return the variables that a restart changes: the texts at RUNTIME and on DISK, by name."""
    texts = {
        str(key[0]): str(row[1] or "")
        for diff in diffs.values()
        for key, row in diff.restart_only.items()
    }
    # An empty text on DISK means the default, which is the running value.
    return {
        name: (running[name], text)
        for name, text in texts.items()
        if text and running.get(name, text) != text
    }
