"""The instances that a command works on: options and files -> targets, each with its login.

One instance is a fleet of one. A typed address wins over an instance of the environment, and the
environment wins over the files.
"""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from proxyctl.cli.options import ConnectionOptions, FileOptions, FleetOptions, LayerName
from proxyctl.cli.output import progress, say
from proxyctl.errors import ConfigError, ProxyctlError, UsageError, os_reason
from proxyctl.state.row import Layer
from proxyctl.text import nearest

if TYPE_CHECKING:  # slow to import, and validate needs none of them
    from proxyctl.catalog import Version
    from proxyctl.cli.login import Logins
    from proxyctl.config.files import Fence
    from proxyctl.config.project import Instance, ParsedFiles
    from proxyctl.fleet.outcome import Fleet
    from proxyctl.fleet.targets import Target
    from proxyctl.instance.client import AdminClient
    from proxyctl.plan.make import PlanOptions
    from proxyctl.state.configuration import Configuration

ADDRESS = frozenset({"host", "port", "socket", "instance"})
"""The options that choose an instance."""

TIMEOUT_S = 60.0
"""Time limit of the command of --instances-from."""


@dataclass(frozen=True)
class Place:
    """Where a command works: the files and the instance that the options name."""

    files: FileOptions
    connection: ConnectionOptions

    def connect(self) -> AdminClient:
        """Connect for a command that needs files only to find the instance.

        Raises: InstanceError, UsageError, ConfigError.
        """
        if self._files_decide:
            return self.target().connect()
        from proxyctl.instance.client import AdminClient

        return AdminClient(self._logins.of(None), trace=self.connection.debug)

    def target(self, *, files_are_optional: bool = False) -> Target:
        """Return the instance that the options or the files name, with its files.

        `files_are_optional`: there may be none, and mistakes of the default file are a warning if
        the options name the instance; its readable part is used then. Raises: UsageError;
        ConfigError for any other mistake that hides a part of the files.
        """
        from proxyctl.fleet.targets import Target

        if files_are_optional and not self._files_decide:
            parsed, chosen = self._readable(), None
        else:
            parsed, chosen = self._read()
        return Target(self._logins.of(chosen), parsed, self.connection.debug)

    def targets(self, fleet: FleetOptions, *, files_are_optional: bool = False) -> list[Target]:
        """Return the chosen instances, each with its login and its files.

        `files_are_optional`: without --all, as for `target`. Raises: UsageError; ConfigError, for
        files that are not optional with every mistake that validate finds; ProxyctlError.
        """
        try:
            if fleet.is_meant():
                return self._all_targets(fleet)
            return [self.target(files_are_optional=files_are_optional)]
        except ConfigError:
            if not files_are_optional:
                from proxyctl.config.project import load_project

                load_project(self.files.sources())
            raise

    def address(self) -> str:
        """Return the address that `connect` would connect to, without asking for a password.

        Raises: UsageError, ConfigError.
        """
        chosen = self._read()[1] if self._files_decide else None
        return self._logins.address_of(chosen)

    def has_files(self) -> bool:
        """Return whether -f names files, or the default file exists or may exist."""
        from proxyctl.config.files import is_there

        return bool(self.files.file) or is_there(self.files.paths()[0])

    def hostgroup_names(self) -> Mapping[int, str]:
        """Return the names that the files give to hostgroups; none without files."""
        if not self.has_files():
            return {}
        from proxyctl.config.project import ParsedFiles

        return ParsedFiles(self.files.sources()).hostgroup_names()

    def asks_instance(self, layer: LayerName | None = None) -> bool:
        """Return whether to examine an instance instead of the files.

        That is so if the command line names an instance, or if there are no files and the
        environment names an instance. Raises: UsageError for a layer of files.
        """
        if self.connection.typed & ADDRESS:
            return True
        named = self._effective
        if not self.has_files() and (named.host or named.socket or named.instance):
            return True
        if layer is not None:
            raise UsageError(
                f"--layer {layer}: files have no layers",
                fix="name an instance with --host, --socket or --instance",
            )
        return False

    def subject(
        self,
        *,
        version: Version | None,
        tables: Iterable[str] | None = None,
        layer: LayerName | None = None,
    ) -> Subject:
        """Return the configuration of the instance or of the files; dead rules are no mistake.

        `version`: the ProxySQL that the files are for, as in `ParsedFiles.project`. `tables` and
        `layer`: what to read from an instance. Raises: ConfigError, InstanceError, UsageError.
        """
        if not self.asks_instance(layer):
            from proxyctl.config.project import load_project

            project = load_project(
                self.files.sources(), version=version, takes_dead_rules=True, needs_secrets=False
            )
            return Subject(project.configuration)
        from proxyctl.instance.read import read_configuration

        with self.connect() as client:
            found = read_configuration(client, Layer(layer or LayerName.RUNTIME), tables)
            return Subject(found, client.name)

    @cached_property
    def _effective(self) -> ConnectionOptions:
        """The options without contradictions between address and instance.

        A typed address wins over an instance from the environment, and the other way round.
        """
        options, typed = self.connection, self.connection.typed
        if "instance" in typed:
            kept = {name: getattr(options, name) for name in ("host", "port") if name in typed}
            return replace(options, **{"host": None, "port": None, **kept})
        if typed & {"host", "socket"}:
            return replace(options, instance=None)
        return options

    @cached_property
    def _logins(self) -> Logins:
        from proxyctl.cli.login import Logins

        return Logins(self._effective)

    @cached_property
    def _files_decide(self) -> bool:
        """Whether a mistake in the files must stop the command before it connects.

        It must if -f names the files, or if they may name the instance: otherwise a broken file
        would send the command to the default address.
        """
        named = self._effective
        if self.files.file or named.instance:
            return True
        return not (named.host or named.socket) and self.has_files()

    def _read(self) -> tuple[ParsedFiles, Instance | None]:
        """Return the files as the chosen instance sees them, and that instance if it is in them.

        Raises: UsageError; ConfigError for any mistake that hides a part of the files.
        """
        from proxyctl.config.project import ParsedFiles

        given = self.files.sources()
        parsed = ParsedFiles(given)
        if self.connection.debug:
            found = ", ".join(sorted(parsed.sections)) or "none"
            self.connection.debug(f"files of {', '.join(given.paths)}; sections: {found}")
        instances = parsed.instances()
        try:
            chosen = _choose(self._effective, instances)
        except UsageError:
            # The instance may be in a part of the files that cannot be read.
            brought = next((one.vars for one in instances if one.vars), {})
            parsed.with_vars(brought).raise_if_misread()
            raise
        parsed = parsed.with_vars(chosen.vars) if chosen is not None else parsed
        parsed.raise_if_misread()
        return parsed, chosen

    def _readable(self) -> ParsedFiles:
        """Return the readable part of optional files, and warn of the rest."""
        from proxyctl.config.project import ParsedFiles

        if not self.has_files():
            return ParsedFiles(replace(self.files.sources(), paths=()))
        parsed = ParsedFiles(self.files.sources())
        try:
            parsed.raise_if_misread()
            parsed.instances()
        except ConfigError as error:
            first, *fix = error.mistakes[0].lines()
            say(f"warning: the wrong part of the files is skipped: {first}", *fix)
        return parsed.readable()

    def _all_targets(self, fleet: FleetOptions) -> list[Target]:
        """Return all instances. Those without `vars` share files, compiled once per version."""
        from proxyctl.cli.login import Logins
        from proxyctl.config.files import Fence
        from proxyctl.config.project import ParsedFiles
        from proxyctl.config.sections.instances import refuse_duplicate_addresses
        from proxyctl.fleet.targets import Target

        if named := self.connection.typed & ADDRESS:
            raise UsageError(f"--all chooses every instance: leave out --{min(named)}")
        sources = self.files.sources()
        parsed = ParsedFiles(sources)
        instances = parsed.instances()
        if fleet.instances_from is not None:
            instances = printed_instances(fleet.instances_from, Fence.around(sources))
        if not instances:
            parsed.raise_if_misread()  # instances may be in the unreadable part
            raise UsageError(
                "--all: the files list no instances",
                fix="list them in the section `instances` of the files",
            )
        refuse_duplicate_addresses(instances)
        nowhere = replace(self.connection, host=None, port=None, socket=None, instance=None)
        logins, debug = Logins(nowhere), self.connection.debug
        targets = [Target(logins.of(one), parsed.with_vars(one.vars), debug) for one in instances]
        if all(target.files.is_misread for target in targets):
            targets[0].files.raise_if_misread()  # every instance needs its files
        return targets


@dataclass(frozen=True)
class Subject:
    """A configuration to examine. `name`: the instance it was read from; empty for files."""

    configuration: Configuration
    name: str = ""


def _choose(options: ConnectionOptions, instances: tuple[Instance, ...]) -> Instance | None:
    """Return the instance of the files that the options choose; None for one not in the files.

    Raises: UsageError.
    """
    names = ", ".join(instance.name for instance in instances)
    if options.instance:
        for instance in instances:
            if instance.name == options.instance:
                return instance
        near = nearest(options.instance, [one.name for one in instances], cutoff=0.6)
        listed = f"instances: {names}" if names else "the files have no `instances` section"
        raise UsageError(
            f"--instance {options.instance}: no such instance in the files",
            fix=f"did you mean {near}? {listed}" if near else listed,
        )
    if options.host or options.socket or not instances:
        return None
    if len(instances) > 1:
        raise UsageError(
            "the files list several instances", fix=f"choose one with --instance: {names}"
        )
    return instances[0]


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
        fix = "leave the option out to use the instances of the files"
        raise UsageError("--instances-from: the command is empty", fix=fix)
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
        raise ProxyctlError(f"{name}: {os_reason(error)}") from error
    except subprocess.TimeoutExpired as error:
        raise ProxyctlError(f"{name}: the command did not finish within {timeout_s:g} s") from error
    if done.returncode:
        raise ProxyctlError(f"{name}: the command exited with {done.returncode}")
    found = instances_in(done.stdout.decode("utf-8", "replace"), f"<{words[0]}>", fence)
    if not found:
        raise UsageError(f"{name}: the command printed no instance")
    return found


def planned_fleet(targets: Sequence[Target], options: PlanOptions, fleet: FleetOptions) -> Fleet:
    """Return the plans of the chosen instances.

    Raises: the error of the only instance, unless --all was given.
    """
    from proxyctl.fleet.targets import plan_fleet

    with progress("planning", len(targets) if fleet.all_instances else 0) as tell:
        found = plan_fleet(targets, options, workers=fleet.parallel, done=tell)
    if not fleet.all_instances:
        found.only_plan()
    return found
