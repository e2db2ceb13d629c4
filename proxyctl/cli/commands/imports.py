"""The command import: a proxysql.cnf, or the accounts of a MySQL server, as our files."""

from __future__ import annotations

import functools
import os
from collections.abc import Collection
from dataclasses import dataclass
from errno import EINVAL
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proxyctl.cli.commands.files import OutOption, Secrets, SecretsOption, check_secrets, emit
from proxyctl.cli.connect import password_from
from proxyctl.cli.options import VersionOption, chosen_version
from proxyctl.cli.output import ask_password, can_ask, say
from proxyctl.errors import ExitCode, ProxyctlError, UsageError, counted
from proxyctl.state.fold import environment_name

if TYPE_CHECKING:
    from proxyctl.catalog import Version
    from proxyctl.config.files import Fence
    from proxyctl.formats.cnf_reader import Imported
    from proxyctl.instance.backend import Account
    from proxyctl.state.families import Node
    from proxyctl.state.fold import Exported

_backend_option = functools.partial(typer.Option, rich_help_panel="Servers behind ProxySQL")


@dataclass(frozen=True)
class BackendOptions:
    """An account on the MySQL servers behind ProxySQL."""

    backend_user: Annotated[
        str | None,
        _backend_option(
            envvar="PROXYCTL_BACKEND_USER",
            metavar="NAME",
            help="Log in to the servers as this account.",
        ),
    ] = None
    backend_password_file: Annotated[
        str | None,
        _backend_option(
            envvar="PROXYCTL_BACKEND_PASSWORD_FILE",
            metavar="PATH",
            help="File with its password; or set PROXYCTL_BACKEND_PASSWORD. On a terminal it is"
            " asked for.",
        ),
    ] = None

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
    cnf: Annotated[str | None, typer.Argument(metavar="[FILE.cnf]", help="A proxysql.cnf.")] = None,
    users_from: Annotated[
        str | None,
        typer.Option(
            metavar="HOST[:PORT]",
            help="Instead of a file: a MySQL server whose accounts become mysql_users.",
        ),
    ] = None,
    default_hostgroup: Annotated[
        int, typer.Option(min=0, help="Of the users of --users-from.")
    ] = 0,
    secrets: SecretsOption = Secrets.HASH,
    proxysql_version: VersionOption = None,
    restrict_paths: Annotated[
        bool,
        typer.Option(
            "--restrict-paths",
            help="Refuse files outside the folder of FILE.cnf that @include or a link leads to.",
        ),
    ] = False,
    out: OutOption = None,
) -> int:
    """Turn a proxysql.cnf, or the accounts of a MySQL server, into our files."""
    from proxyctl.config.project import mistakes_in
    from proxyctl.formats.exported import exported_text

    check_secrets(secrets, out)
    version = chosen_version(proxysql_version)
    if (cnf is None) == (users_from is None):
        raise UsageError(
            "import takes a FILE.cnf, or --users-from HOST",
            hint="proxyctl import --help shows its options",
        )
    if users_from is not None and restrict_paths:
        raise UsageError("--restrict-paths is about the files of a FILE.cnf, not --users-from")
    stays: list[str] = []
    if users_from is not None:
        exported = _imported_users(users_from, backends.account(), version, default_hostgroup)
    else:
        exported, stays = _imported_cnf(str(cnf), version, secrets, restrict_paths=restrict_paths)
    text = exported_text(
        exported, "yaml", secrets.value, check=lambda text: mistakes_in(text, version)
    )
    emit(exported, text, secrets, out)
    if cnf is not None:
        _say_what_import_did(exported, stays, text, cnf, out)
    return ExitCode.DONE


def _imported_cnf(
    cnf: str, version: Version, secrets: Secrets, *, restrict_paths: bool
) -> tuple[Exported, list[str]]:
    """Return the content of a proxysql.cnf, with a warning for everything that is left out.

    Also return the keys that ProxySQL reads from the .cnf at every start.

    Raises: ProxyctlError where it, or what it includes, cannot be read.
    """
    from proxyctl.config.files import Fence, UnreadableError, clear_passwords, exposure
    from proxyctl.formats.cnf_reader import read_cnf
    from proxyctl.state.fold import Exported, export_variables, with_secrets
    from proxyctl.state.runtime import ignored_rows

    path = Path(cnf)
    fence = Fence.around_path(cnf, "folder of FILE.cnf") if restrict_paths else Fence()

    def included(name: str) -> str:
        try:
            return _text_of(path.parent / name, fence)
        except UnreadableError as error:
            raise OSError(EINVAL, error.message) from error

    try:
        text = _text_of(path, fence)
    except UnreadableError as error:
        raise ProxyctlError(f"{path}: {error}", hint=error.hint) from error
    found = read_cnf(text, cnf, version=version, include=included)
    if any(clear_passwords(_as_sections(found))) and (exposed := exposure(cnf)):
        say(f"warning: {exposed}")
    exported = Exported(version, warnings=found.notes, places=found.places)
    for name, (layout, rows) in found.tables.items():
        exported.layouts[name] = layout
        exported.tables[name] = with_secrets(exported, layout, rows, secrets.value)
        exported.leave_out(name, found.left_out.get(name, {}))
        passed_over = ignored_rows(layout, {layout.key_of(row): row for row in rows})
        exported.leave_out(name, passed_over)
    export_variables(exported, found.variables.items(), secrets.value, keeps_defaults=True)
    return exported, found.stays


def _say_what_import_did(
    exported: Exported, stays: Collection[str], text: str, cnf: str, out: str | None
) -> None:
    """Say which secrets are comments in the text, what stays in the .cnf, and how much was lost."""
    if exported.secrets:
        say(f"secrets are comments in {out or 'the output'}: set the variable, remove the `#`")
    lines = text.split("\n")
    for name in exported.secrets:
        place = exported.places["variables", (name,)]
        start = f"  # {name}: "
        number = next(n for n, line in enumerate(lines, 1) if line.startswith(start))
        say(f"  {place}: {name}: line {number} takes {environment_name(name)}")
    if stays:
        say(f"stays in {cnf}, where ProxySQL reads it at every start: {', '.join(stays)}")
    count = len(exported.warnings)
    if count:
        say(f"import left out or changed {counted(count, 'thing')}: see the warnings above")


def _as_sections(found: Imported) -> dict[str, object]:
    """Return the imported rows in the form of a configuration file."""
    tables = {
        name: [dict(zip(layout.names, row, strict=True)) for row in rows]
        for name, (layout, rows) in found.tables.items()
    }
    return {**tables, "variables": found.variables}


def _text_of(path: Path, fence: Fence) -> str:
    """Return the text of a .cnf. Raises: UnreadableError."""
    from proxyctl.config.files import MAX_FILE, read_bytes

    # Checked before the file is opened, and again once it is open.
    fence.path(str(path.absolute()), "")
    return read_bytes(str(path), limit=MAX_FILE, fence=fence).decode("utf-8", "surrogateescape")


def _imported_users(
    server: str, account: Account | None, version: Version, default_hostgroup: int
) -> Exported:
    """Return the users of a server, with a warning for each user that is left out.

    Raises: UsageError, InstanceError.
    """
    from proxyctl.catalog import TABLES, layout_of
    from proxyctl.instance.backend_accounts import chosen_accounts, read_backend_users, user_rows
    from proxyctl.state.fold import Exported

    if account is None:
        raise UsageError("--users-from needs --backend-user: an account that reads mysql.user")
    layout = layout_of(TABLES["mysql_users"], version)
    chosen, left_out = chosen_accounts(read_backend_users(_node(server), account), version)
    exported = Exported(version, warnings=left_out)
    exported.layouts["mysql_users"] = layout
    exported.tables["mysql_users"] = [*user_rows(layout, chosen, default_hostgroup)]
    return exported


def _node(text: str) -> Node:
    from proxyctl.nodes.discover import members_in

    return next(iter(members_in(text)), (text, 3306))
