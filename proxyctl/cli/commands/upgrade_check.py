"""The command upgrade-check: what an upgrade of ProxySQL changes, and what to decide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proxyctl.catalog import Version, known_version
from proxyctl.cli.connect import SelectionOptions
from proxyctl.cli.event_options import EventOptions
from proxyctl.cli.option_kinds import at_most_one, flag, parsed, value
from proxyctl.cli.options import VERSION, FleetOptions, FormatOption
from proxyctl.cli.output import emit, progress, say, style, write_file
from proxyctl.errors import UsageError

if TYPE_CHECKING:
    from proxyctl.upgrade.finding import UpgradeOfFleet
    from proxyctl.upgrade.read import EventsOf

_TO = parsed("--to", known_version)


def upgrade_check(
    selection: SelectionOptions,
    fleet: FleetOptions,
    log: EventOptions,
    to: Version = value("X.Y.Z", "The release to upgrade to.", default=..., parser=_TO),
    no_digests: bool = flag(
        "--no-digests",
        "Do not read the digests that the instance has seen. Queries wait while they are read:"
        " about 1 s for 500,000 digests.",
    ),
    proxysql_version: Version | None = value(
        "X.Y.Z",
        "The ProxySQL that the files are for now. Default: their `proxysql_version`.",
        parser=VERSION,
    ),
    writes: bool = flag(
        "--write",
        "Write the release into the files that name proxysql_version, unless the files have"
        " mistakes under that release.",
    ),
    format: FormatOption = "text",
) -> int:
    """List what an upgrade changes, and what to do before and after. Exit 2 for a decision.

    Checks the files, or DISK of an instance, from which the upgraded ProxySQL starts.
    """
    from proxyctl.render.upgrade_check import upgrades_json, upgrades_text

    is_all = fleet.is_for_all()
    at_most_one(events=log.are_asked, all=is_all)
    events = log.reading if log.are_asked else None
    if is_all or selection.asks_instance():
        if writes:
            raise UsageError("--write is for files", fix="leave out the instance")
        if proxysql_version is not None:
            raise UsageError(
                "--proxysql-version is for files: an instance reports its own version",
                fix="leave it out",
            )
        reports = _of_instances(selection, fleet, to, events, reads_digests=not no_digests)
    else:
        if no_digests:
            raise UsageError(
                "--no-digests is for instances: files have no digests", fix="leave it out"
            )
        if log.are_asked and log.table is not None:
            raise UsageError(
                f"--events {log.table}: files have no such table",
                fix="name an instance with --host, --socket or --instance",
            )
        reports = _of_files(selection, to, proxysql_version, events, writes=writes)
    emit(
        format,
        text=lambda: upgrades_text(reports, style(), is_all=is_all),
        json=lambda: upgrades_json(reports, is_all=is_all),
    )
    return reports.exit_code


def _of_instances(
    selection: SelectionOptions,
    fleet: FleetOptions,
    to: Version,
    events: EventsOf | None,
    *,
    reads_digests: bool,
) -> UpgradeOfFleet:
    from proxyctl.upgrade.read import check_fleet

    targets = selection.targets(fleet, files_are_optional=True)
    with progress("checking", len(targets) if fleet.all_instances else 0) as advance:
        reports = check_fleet(
            targets,
            to,
            reads_digests=reads_digests,
            events=events,
            workers=fleet.parallel,
            done=advance,
        )
    if not fleet.all_instances:
        reports.only()
    return reports


def _of_files(
    selection: SelectionOptions,
    to: Version,
    version: Version | None,
    events: EventsOf | None,
    *,
    writes: bool,
) -> UpgradeOfFleet:
    from proxyctl.config.files import ConfigFiles
    from proxyctl.upgrade.check import check_upgrade
    from proxyctl.upgrade.finding import UpgradeOfFleet
    from proxyctl.upgrade.read import subject_of_files
    from proxyctl.upgrade.write import files_for

    files = ConfigFiles(selection.files.sources())
    subject = subject_of_files(files, to, version, events)
    for path, text in files_for(subject, files).items() if writes else ():
        write_file(path, text)
        say(f"{path}: proxysql_version is now {to}")
    return UpgradeOfFleet([check_upgrade(subject)])
