"""From options, environment and files to a login: option before environment before file."""

from __future__ import annotations

import getpass
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from proxyctl.cli.options import ConnectionOptions, FileOptions
from proxyctl.cli.output import is_terminal, say
from proxyctl.errors import ConfigError, ProxyctlError, UsageError
from proxyctl.instance.client import AdminClient
from proxyctl.instance.connect import Login

if TYPE_CHECKING:
    from proxyctl.config.project import Instance, ParsedFiles


@contextmanager
def opened(
    files: FileOptions, connection: ConnectionOptions
) -> Iterator[tuple[AdminClient, ParsedFiles]]:
    """Parse the files, which may name the instance, and connect to it.

    Raises: InstanceError, UsageError; before connecting ConfigError for files that cannot be read.
    """
    connection = settled(connection)
    parsed, chosen = read_files(files, connection)
    with connect(connection, chosen) as client:
        yield client, parsed


@contextmanager
def connected_beside(
    files: FileOptions, connection: ConnectionOptions
) -> Iterator[tuple[AdminClient, ParsedFiles | None]]:
    """As `opened`, for a command that also does without files: None where there are none.

    Where nothing depends on files that cannot be read, that is a warning: their readable part is
    what there is then.
    """
    connection = settled(connection)
    parsed: ParsedFiles | None = None
    chosen: Instance | None = None
    if _counts(files, connection):
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
    """Connect for a command that needs files only where they say which instance is meant.

    Raises: InstanceError, UsageError, ConfigError.
    """
    connection = settled(connection)
    return connect(connection, _instance_meant(files, connection))


def address_meant(files: FileOptions, connection: ConnectionOptions) -> str:
    """Return the address that `connected` would connect to; nobody is asked for a password.

    Raises: UsageError, ConfigError.
    """
    connection = settled(connection)
    chosen = _instance_meant(files, connection)
    host, port, socket = _place(connection, chosen, _option_file(connection))
    return socket or f"{host}:{port}"


def has_files(files: FileOptions) -> bool:
    """Return whether files were named, or the default one is there, or may be."""
    from proxyctl.config.files import is_there

    return bool(files.file) or is_there(files.paths()[0])


def hostgroup_names(files: FileOptions) -> Mapping[int, str]:
    """Return what the files, where there are any, call the hostgroups."""
    if not has_files(files):
        return {}
    from proxyctl.config.project import ParsedFiles  # takes its time to import

    return ParsedFiles(files.sources()).hostgroup_names()


def _counts(files: FileOptions, connection: ConnectionOptions) -> bool:
    """Return whether a mistake in the files must stop us before we connect.

    It must where the files may say which instance is meant, or were named: else a broken file sends
    a command to the default address.
    """
    is_named = bool(connection.host or connection.socket)
    return bool(files.file or connection.instance) or (not is_named and has_files(files))


def _instance_meant(files: FileOptions, connection: ConnectionOptions) -> Instance | None:
    return read_files(files, connection)[1] if _counts(files, connection) else None


def read_files(
    files: FileOptions, connection: ConnectionOptions
) -> tuple[ParsedFiles, Instance | None]:
    """Return the files as they are for the instance that is meant, and that one if they name it.

    Raises: UsageError; ConfigError for whatever hides a part of the files.
    """
    from proxyctl.config.project import ParsedFiles  # takes its time to import

    given = files.sources()
    parsed = ParsedFiles(given)
    if connection.debug:
        found = ", ".join(sorted(parsed.sections)) or "none"
        connection.debug(f"files of {', '.join(given.paths)}; sections: {found}")
    instances = parsed.instances()
    try:
        chosen = choose_instance(connection, instances)
    except UsageError:
        # The one that is meant may stand where the files cannot be read.
        with_vars = next((one for one in instances if one.vars), None)
        _for_instance(parsed, with_vars).raise_if_misread()
        raise
    parsed = _for_instance(parsed, chosen)
    parsed.raise_if_misread()
    return parsed, chosen


def _for_instance(parsed: ParsedFiles, chosen: Instance | None) -> ParsedFiles:
    """Return the files with the variables that an instance brings along."""
    if chosen is None or not chosen.vars:
        return parsed
    return parsed.with_vars(chosen.vars)


def settled(options: ConnectionOptions) -> ConnectionOptions:
    """Return the options where the address and the instance do not contradict each other.

    One that was typed wins over the other one from the environment.
    """
    if "instance" in options.typed:
        kept = {n: v for n in ("host", "port") if (v := getattr(options, n)) and n in options.typed}
        return replace(options, **{"host": None, "port": None, **kept})
    if options.typed & {"host", "socket"}:
        return replace(options, instance=None)
    return options


def connect(options: ConnectionOptions, chosen: Instance | None = None) -> AdminClient:
    """Open the connection that the options ask for.

    Raises: InstanceError, UsageError.
    """
    return AdminClient(login(options, chosen), trace=options.debug)


def login(options: ConnectionOptions, chosen: Instance | None = None) -> Login:
    """Return who we are and where. Asks for a password on a terminal when none is known."""
    return Logins(options).of(chosen)


@dataclass
class Logins:
    """Who we are at each of several instances: files are read once, and nobody is asked twice."""

    options: ConnectionOptions
    _asked: dict[str, str] = field(default_factory=dict)

    def of(self, chosen: Instance | None) -> Login:
        """Return who we are at an instance, and where it is.

        Asks for a password on a terminal when none is known, once for each account.
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

    @cached_property
    def _option_file(self) -> dict[str, str]:
        return _option_file(self.options)

    def _password(self, chosen: Instance | None, user: str, address: str) -> str:
        """Return the password of the first place that has one; --debug says which."""
        tell = self.options.debug or (lambda _text: None)
        for place, found in self._passwords(chosen):
            if found is not None:
                tell(f"the password is that of {place}")
                return found
        if is_terminal(sys.stdin) and is_terminal(sys.stderr):
            tell("the password is asked for on the terminal")
            if user not in self._asked:
                prompt = f"Password for {user}@{address}: "
                self._asked[user] = getpass.getpass(prompt, stream=sys.stderr)
            return self._asked[user]
        tell("there is no password: it is empty")
        return ""

    def _passwords(self, chosen: Instance | None) -> Iterator[tuple[str, str | None]]:
        """Yield where a password may stand, and the password, in the order in which they count."""
        if self.options.password_file:
            yield "--password-file", self._password_in_file
        yield "PROXYCTL_PASSWORD", os.environ.get("PROXYCTL_PASSWORD")
        if chosen is not None:
            yield f"the instance {chosen.name} in the files", chosen.password()
        yield "the option file", self._option_file.get("password")

    @cached_property
    def _password_in_file(self) -> str:
        return password_in(self.options.password_file or "", "--password-file")


def _place(
    options: ConnectionOptions, chosen: Instance | None, file: dict[str, str]
) -> tuple[str, int, str | None]:
    """Return host, port and socket; the socket goes first."""
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
    """Return the instance of the files that the options mean; None for one they do not name.

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


def _option_file(options: ConnectionOptions) -> dict[str, str]:
    """Return the [client] group of --defaults-file, or user and password of ~/.my.cnf.

    The host of ~/.my.cnf is that of a MySQL server, not of a ProxySQL admin interface.
    """
    from pymysql.optionfile import Parser

    path = options.defaults_file or os.path.expanduser("~/.my.cnf")
    if not os.path.isfile(path):
        if options.defaults_file:
            # A pipe gives its text once, and it is asked for at each member of a cluster.
            what = "it is no file" if os.path.exists(path) else "no such file"
            raise ProxyctlError(f"--defaults-file {path}: {what}")
        return {}
    wanted = ["user", "password"]
    if options.defaults_file:
        wanted += ["host", "port", "socket"]
    parser = Parser()
    try:
        with open(path, encoding="utf-8") as file:
            parser.read_file(file)
        if not parser.has_section("client"):
            return {}
        found = {n: parser.get("client", n) for n in wanted if parser.has_option("client", n)}
    except OSError as error:
        if options.defaults_file:
            raise ProxyctlError(f"--defaults-file {path}: {error.strerror}") from None
        say(f"warning: {path} is left out: {error.strerror}")
        return {}
    except Exception as error:
        # The parser's own message repeats the line, which may hold the password.
        raise ProxyctlError(f"{path}: not an option file: {type(error).__name__}") from None
    if found.get("password"):
        _warn_of(path)
    return found


def _warn_of(path: str) -> None:
    """Warn of a file with a password that everybody on this machine can read."""
    from proxyctl.config.files import exposure

    said = exposure(path)
    if said:
        say(f"warning: {said}")


def password_in(path: str, option: str) -> str:
    """Return the password in a file that an option names. Raises: ProxyctlError."""
    _warn_of(path)
    try:
        return Path(path).read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise ProxyctlError(f"{option} {path}: {reason}") from None
