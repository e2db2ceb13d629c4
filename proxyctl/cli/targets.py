"""The instances that a command works on, and the options of commands that take many."""

from __future__ import annotations

import functools
import os
import shlex
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from ipaddress import ip_address
from typing import TYPE_CHECKING, Annotated

import typer

from proxyctl.cli.connect import ADDRESS, Logins, effective, read_files
from proxyctl.cli.options import ConnectionOptions, FileOptions, FromCommandLine
from proxyctl.cli.output import progress
from proxyctl.errors import ConfigError, Mistake, ProxyctlError, UsageError

if TYPE_CHECKING:
    from proxyctl.config.files import Fence
    from proxyctl.config.project import Instance
    from proxyctl.fleet.outcome import Fleet
    from proxyctl.fleet.targets import Target
    from proxyctl.plan.make import PlanOptions

_fleet_option = functools.partial(typer.Option, rich_help_panel="Many instances")


@dataclass(frozen=True)
class FleetOptions(FromCommandLine):
    """Whether a command takes all instances, where they are listed, and how many at a time."""

    all_instances: Annotated[bool, _fleet_option("--all", help="Every instance of the files.")] = (
        False
    )
    instances_from: Annotated[
        str | None,
        _fleet_option(
            metavar="COMMAND",
            help="With --all: those that this command prints within 60 seconds, as the section"
            " `instances` in JSON.",
        ),
    ] = None
    parallel: Annotated[
        int,
        _fleet_option(
            metavar="NUMBER", min=1, max=1000, help="With --all: ask this many at the same time."
        ),
    ] = 10

    def is_meant(self, rollout: RolloutOptions | None = None) -> bool:
        """Return whether the command takes all instances.

        Raises: UsageError for options, also of `rollout`, that need --all.
        """
        typed = self.typed | (rollout.typed if rollout is not None else frozenset())
        if typed and not self.all_instances:
            raise UsageError(f"--{min(typed).replace('_', '-')} needs --all")
        return self.all_instances


class Strategy(StrEnum):
    """The order of batches in a rollout."""

    ROLLING = "rolling"
    CANARY = "canary"


@dataclass(frozen=True)
class RolloutOptions(FromCommandLine):
    """How an apply with --all proceeds from instance to instance."""

    strategy: Annotated[
        Strategy,
        _fleet_option(
            help="With --all: one batch after the other, or one instance before all others."
        ),
    ] = Strategy.ROLLING
    max_unavailable: Annotated[
        int,
        _fleet_option(metavar="NUMBER", min=1, help="With --strategy rolling: so many in a batch."),
    ] = 1
    skip_unreachable: Annotated[
        bool,
        _fleet_option(
            "--skip-unreachable",
            help="With --all: change the others where an instance cannot be reached or read.",
        ),
    ] = False

    def check(self, fleet: FleetOptions) -> None:
        """Refuse options that would have no effect. Raises: UsageError."""
        is_canary = fleet.is_meant(self) and self.strategy is Strategy.CANARY
        if is_canary and "max_unavailable" in self.typed:
            raise UsageError("--max-unavailable goes with --strategy rolling")


def targets_of(
    files: FileOptions, connection: ConnectionOptions, fleet: FleetOptions
) -> list[Target]:
    """Return the chosen instances, each with its login and its files.

    Raises: UsageError, ConfigError, ProxyctlError.
    """
    return (
        _all_targets(files, connection, fleet)
        if fleet.is_meant()
        else [_one_target(files, connection)]
    )


def _one_target(files: FileOptions, connection: ConnectionOptions) -> Target:
    """Return the instance that the options or the files name."""
    from proxyctl.fleet.targets import Target

    connection = effective(connection)
    parsed, chosen = read_files(files, connection)
    return Target(Logins(connection).of(chosen), parsed, connection.debug)


def _all_targets(
    files: FileOptions, connection: ConnectionOptions, fleet: FleetOptions
) -> list[Target]:
    """Return all instances. Those without `vars` share files that are compiled once per version."""
    from proxyctl.config.files import Fence
    from proxyctl.config.project import ParsedFiles
    from proxyctl.fleet.targets import Target

    if named := connection.typed & ADDRESS:
        raise UsageError(f"--all means every instance; leave out --{min(named)}")
    sources = files.sources()
    parsed = ParsedFiles(sources)
    instances = parsed.instances()
    if fleet.instances_from is not None:
        instances = printed_instances(fleet.instances_from, Fence.around(sources))
    if not instances:
        parsed.raise_if_misread()  # instances may be in the unreadable part
        raise UsageError(
            "--all: there are no instances",
            hint="list them in the section `instances` of the files",
        )
    _refuse_duplicate_addresses(instances)
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
        targets[0].files.raise_if_misread()  # every instance needs its files
    return targets


def _refuse_duplicate_addresses(instances: Sequence[Instance]) -> None:
    """Refuse one address under two names: after such a slip another instance is never changed.

    Raises: ConfigError.
    """
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
    """Return the address of an instance in one spelling, without a DNS query."""
    if instance.socket:
        return os.path.realpath(instance.socket)
    host = str(instance.host).lower().removesuffix(".")
    with suppress(ValueError):
        host = str(ip_address(host))
    return "localhost" if host in ("127.0.0.1", "::1") else host, instance.port


def planned_fleet(targets: Sequence[Target], options: PlanOptions, fleet: FleetOptions) -> Fleet:
    """Return the plans of the chosen instances.

    Raises: the error of the only instance, unless --all was given.
    """
    from proxyctl.fleet.plan import plan_fleet

    with progress("planning", len(targets) if fleet.all_instances else 0) as tell:
        found = plan_fleet(targets, options, workers=fleet.parallel, done=tell)
    if not fleet.all_instances:
        found.only_plan()
    return found


TIMEOUT_S = 60.0
"""Time limit of the command of --instances-from."""


def printed_instances(
    command: str, fence: Fence | None = None, *, timeout_s: float = TIMEOUT_S
) -> tuple[Instance, ...]:
    """Return the instances that a command prints.

    `fence`: where files may lie that they name; None: anywhere.

    Raises: UsageError, ProxyctlError, ConfigError.
    """
    from proxyctl.config.project import instances_in

    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"--instances-from: {error}".lower()) from error
    if not words:
        raise UsageError(
            "--instances-from: an empty command",
            hint="is a variable of the environment not set? leave the option out for the instances"
            " of the files",
        )
    name = f"--instances-from {words[0]}"
    try:
        done = subprocess.run(  # noqa: S603  # the command that the user wrote
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            timeout=timeout_s,
            check=False,
        )
    except OSError as error:
        raise ProxyctlError(f"{name}: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise ProxyctlError(f"{name}: it did not end within {timeout_s:g} seconds") from error
    if done.returncode:
        raise ProxyctlError(f"{name}: it ended with {done.returncode}")
    found = instances_in(done.stdout.decode("utf-8", "replace"), f"<{words[0]}>", fence)
    if not found:
        raise UsageError(f"{name}: it names no instance")
    return found
