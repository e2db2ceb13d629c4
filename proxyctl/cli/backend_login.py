"""Who we are on the servers behind ProxySQL."""

from __future__ import annotations

import getpass
import os
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

import typer

from proxyctl.cli.output import is_terminal
from proxyctl.errors import UsageError

if TYPE_CHECKING:
    from proxyctl.instance.backend import Account

_PANEL = "Servers behind ProxySQL"


@dataclass(frozen=True)
class BackendOptions:
    """An account of the MySQL servers themselves."""

    backend_user: Annotated[
        str | None,
        typer.Option(
            "--backend-user",
            envvar="PROXYCTL_BACKEND_USER",
            metavar="NAME",
            help="Log in to the servers as this account.",
            rich_help_panel=_PANEL,
        ),
    ] = None
    backend_password_file: Annotated[
        str | None,
        typer.Option(
            "--backend-password-file",
            envvar="PROXYCTL_BACKEND_PASSWORD_FILE",
            metavar="PATH",
            help="File with its password; or set PROXYCTL_BACKEND_PASSWORD. On a terminal it is"
            " asked for.",
            rich_help_panel=_PANEL,
        ),
    ] = None
    typed: frozenset[str] = field(default=frozenset(), metadata={"is_option": False})
    """Names of the options that stand on the command line itself, not in the environment."""

    def account(self) -> Account | None:
        """Return the account that is named, None where none is.

        Raises: UsageError for a password without a name, or an empty name; ProxyctlError for a file
        that cannot be read.
        """
        from proxyctl.instance.backend import Account

        if self.backend_user is None:
            if self.backend_password_file is not None:
                raise UsageError("--backend-password-file goes with --backend-user")
            return None
        if not self.backend_user:
            raise UsageError("--backend-user: the name is empty")
        return Account(self.backend_user, self._password(self.backend_user))

    def _password(self, user: str) -> str:
        if self.backend_password_file is not None:
            from proxyctl.cli.connection import password_in

            return password_in(self.backend_password_file, "--backend-password-file")
        found = os.environ.get("PROXYCTL_BACKEND_PASSWORD")
        if found is None and is_terminal(sys.stdin) and is_terminal(sys.stderr):
            return getpass.getpass(f"Password for {user} on the servers: ", stream=sys.stderr)
        return found or ""
