"""The command import: a proxysql.cnf, or the accounts of a MySQL server, as our files."""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass
from errno import EINVAL
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from proxyctl.cli.commands.files import OutOption, Secrets, SecretsOption, check_out, emit
from proxyctl.cli.login import password_from
from proxyctl.cli.options import VersionOption, chosen_version, option
from proxyctl.cli.output import ask_password, can_ask, say
from proxyctl.errors import ExitCode, ProxyctlError, UsageError

if TYPE_CHECKING:
    from proxyctl.catalog import Version
    from proxyctl.formats.imported import Imported
    from proxyctl.instance.backend import Account
    from proxyctl.state.fold import Exported

_backend_option = functools.partial(option, rich_help_panel="Servers behind ProxySQL")


@dataclass(frozen=True)
class BackendOptions:
    """An account on the MySQL servers behind ProxySQL."""

    backend_user: str | None = _backend_option(
        None,
        envvar="PROXYCTL_BACKEND_USER",
        metavar="NAME",
        help="Log in to the servers as this account.",
    )
    backend_password_file: str | None = _backend_option(
        None,
        envvar="PROXYCTL_BACKEND_PASSWORD_FILE",
        metavar="PATH",
        help="File with the password of --backend-user. Default:"
        " PROXYCTL_BACKEND_PASSWORD, or a prompt on a terminal.",
    )

    def account(self) -> Account | None:
        """Return the account that the options name; None without --backend-user.

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
            return password_from(self.backend_password_file, "--backend-password-file")
        found = os.environ.get("PROXYCTL_BACKEND_PASSWORD")
        if found is None and can_ask():
            return ask_password(f"{user} on the servers")
        return found or ""


def import_(
    backends: BackendOptions,
    cnf: str | None = typer.Argument(None, metavar="FILE.cnf", help="A proxysql.cnf file."),
    users_from: str | None = typer.Option(
        None,
        metavar="HOST[:PORT]",
        help="Import mysql_users from the accounts of this MySQL server, not from a file.",
    ),
    default_hostgroup: int = typer.Option(
        0,
        min=0,
        metavar="N",
        help="With --users-from: the default_hostgroup of the imported users.",
    ),
    secrets: SecretsOption = Secrets.HASH,
    proxysql_version: VersionOption = None,
    restrict_paths: bool = typer.Option(
        False,
        "--restrict-paths",
        help="Refuse files outside the folder of FILE.cnf, also behind links.",
    ),
    out: OutOption = None,
) -> int:
    """Convert a proxysql.cnf, or the accounts of a MySQL server, to files."""
    from proxyctl.config.project import mistakes_in
    from proxyctl.formats.exported import exported_text

    check_out(out, secrets)
    version = chosen_version(proxysql_version)
    if (cnf is None) == (users_from is None):
        raise UsageError(
            "import needs FILE.cnf or --users-from HOST",
            fix="proxyctl import --help shows its options",
        )
    if users_from is not None and restrict_paths:
        raise UsageError("--restrict-paths applies to FILE.cnf, not to --users-from")
    imported = None
    if cnf is not None:
        imported = _imported(cnf, version, secrets, restrict_paths=restrict_paths)
        exported = imported.exported
    else:
        exported = _users(str(users_from), backends.account(), version, default_hostgroup)
        exported.is_for_version = version is not None
    text = exported_text(
        exported, "yaml", secrets.value, check=lambda text: mistakes_in(text, exported.version)
    )
    emit(exported, text, secrets, out)
    if imported is not None:
        say(*imported.remarks(text, source=str(cnf), out=out or "the output"))
    return ExitCode.DONE


def _imported(
    cnf: str, version: Version | None, secrets: Secrets, *, restrict_paths: bool
) -> Imported:
    """Return what a proxysql.cnf becomes. Raises: ProxyctlError where it cannot be read."""
    from proxyctl.config.files import (
        MAX_FILE,
        Fence,
        UnreadableError,
        exposure,
        near_file,
        read_bytes,
    )
    from proxyctl.formats.imported import import_cnf

    path = Path(cnf)
    fence = Fence.around_path(cnf, "folder of FILE.cnf") if restrict_paths else Fence()

    def text_of(path: Path) -> str:
        # Checked before the file is opened, and again once it is open.
        fence.check(str(path.absolute()))
        return read_bytes(str(path), limit=MAX_FILE, fence=fence).decode("utf-8", "surrogateescape")

    def included(name: str) -> str:
        try:
            return text_of(path.parent / name)
        except UnreadableError as error:
            raise OSError(EINVAL, error.message) from error

    try:
        text = text_of(path)
    except UnreadableError as error:
        raise ProxyctlError(f"{path}: {error}", fix=error.fix or near_file(str(path))) from error
    found = import_cnf(text, cnf, version=version, secrets=secrets.value, include=included)
    if found.has_clear_password and (exposed := exposure(cnf)):
        say(f"warning: {exposed}")
    return found


def _users(
    server: str, account: Account | None, version: Version | None, default_hostgroup: int
) -> Exported:
    """Return the users of a server. Raises: UsageError, InstanceError."""
    from proxyctl.catalog import REFERENCE
    from proxyctl.formats.imported import leave_out_administrators
    from proxyctl.instance.backend_accounts import exported_users
    from proxyctl.nodes.discover import members_in

    if account is None:
        raise UsageError("--users-from needs --backend-user: an account that reads mysql.user")
    node = next(iter(members_in(server)), (server, 3306))
    exported = exported_users(
        node, account, version=version or REFERENCE, default_hostgroup=default_hostgroup
    )
    leave_out_administrators(exported, {})
    return exported
