"""The options of commands over many instances, and which instances they mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from proxyctl.cli.options import ConnectionOptions, FileOptions
from proxyctl.cli.printed_instances import printed_instances
from proxyctl.errors import UsageError
from proxyctl.fleet.rollout import Strategy

if TYPE_CHECKING:
    from proxyctl.admin.client import AdminClient
    from proxyctl.doctor.examination import Examination
    from proxyctl.doctor.fleet import ExaminedFleet
    from proxyctl.fleet.outcome import DriftingFleet, Fleet
    from proxyctl.fleet_planning import Target
    from proxyctl.workflow import PlanOptions

_FLEET = "Many instances"


@dataclass(frozen=True)
class FleetOptions:
    """Whether all instances are meant, which they are, and how many are asked at the same time."""

    all_instances: Annotated[
        bool,
        typer.Option("--all", help="Every instance of the files.", rich_help_panel=_FLEET),
    ] = False
    instances_from: Annotated[
        str | None,
        typer.Option(
            "--instances-from",
            metavar="COMMAND",
            help="With --all: those that this command prints within 60 seconds, as the section"
            " `instances` in JSON.",
            rich_help_panel=_FLEET,
        ),
    ] = None
    parallel: Annotated[
        int,
        typer.Option(
            "--parallel",
            metavar="NUMBER",
            min=1,
            max=1000,
            help="Ask this many at the same time.",
            rich_help_panel=_FLEET,
        ),
    ] = 10

    def is_meant(self) -> bool:
        """Return whether the command is about all instances.

        Raises: UsageError for options that need --all.
        """
        if self.instances_from is not None and not self.all_instances:
            raise UsageError("--instances-from needs --all")
        return self.all_instances


@dataclass(frozen=True)
class RolloutOptions:
    """How a fleet changes: in which batches, and when it stops."""

    strategy: Annotated[
        Strategy,
        typer.Option(
            "--strategy",
            help="With --all: one after the other, one before the others, or all at once.",
            rich_help_panel=_FLEET,
        ),
    ] = Strategy.ROLLING
    max_unavailable: Annotated[
        int,
        typer.Option(
            "--max-unavailable",
            metavar="NUMBER",
            min=1,
            help="With --strategy rolling: so many at the same time.",
            rich_help_panel=_FLEET,
        ),
    ] = 1
    settle: Annotated[
        float,
        typer.Option(
            "--settle",
            metavar="SECONDS",
            min=0,
            max=3600,
            help="Look that long how an instance does, before and after; 0: do not look.",
            rich_help_panel=_FLEET,
        ),
    ] = 5.0
    rollback_on_failure: Annotated[
        bool,
        typer.Option(
            "--rollback-on-failure",
            help="When one fails or does worse, roll back those that are done.",
            rich_help_panel=_FLEET,
        ),
    ] = False
    skip_unreachable: Annotated[
        bool,
        typer.Option(
            "--skip-unreachable",
            help="With --all: change the others where an instance cannot be reached or read.",
            rich_help_panel=_FLEET,
        ),
    ] = False


def targets_of(
    files: FileOptions, connection: ConnectionOptions, fleet: FleetOptions
) -> list[Target]:
    """Return all instances that are meant, with a login and the files for each.

    Instances without `vars` share the files, which are compiled once for each version.

    Raises: UsageError, ConfigError, ProxyctlError.
    """
    from proxyctl.cli.connection import Logins
    from proxyctl.config.load import ParsedFiles
    from proxyctl.fleet_planning import Target

    named = connection.typed & {"host", "port", "socket", "instance"}
    if named:
        raise UsageError(f"--all means every instance; leave out --{min(named)}")
    sources = files.sources()
    parsed = ParsedFiles(sources)
    instances = parsed.instances()
    if fleet.instances_from is not None:
        instances = printed_instances(fleet.instances_from, instances)
    if not instances:
        raise UsageError(
            "--all: there are no instances",
            hint="list them in the section `instances` of the files",
        )
    logins = Logins(replace(connection, host=None, port=None, socket=None, instance=None))
    return [
        Target(
            logins.of(instance),
            ParsedFiles(replace(sources, instance_vars=instance.vars)) if instance.vars else parsed,
            connection.debug,
        )
        for instance in instances
    ]


def planned_fleet(targets: Sequence[Target], options: PlanOptions, fleet: FleetOptions) -> Fleet:
    """Return the plans of all; on a terminal a bar says how many are there."""
    from proxyctl.cli.progress import progress
    from proxyctl.fleet_planning import plan_fleet

    with progress("planning", len(targets)) as tell:
        return plan_fleet(targets, options, workers=fleet.parallel, done=tell)


def drift_of_fleet(
    targets: Sequence[Target], options: PlanOptions, fleet: FleetOptions
) -> DriftingFleet:
    """Return the drift of all; on a terminal a bar says how many are there."""
    from proxyctl.cli.progress import progress
    from proxyctl.fleet_planning import drift_fleet

    with progress("comparing", len(targets)) as tell:
        return drift_fleet(targets, options, workers=fleet.parallel, done=tell)


def examined_fleet(
    targets: Sequence[Target],
    look: Callable[[AdminClient, Mapping[int, str]], Examination],
    fleet: FleetOptions,
) -> ExaminedFleet:
    """Return what is wrong with all; on a terminal a bar says how many are there."""
    from proxyctl.cli.progress import progress
    from proxyctl.fleet_planning import examine_fleet

    with progress("examining", len(targets)) as tell:
        return examine_fleet(targets, look, workers=fleet.parallel, done=tell)
