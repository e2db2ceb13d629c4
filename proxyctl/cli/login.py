"""Options, environment and files -> a login.

An option wins over the environment, and the environment over the files.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from proxyctl.cli.options import ConnectionOptions
from proxyctl.cli.output import ask_password, can_ask, say
from proxyctl.errors import ProxyctlError, UsageError, os_reason
from proxyctl.instance.connect import Authority, Login, client_options

if TYPE_CHECKING:
    from proxyctl.config.project import Instance


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
        return Login(
            host=host,
            port=port,
            user=user,
            password=self._password(chosen, user, socket or f"{host}:{port}"),
            name=chosen.name if chosen else "",
            socket=socket,
            ca=_authority(options.tls_ca, chosen),
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
        from proxyctl.config.files import unreadable_file

        given = self.options.defaults_file
        path = given or os.path.expanduser("~/.my.cnf")
        if not os.path.isfile(path):
            if given and os.path.exists(path):
                # A pipe can be read once only, and every member of a cluster needs the file.
                raise ProxyctlError(f"--defaults-file {path}: not a regular file")
            if not given:
                return {}
        try:
            found = client_options(path)
        except OSError as error:
            if given:
                raise unreadable_file(path, os_reason(error), option="--defaults-file") from None
            say(f"warning: {path} is skipped: {os_reason(error)}")
            return {}
        names = ("user", "password", "host", "port", "socket") if given else ("user", "password")
        return {name: found[name] for name in names if name in found}

    def _password(self, chosen: Instance | None, user: str, address: str) -> str:
        """Return the password from the first place that has one; --debug names the place."""
        tell = self.options.debug or (lambda _text: None)
        for place, found in self._passwords(chosen):
            if found is not None:
                tell(f"the password comes from {place}")
                return found
        if can_ask():
            tell("asking for the password on the terminal")
            if user not in self._asked:
                self._asked[user] = ask_password(f"{user}@{address}")
            return self._asked[user]
        tell("no password is given; an empty one is used")
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


def _authority(tls_ca: str | None, chosen: Instance | None) -> Authority | None:
    """Return the CA of --tls-ca, or else that of the instance in the files."""
    if tls_ca:
        from proxyctl.config.sections.instances import certificates

        return Authority(f"--tls-ca {tls_ca}", lambda: certificates(tls_ca, "--tls-ca"))
    if chosen and chosen.tls_ca:
        return Authority(f"tls_ca {chosen.tls_ca}", chosen.certificates)
    return None


def _place(
    options: ConnectionOptions, chosen: Instance | None, file: dict[str, str]
) -> tuple[str, int, str | None]:
    """Return host, port and socket; a socket takes precedence. Raises: UsageError."""
    name, colon, number = (options.host or "").partition(":")
    if colon and number.isdecimal():
        raise UsageError(
            f"--host {options.host}: expected a host without a port",
            fix=f"did you mean --host {name} --port {number}?",
        )
    host = options.host or (chosen and chosen.host) or file.get("host") or "127.0.0.1"
    if not file.get("port", "0").isdecimal():
        raise ProxyctlError(f"--defaults-file: port={file['port']} is not a number")
    port = options.port or (chosen and chosen.port) or int(file.get("port", 0)) or 6032
    socket = options.socket
    if socket is None and options.host is None and options.port is None:
        socket = chosen.socket if chosen else file.get("socket")
    return host, port, socket


def password_from(path: str, option: str) -> str:
    """Return the password from the file that an option names. Raises: ProxyctlError."""
    try:
        return Path(path).read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        from proxyctl.config.files import unreadable_file

        reason = os_reason(error) if isinstance(error, OSError) else "not UTF-8"
        raise unreadable_file(path, reason, option=option) from None
