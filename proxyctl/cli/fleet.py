"""Which instances a command means, and the options of commands over many."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from ipaddress import ip_address
from typing import TYPE_CHECKING, Annotated

import typer

from proxyctl.cli.options import ConnectionOptions, FileOptions, spelled
from proxyctl.cli.printed_instances import printed_instances
from proxyctl.cli.progress import progress
from proxyctl.errors import UsageError

if TYPE_CHECKING:
    from proxyctl.config.project import Instance
    from proxyctl.fleet.outcome import Fleet
    from proxyctl.fleet.targets import Target
    from proxyctl.plan.make import PlanOptions

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
            help="With --all: ask this many at the same time.",
            rich_help_panel=_FLEET,
        ),
    ] = 10
    typed: frozenset[str] = field(default=frozenset(), metadata={"is_option": False})
    """Names of the options that stand on the command line itself, not in the environment."""

    def is_meant(self) -> bool:
        """Return whether the command is about all instances.

        Raises: UsageError for options that need --all.
        """
        if not self.all_instances:
            _refuse_without_all(self.typed)
        return self.all_instances


class Strategy(StrEnum):
    """How many instances change before anybody looks at their servers."""

    ROLLING = "rolling"
    CANARY = "canary"


@dataclass(frozen=True)
class RolloutOptions:
    """How a fleet changes: in which batches."""

    strategy: Annotated[
        Strategy,
        typer.Option(
            "--strategy",
            help="With --all: one batch after the other, or one instance before all others.",
            rich_help_panel=_FLEET,
        ),
    ] = Strategy.ROLLING
    max_unavailable: Annotated[
        int,
        typer.Option(
            "--max-unavailable",
            metavar="NUMBER",
            min=1,
            help="With --strategy rolling: so many in a batch.",
            rich_help_panel=_FLEET,
        ),
    ] = 1
    skip_unreachable: Annotated[
        bool,
        typer.Option(
            "--skip-unreachable",
            help="With --all: change the others where an instance cannot be reached or read.",
            rich_help_panel=_FLEET,
        ),
    ] = False
    typed: frozenset[str] = field(default=frozenset(), metadata={"is_option": False})
    """Names of the options that stand on the command line itself, not in the environment."""

    def check(self, fleet: FleetOptions) -> None:
        """Refuse options that would do nothing. Raises: UsageError."""
        if not fleet.is_meant():
            _refuse_without_all(self.typed)
        if "max_unavailable" in self.typed and self.strategy is not Strategy.ROLLING:
            raise UsageError("--max-unavailable goes with --strategy rolling")


def _refuse_without_all(typed: Collection[str]) -> None:
    if typed:
        raise UsageError(f"{spelled(min(typed))} needs --all")


def targets_of(
    files: FileOptions, connection: ConnectionOptions, fleet: FleetOptions
) -> list[Target]:
    """Return the instances that are meant, with a login and the files for each.

    Raises: UsageError, ConfigError, ProxyctlError.
    """
    return (
        _all_targets(files, connection, fleet)
        if fleet.is_meant()
        else [_one_target(files, connection)]
    )


def _one_target(files: FileOptions, connection: ConnectionOptions) -> Target:
    """Return the instance that options or files name."""
    from proxyctl.cli.connection import login, read_files, settled
    from proxyctl.fleet.targets import Target

    connection = settled(connection)
    parsed, chosen = read_files(files, connection)
    return Target(login(connection, chosen), parsed, connection.debug)


def _all_targets(
    files: FileOptions, connection: ConnectionOptions, fleet: FleetOptions
) -> list[Target]:
    """Return all instances. Those without `vars` share the files, compiled once a version."""
    from proxyctl.cli.connection import Logins
    from proxyctl.config.files import Fence
    from proxyctl.config.project import ParsedFiles
    from proxyctl.fleet.targets import Target

    named = connection.typed & {"host", "port", "socket", "instance"}
    if named:
        raise UsageError(f"--all means every instance; leave out --{min(named)}")
    sources = files.sources()
    parsed = ParsedFiles(sources)
    instances = parsed.instances()
    if fleet.instances_from is not None:
        instances = printed_instances(fleet.instances_from, Fence.around(sources))
    if not instances:
        parsed.raise_if_misread()  # they may stand where the files cannot be read
        raise UsageError(
            "--all: there are no instances",
            hint="list them in the section `instances` of the files",
        )
    _refuse_one_twice(instances)
    logins = Logins(replace(connection, host=None, port=None, socket=None, instance=None))
    targets = [
        Target(
            logins.of(instance),
            parsed.with_vars(instance.vars) if instance.vars else parsed,
            connection.debug,
        )
        for instance in instances
    ]
    if all(target.files.is_misread for target in targets):
        targets[0].files.raise_if_misread()  # no instance can do without, so none is asked
    return targets


def _refuse_one_twice(instances: Sequence[Instance]) -> None:
    """Refuse one address under two names: with a slip like that an instance is left out.

    Raises: ConfigError.
    """
    from proxyctl.errors import ConfigError, Mistake

    first: dict[object, Instance] = {}
    mistakes = []
    for one in instances:
        known = first.setdefault(_address(one), one)
        if known is not one:
            path, line, column, _ = one.where
            message = f"the address of {known.name}, at {known.where}"
            hint = "give each its own, or leave one of them out"
            mistakes.append(Mistake(path, line, column, f"instances.{one.name}", message, hint))
    if mistakes:
        raise ConfigError(mistakes)


def _address(instance: Instance) -> object:
    """Return the address of an instance in one spelling. No name is looked up: that may be slow."""
    if instance.socket:
        return os.path.realpath(instance.socket)
    host = str(instance.host).lower().removesuffix(".")
    with suppress(ValueError):
        host = str(ip_address(host))
    return "localhost" if host in ("127.0.0.1", "::1") else host, instance.port


def planned_fleet(targets: Sequence[Target], options: PlanOptions, fleet: FleetOptions) -> Fleet:
    """Return the plans of the instances that are meant.

    Raises: what hindered the plan of the only one, unless --all was given.
    """
    from proxyctl.fleet.plan import plan_fleet

    with progress("planning", len(targets) if fleet.all_instances else 0) as tell:
        found = plan_fleet(targets, options, workers=fleet.parallel, done=tell)
    if not fleet.all_instances:
        found.only_plan()
    return found
