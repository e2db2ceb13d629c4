"""The instances that a command works on: options and files -> targets, each with its login.

One instance is a fleet of one. An option wins over the environment, and the environment over the
files; a typed address wins over an instance of the environment.
"""

from __future__ import annotations

import logging
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING

from proxyctl.cli.file_options import FileOptions
from proxyctl.cli.login import Logins
from proxyctl.cli.option_kinds import no_such
from proxyctl.cli.options import (
    AllInstancesOptions,
    ConnectionOptions,
    FleetOptions,
    LayerName,
)
from proxyctl.cli.output import progress
from proxyctl.errors import ConfigError, InstanceError, UsageError

if TYPE_CHECKING:  # slow to import, and validate needs none of them
    from proxyctl.api import Selection
    from proxyctl.config.files import ConfigFiles, Instance
    from proxyctl.config.sources import Fence
    from proxyctl.fleet.outcome import Fleet
    from proxyctl.fleet.targets import Target
    from proxyctl.instance.client import AdminClient
    from proxyctl.plan.make import PlanOptions

_LOGGER = logging.getLogger(__name__)

ADDRESS = frozenset({"host", "port", "socket", "instance"})
"""The options that choose an instance."""


@dataclass(frozen=True)
class SelectionOptions:
    """Where a command works: the files and the instance that the options name."""

    files: FileOptions
    connection: ConnectionOptions

    def connect(self) -> AdminClient:
        """Connect for a command that needs files only to find the instance.

        Raises: InstanceError, UsageError, ConfigError.
        """
        return self.instance().connect()

    def instance(self) -> Selection:
        """Return the instance that the options or the files name, with the files that there are.

        Raises: UsageError; ConfigError for a mistake in files that describe the instance.
        """
        from proxyctl.api import Selection
        from proxyctl.config.files import ConfigFiles

        if self._files_decide:
            described, chosen = self._read()
            return Selection(described, self._logins.of(chosen))
        files = ConfigFiles(self.files.sources()) if self.has_files() else None
        return Selection(files, self._logins.of(None), files_describe_instance=False)

    def examined(self, layer: LayerName | None = None) -> Selection:
        """Return what to examine: an instance if the options name one, otherwise the files.

        Raises: as `asks_instance` and `instance`.
        """
        from proxyctl.api import Selection
        from proxyctl.config.files import ConfigFiles

        if self.asks_instance(layer):
            return self.instance()
        return Selection(ConfigFiles(self.files.sources()))

    def target(self, *, files_are_optional: bool = False) -> Target:
        """Return the instance that the options or the files name, with its files.

        `files_are_optional`: there may be none. Raises: UsageError; ConfigError for any mistake
        that hides a part of the files.
        """
        from proxyctl.fleet.targets import Target

        parsed, chosen = self._read(files_are_optional=files_are_optional)
        return Target(self._logins.of(chosen), parsed)

    def targets(
        self,
        fleet: FleetOptions,
        *,
        files_are_optional: bool = False,
        unresolved: dict[str, InstanceError] | None = None,
    ) -> list[Target]:
        """Return the chosen instances, each with its login and its files.

        `files_are_optional`: without --all, as for `target`. `unresolved`: with --all, receives the
        DNS names without an address; None raises. Raises: UsageError; ConfigError, for
        files that are not optional with every mistake that validate finds; ProxyctlError.
        """
        try:
            if fleet.is_for_all():
                return self._all_targets(fleet, unresolved)
            return [self.target(files_are_optional=files_are_optional)]
        except ConfigError:
            if not files_are_optional:
                from proxyctl.config.files import load_project

                load_project(self.files.sources(), runs_commands=False)
            raise

    def look_up_again(self) -> None:
        """Let the next targets have the addresses of names, and the passwords in files, of then."""
        self.__dict__.pop("_addresses", None)
        for name in ("_logins", "_logins_of_all"):
            if name in self.__dict__:
                self.__dict__[name].read_files_again()

    def address(self) -> str:
        """Return the address that `connect` would connect to, without asking for a password.

        Raises: UsageError, ConfigError.
        """
        return _address(self._logins, self._read()[1] if self._files_decide else None)

    def addresses(self, fleet: AllInstancesOptions) -> list[tuple[str, str]]:
        """Return the name and the address of every instance, without asking for a password.

        Raises: UsageError, ConfigError, ProxyctlError.
        """
        _, instances = self._all_instances(fleet)
        return [(instance.name, _address(self._logins_of_all, instance)) for instance in instances]

    def has_files(self) -> bool:
        """Return whether -f names files, or the default file exists or may exist."""
        from proxyctl.config.documents import is_there

        return bool(self.files.file) or is_there(self.files.paths()[0])

    def hostgroup_names(self) -> Mapping[int, str]:
        """Return the names that the files give to hostgroups; none without files."""
        if not self.has_files():
            return {}
        from proxyctl.config.files import ConfigFiles

        return ConfigFiles(self.files.sources()).hostgroup_names()

    def asks_instance(self, layer: LayerName | None = None) -> bool:
        """Return whether to examine an instance instead of the files.

        True if the command line names an instance, or if there are no files and the environment
        names an instance. Raises: UsageError for a layer of files.
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

    @cached_property
    def _effective(self) -> ConnectionOptions:
        """The options without contradictions between address and instance.

        A typed address wins over an instance from the environment, and a typed instance over an
        address from the environment.
        """
        options, typed = self.connection, self.connection.typed
        if "instance" in typed:
            kept = {name: getattr(options, name) for name in ("host", "port") if name in typed}
            return replace(options, **{"host": None, "port": None, **kept})
        return replace(options, instance=None) if typed & {"host", "socket"} else options

    @cached_property
    def _logins(self) -> Logins:
        return Logins(self._effective)

    @cached_property
    def _files_decide(self) -> bool:
        """Whether a mistake in the files must stop a command that only connects.

        True if -f names the files or if they may name the instance: otherwise a broken file would
        send the command to the default address.
        """
        named = self._effective
        if self.files.file or named.instance:
            return True
        return not (named.host or named.socket) and self.has_files()

    def _resolved(
        self,
        instances: tuple[Instance, ...],
        unresolved: dict[str, InstanceError] | None = None,
    ) -> tuple[Instance, ...]:
        """Return the instances with the addresses of DNS names. See `resolved`."""
        if not any(instance.dns for instance in instances):
            return instances
        from proxyctl.fleet.targets import resolved

        return resolved(instances, self._addresses, unresolved)

    @cached_property
    def _addresses(self) -> Callable[[str], list[str]]:
        """Returns the addresses of a DNS name, which is looked up once: see `look_up_again`."""
        from proxyctl.fleet.targets import addresses

        return cache(addresses)

    def _read(self, *, files_are_optional: bool = False) -> tuple[ConfigFiles, Instance | None]:
        """Return the files as the chosen instance sees them, and that instance if it is in them.

        Raises: UsageError; ConfigError for any mistake that hides a part of the files.
        """
        from proxyctl.config.files import ConfigFiles

        sources = self.files.sources()
        if files_are_optional and not (self._files_decide or self.has_files()):
            sources = replace(sources, paths=())
        parsed = ConfigFiles(sources)
        if _LOGGER.isEnabledFor(logging.DEBUG):
            sections = ", ".join(sorted(parsed.sections)) or "none"
            _LOGGER.debug("files of %s; sections: %s", ", ".join(sources.paths), sections)
        instances = parsed.instances()
        if not (self._effective.host or self._effective.socket):
            instances = self._resolved(instances)
        try:
            chosen = _choose(self._effective, instances)
        except UsageError:
            # The instance may be in a part of the files that cannot be read.
            any_vars = next((instance.vars for instance in instances if instance.vars), {})
            parsed.with_vars(any_vars).raise_if_misread()
            raise
        parsed = parsed.with_vars(chosen.vars) if chosen is not None else parsed
        parsed.raise_if_misread()
        return parsed, chosen

    def _all_targets(
        self, fleet: FleetOptions, unresolved: dict[str, InstanceError] | None
    ) -> list[Target]:
        """Return all instances. Instances without `vars` share files, compiled once per version."""
        from proxyctl.fleet.targets import Target

        parsed, instances = self._all_instances(fleet, unresolved)
        logins = self._logins_of_all
        targets = [
            Target(logins.of(instance), parsed.with_vars(instance.vars)) for instance in instances
        ]
        if targets and all(target.files.is_misread for target in targets):
            targets[0].files.raise_if_misread()  # every instance needs its files
        return targets

    def _all_instances(
        self, fleet: AllInstancesOptions, unresolved: dict[str, InstanceError] | None = None
    ) -> tuple[ConfigFiles, tuple[Instance, ...]]:
        """Return the files, and every instance that they or a command list."""
        from proxyctl.config.files import ConfigFiles
        from proxyctl.config.sections.instances import refuse_duplicate_addresses
        from proxyctl.config.sources import Fence

        if typed := self.connection.typed & ADDRESS:
            raise UsageError(f"--all chooses every instance: leave out --{min(typed)}")
        sources = self.files.sources()
        parsed = ConfigFiles(sources)
        instances = parsed.instances()
        if fleet.instances_from is not None:
            instances = printed_instances(fleet.instances_from, Fence.around(sources))
        if not instances:
            parsed.raise_if_misread()  # instances may be in the unreadable part
            raise UsageError(
                "--all: the files list no instances",
                fix="list them in the section `instances` of the files",
            )
        instances = self._resolved(instances, unresolved)
        refuse_duplicate_addresses(instances)
        return parsed, instances

    @cached_property
    def _logins_of_all(self) -> Logins:
        """The logins with --all, for which the environment names no address."""
        return Logins(replace(self.connection, host=None, port=None, socket=None, instance=None))


def _address(logins: Logins, chosen: Instance | None) -> str:
    host, port, socket = logins.endpoint(chosen)
    return socket or f"{host}:{port}"


def _choose(options: ConnectionOptions, instances: tuple[Instance, ...]) -> Instance | None:
    """Return the instance that the options choose; None for an address that is not of the files.

    Raises: UsageError.
    """
    by_name = {instance.name: instance for instance in instances}
    names = ", ".join(by_name)
    if options.instance:
        if options.instance in by_name:
            return by_name[options.instance]
        fix = f"choose from {names}" if names else "add a section `instances` to the files"
        noun = "instance in the files"
        raise no_such("--instance", options.instance, noun, by_name, fix=fix)
    if options.host or options.socket or not instances:
        return None
    if len(instances) > 1:
        raise UsageError(
            "the files list several instances", fix=f"choose one with --instance: {names}"
        )
    return instances[0]


def printed_instances(
    command: str, fence: Fence | None = None, *, timeout_s: float = 60
) -> tuple[Instance, ...]:
    """Return the instances that a command prints.

    `fence`: the folders for files that the instances name; None: any folder.

    Raises: UsageError, ProxyctlError, ConfigError.
    """
    from proxyctl.config.child import printed_by
    from proxyctl.config.files import instances_in

    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"--instances-from: {error}".lower()) from error
    if not words:
        raise UsageError("--instances-from: the command is empty")
    name = f"--instances-from {words[0]}"
    printed = printed_by(words, name, timeout_s=timeout_s).decode("utf-8", "replace")
    instances = instances_in(printed, f"<{words[0]}>", fence)
    if not instances:
        raise UsageError(f"{name}: the command printed no instance")
    return instances


def planned_fleet(targets: Sequence[Target], options: PlanOptions, fleet: FleetOptions) -> Fleet:
    """Return the plans of the chosen instances.

    Raises: the error of the only instance, unless --all was given.
    """
    from proxyctl.fleet.plan import plan_fleet

    with progress("planning", len(targets) if fleet.all_instances else 0) as advance:
        planned = plan_fleet(targets, options, workers=fleet.parallel, done=advance)
    if not fleet.all_instances:
        planned.only()
    return planned
