"""The login at an instance, from options, environment, files and an option file of mysql.

Passwords come from a file, the environment or a question, never from the command line.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from proxyctl.cli.options import ConnectionOptions
from proxyctl.cli.output import ask_password, can_ask
from proxyctl.errors import ProxyctlError, UsageError

if TYPE_CHECKING:
    from proxyctl.config.files import Instance
    from proxyctl.instance.connect import Login
    from proxyctl.instance.tls import Authority

_LOGGER = logging.getLogger(__name__)


@dataclass
class Logins:
    """The logins of a command: each file is read once, each password is asked for once.

    A command that goes on reads the files again: see `read_files_again`.
    """

    options: ConnectionOptions
    _asked: dict[str, str] = field(default_factory=dict)

    def of(self, chosen: Instance | None) -> Login:
        """Return the login at an instance.

        Asks for the password on a terminal when it is not known, once per account.
        """
        from proxyctl.instance.connect import Login

        options = self.options
        ca = _authority(options.tls_ca, chosen)
        verifies_identity = options.tls_verify_identity or bool(
            chosen and chosen.tls_verify_identity
        )
        host, port, socket = self.endpoint(chosen)
        if verifies_identity and (ca is None or socket):
            missing = "a host, not a socket" if ca else "--tls-ca"
            raise UsageError(f"--tls-verify-identity needs {missing}")
        user = options.user or (chosen and chosen.user) or self._option_file.get("user") or "admin"
        source, password = self._password(chosen, user, socket or f"{host}:{port}")
        return Login(
            host=host,
            port=port,
            user=user,
            password=password,
            password_source=source,
            name=chosen.name if chosen else "",
            socket=socket,
            ca=ca,
            verifies_identity=verifies_identity,
            certificate_name=(chosen and chosen.dns) or "",
            tls_required=options.tls_required or bool(chosen and chosen.tls_required),
        )

    def read_files_again(self) -> None:
        """Let the next logins have what --password-file and the option file hold then."""
        for name in ("_password_in_file", "_option_file"):
            self.__dict__.pop(name, None)

    def endpoint(self, chosen: Instance | None) -> tuple[str, int, str | None]:
        """Return host, port and socket; a socket wins. Raises: UsageError, ProxyctlError."""
        options, file = self.options, self._option_file
        name, colon, number = (options.host or "").partition(":")
        if colon and number.isdecimal():
            raise UsageError(
                f"--host {options.host}: expected a host without a port",
                fix=f"did you mean --host {name} --port {number}?",
            )
        if not file.get("port", "0").isdecimal():
            raise ProxyctlError(f"--defaults-file: port={file['port']} is not a number")
        host = options.host or (chosen and chosen.host) or file.get("host") or "127.0.0.1"
        port = options.port or (chosen and chosen.port) or int(file.get("port", 0)) or 6032
        socket = options.socket
        if socket is None and options.host is None and options.port is None:
            socket = chosen.socket if chosen else file.get("socket")
        return host, port, socket

    @cached_property
    def _option_file(self) -> dict[str, str]:
        """Return the [client] group of --defaults-file, or user and password of ~/.my.cnf.

        The host in ~/.my.cnf is a MySQL server, not a ProxySQL admin interface.
        """
        from proxyctl.config.documents import unreadable_file
        from proxyctl.config.sources import UnreadableError, read_bytes
        from proxyctl.instance.connect import client_options

        named = self.options.defaults_file
        path = named or os.path.expanduser("~/.my.cnf")
        if not named and not os.path.isfile(path):
            return {}
        try:
            text = read_bytes(path, limit=_MOST_OPTIONS).decode("utf-8", "surrogateescape")
        except UnreadableError as error:
            option = "--defaults-file" if named else ""
            raise unreadable_file(path, error.message, fix=error.fix, option=option) from None
        options = client_options(text, path)
        names = ("user", "password", "host", "port", "socket") if named else ("user", "password")
        return {name: options[name] for name in names if name in options}

    def _password(self, chosen: Instance | None, user: str, address: str) -> tuple[str, str]:
        """Return the first source that has a password and the password. Logs the source."""
        for source, password in self._passwords(chosen):
            if password is not None:
                _LOGGER.debug("the password comes from %s", source)
                return source, password
        if not can_ask():
            _LOGGER.debug("no password is given; an empty one is used")
            return "", ""
        if user not in self._asked:
            self._asked[user] = ask_password(f"{user}@{address}")
        return "the prompt", self._asked[user]

    def _passwords(self, chosen: Instance | None) -> Iterator[tuple[str, str | None]]:
        """Yield each possible source with its password or None, by precedence."""
        if self.options.password_file:
            yield "--password-file", self._password_in_file
        yield "PROXYCTL_PASSWORD", os.environ.get("PROXYCTL_PASSWORD")
        if chosen is not None:
            yield f"the instance {chosen.name} in the files", chosen.password()
        yield "the option file", self._option_file.get("password")

    @cached_property
    def _password_in_file(self) -> str:
        return password_from(self.options.password_file or "", "--password-file")


def _authority(tls_ca: str | None, chosen: Instance | None) -> Authority | None:
    """Return the CA of --tls-ca, or else the CA of the instance in the files."""
    from proxyctl.api import authority_of
    from proxyctl.instance.tls import Authority

    if tls_ca:
        from proxyctl.config.sections.instances import certificates

        return Authority(f"--tls-ca {tls_ca}", lambda: certificates(tls_ca, "--tls-ca"))
    return authority_of(chosen) if chosen else None


def password_from(path: str, option: str) -> str:
    """Return the password from the file that an option names. Raises: ProxyctlError."""
    from proxyctl.config.documents import unreadable_file
    from proxyctl.config.sources import UnreadableError, read_bytes

    try:
        return read_bytes(path, limit=_MOST_PASSWORD).decode().rstrip("\r\n")
    except UnreadableError as error:
        raise unreadable_file(path, error.message, fix=error.fix, option=option) from None
    except UnicodeDecodeError:
        raise unreadable_file(path, "not UTF-8", option=option) from None


_MOST_PASSWORD, _MOST_OPTIONS = 64 << 10, 1 << 20
"""The most bytes of a file with a password, and of an option file."""
