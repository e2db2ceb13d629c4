"""Turns options, environment and files into a login, and into the configuration to look at.

An option wins over the environment, and the environment over the files.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from proxyctl.cli.options import ConnectionOptions, FileOptions
from proxyctl.cli.output import ask_password, can_ask, say
from proxyctl.errors import ConfigError, ProxyctlError, UsageError
from proxyctl.instance.client import AdminClient
from proxyctl.instance.connect import Login
from proxyctl.state.row import Layer

if TYPE_CHECKING:
    from proxyctl.catalog import Version
    from proxyctl.config.project import Instance, ParsedFiles
    from proxyctl.state.configuration import Configuration


@contextmanager
def connected_with_files(
    files: FileOptions, connection: ConnectionOptions
) -> Iterator[tuple[AdminClient, ParsedFiles]]:
    """Parse the files, which may name the instance, and connect to it.

    Raises: InstanceError, UsageError; before connecting ConfigError for files that cannot be read.
    """
    connection = effective(connection)
    parsed, chosen = read_files(files, connection)
    with connect(connection, chosen) as client:
        yield client, parsed


@contextmanager
def connected_with_any_files(
    files: FileOptions, connection: ConnectionOptions
) -> Iterator[tuple[AdminClient, ParsedFiles | None]]:
    """Connect like `connected_with_files`; the files are optional, and None when there are none.

    Files that cannot be read are a warning if the options name the instance: their readable part
    is used then.
    """
    connection = effective(connection)
    parsed: ParsedFiles | None = None
    chosen: Instance | None = None
    if _files_decide(files, connection):
        parsed, chosen = read_files(files, connection)
    elif has_files(files):
        from proxyctl.config.project import ParsedFiles

        parsed = ParsedFiles(files.sources())
        try:
            parsed.raise_if_misread()
            parsed.instances()
        except ConfigError as error:
            first, *hint = error.mistakes[0].lines()
            say(f"warning: the files are left out where they are wrong: {first}", *hint)
    with connect(connection, chosen) as client:
        yield client, parsed


def connected(files: FileOptions, connection: ConnectionOptions) -> AdminClient:
    """Connect for a command that needs files only to find the instance.

    Raises: InstanceError, UsageError, ConfigError.
    """
    connection = effective(connection)
    return connect(connection, _chosen_instance(files, connection))


def chosen_address(files: FileOptions, connection: ConnectionOptions) -> str:
    """Return the address that `connected` would connect to, without asking for a password.

    Raises: UsageError, ConfigError.
    """
    connection = effective(connection)
    chosen = _chosen_instance(files, connection)
    return Logins(connection).address_of(chosen)


def has_files(files: FileOptions) -> bool:
    """Return whether -f names files, or the default file exists or may exist."""
    from proxyctl.config.files import is_there

    return bool(files.file) or is_there(files.paths()[0])


def hostgroup_names(files: FileOptions) -> Mapping[int, str]:
    """Return the names that the files give to hostgroups; none without files."""
    if not has_files(files):
        return {}
    from proxyctl.config.project import ParsedFiles  # slow to import

    return ParsedFiles(files.sources()).hostgroup_names()


def _files_decide(files: FileOptions, connection: ConnectionOptions) -> bool:
    """Return whether a mistake in the files must stop the command before it connects.

    It must if -f names the files, or if they may name the instance: otherwise a broken file would
    send the command to the default address.
    """
    is_named = bool(connection.host or connection.socket)
    return bool(files.file or connection.instance) or (not is_named and has_files(files))


def _chosen_instance(files: FileOptions, connection: ConnectionOptions) -> Instance | None:
    return read_files(files, connection)[1] if _files_decide(files, connection) else None


def read_files(
    files: FileOptions, connection: ConnectionOptions
) -> tuple[ParsedFiles, Instance | None]:
    """Return the chosen instance, None if the files do not name it, and the files as it sees them.

    Raises: UsageError; ConfigError for any mistake that hides a part of the files.
    """
    from proxyctl.config.project import ParsedFiles  # slow to import

    given = files.sources()
    parsed = ParsedFiles(given)
    if connection.debug:
        found = ", ".join(sorted(parsed.sections)) or "none"
        connection.debug(f"files of {', '.join(given.paths)}; sections: {found}")
    instances = parsed.instances()
    try:
        chosen = choose_instance(connection, instances)
    except UsageError:
        # The instance may be in a part of the files that cannot be read.
        brought = next((one.vars for one in instances if one.vars), None)
        (parsed.with_vars(brought) if brought else parsed).raise_if_misread()
        raise
    parsed = parsed.with_vars(chosen.vars) if chosen is not None and chosen.vars else parsed
    parsed.raise_if_misread()
    return parsed, chosen


def effective(options: ConnectionOptions) -> ConnectionOptions:
    """Return the options without contradictions between address and instance.

    A typed address wins over an instance from the environment, and the other way round.
    """
    if "instance" in options.typed:
        kept = {n: v for n in ("host", "port") if (v := getattr(options, n)) and n in options.typed}
        return replace(options, **{"host": None, "port": None, **kept})
    if options.typed & {"host", "socket"}:
        return replace(options, instance=None)
    return options


def connect(options: ConnectionOptions, chosen: Instance | None = None) -> AdminClient:
    """Connect to the instance that the options choose.

    Raises: InstanceError, UsageError.
    """
    return AdminClient(Logins(options).of(chosen), trace=options.debug)


@dataclass
class Logins:
    """Logins at one or more instances: reads each file once and asks for each password once."""

    options: ConnectionOptions
    _asked: dict[str, str] = field(default_factory=dict)

    def of(self, chosen: Instance | None) -> Login:
        """Return the login at an instance.

        Asks for the password on a terminal when it is not known, once per account.
        """
        options = self.options
        host, port, socket = _place(options, chosen, self._option_file)
        user = options.user or (chosen and chosen.user) or self._option_file.get("user") or "admin"
        of_files = chosen if chosen and chosen.tls_ca and not options.tls_ca else None
        return Login(
            host=host,
            port=port,
            user=user,
            password=self._password(chosen, user, socket or f"{host}:{port}"),
            name=chosen.name if chosen else "",
            socket=socket,
            tls_ca=of_files.tls_ca if of_files else options.tls_ca or None,
            read_ca=of_files.certificates if of_files else None,
            tls_required=options.tls_required or bool(chosen and chosen.tls_required),
        )

    def address_of(self, chosen: Instance | None) -> str:
        """Return the address of an instance, without asking for a password."""
        host, port, socket = _place(self.options, chosen, self._option_file)
        return socket or f"{host}:{port}"

    @cached_property
    def _option_file(self) -> dict[str, str]:
        """Return the [client] group of --defaults-file, or user and password of ~/.my.cnf.

        The host of ~/.my.cnf is that of a MySQL server, not of a ProxySQL admin interface.
        """
        from proxyctl.instance.option_file import client_options

        given = self.options.defaults_file
        path = given or os.path.expanduser("~/.my.cnf")
        if not os.path.isfile(path):
            if given:
                # A pipe can be read once only, and every member of a cluster needs the file.
                what = "it is no file" if os.path.exists(path) else "no such file"
                raise ProxyctlError(f"--defaults-file {path}: {what}")
            return {}
        try:
            found = client_options(path)
        except OSError as error:
            if given:
                raise ProxyctlError(f"--defaults-file {path}: {error.strerror}") from None
            say(f"warning: {path} is left out: {error.strerror}")
            return {}
        if found.get("password"):
            _warn_if_exposed(path)
        wanted = _OF_OPTION_FILE if given else ("user", "password")
        return {name: found[name] for name in wanted if name in found}

    def _password(self, chosen: Instance | None, user: str, address: str) -> str:
        """Return the password from the first place that has one; --debug names the place."""
        tell = self.options.debug or (lambda _text: None)
        for place, found in self._passwords(chosen):
            if found is not None:
                tell(f"the password is that of {place}")
                return found
        if can_ask():
            tell("the password is asked for on the terminal")
            if user not in self._asked:
                self._asked[user] = ask_password(f"{user}@{address}")
            return self._asked[user]
        tell("there is no password: it is empty")
        return ""

    def _passwords(self, chosen: Instance | None) -> Iterator[tuple[str, str | None]]:
        """Yield each place that may have a password, with the password, by precedence."""
        if self.options.password_file:
            yield "--password-file", self._password_in_file
        yield "PROXYCTL_PASSWORD", os.environ.get("PROXYCTL_PASSWORD")
        if chosen is not None:
            yield f"the instance {chosen.name} in the files", chosen.password()
        yield "the option file", self._option_file.get("password")

    @cached_property
    def _password_in_file(self) -> str:
        return password_from(self.options.password_file or "", "--password-file")


def _place(
    options: ConnectionOptions, chosen: Instance | None, file: dict[str, str]
) -> tuple[str, int, str | None]:
    """Return host, port and socket; a socket takes precedence."""
    host = options.host or (chosen and chosen.host) or file.get("host") or "127.0.0.1"
    port = options.port or (chosen and chosen.port) or _port_of(file) or 6032
    socket = options.socket
    if socket is None and options.host is None and options.port is None:
        socket = chosen.socket if chosen else file.get("socket")
    return host, port, socket


def _port_of(file: dict[str, str]) -> int | None:
    text = file.get("port")
    if text is not None and not text.isdecimal():
        raise ProxyctlError(f"--defaults-file: port={text} is not a number")
    return int(text) if text else None


def choose_instance(options: ConnectionOptions, instances: tuple[Instance, ...]) -> Instance | None:
    """Return the instance of the files that the options choose; None for one not in the files.

    Raises: UsageError.
    """
    names = ", ".join(instance.name for instance in instances)
    if options.instance:
        for instance in instances:
            if instance.name == options.instance:
                return instance
        raise UsageError(
            f"--instance {options.instance}: no such instance in the files",
            hint=f"instances: {names}" if names else "the files have no `instances` section",
        )
    if options.host or options.socket or not instances:
        return None
    if len(instances) > 1:
        raise UsageError("the files name several instances", hint=f"--instance one of: {names}")
    return instances[0]


_OF_OPTION_FILE = ("user", "password", "host", "port", "socket")


def _warn_if_exposed(path: str) -> None:
    """Warn about a password file that every user of this machine can read."""
    from proxyctl.config.files import exposure

    said = exposure(path)
    if said:
        say(f"warning: {said}")


def password_from(path: str, option: str) -> str:
    """Return the password from the file that an option names. Raises: ProxyctlError."""
    _warn_if_exposed(path)
    try:
        return Path(path).read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise ProxyctlError(f"{option} {path}: {reason}") from None


ADDRESS = frozenset({"host", "port", "socket", "instance"})
"""The options that choose an instance."""


@dataclass(frozen=True)
class Subject:
    """A configuration to look at. `name`: the instance it was read from; empty for files."""

    configuration: Configuration
    name: str = ""


def asks_instance(files: FileOptions, connection: ConnectionOptions) -> bool:
    """Return whether to look at what an instance runs with, instead of the files.

    That is when the command line names an instance, or when there are no files and the environment
    names one.
    """
    if connection.typed & ADDRESS:
        return True
    named = effective(connection)
    return not has_files(files) and bool(named.host or named.socket or named.instance)


def subject_of(
    files: FileOptions,
    connection: ConnectionOptions,
    *,
    version: Version,
    tables: Iterable[str] | None = None,
    layer: Layer = Layer.RUNTIME,
) -> Subject:
    """Return the configuration of the instance or of the files; dead rules are no mistake.

    `version`: the ProxySQL that the files are for. `tables` and `layer`: what to read from an
    instance. Raises: ConfigError, InstanceError, UsageError.
    """
    if not asks_instance(files, connection):
        from proxyctl.config.project import load_project

        project = load_project(
            files.sources(), version=version, takes_dead_rules=True, needs_secrets=False
        )
        return Subject(project.configuration)
    from proxyctl.instance.read import read_configuration

    with connected(files, connection) as client:
        found = read_configuration(client, layer, tables)
        return Subject(found, client.login.name or client.address)
