"""The command that converts a proxysql.cnf, or the accounts of a MySQL server, to files."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import typer

from proxyctl.cli.commands.files import OutOption, SecretsOption, check_out, write_rows
from proxyctl.cli.login import password_from
from proxyctl.cli.option_kinds import at_most_one, flag, spelled, value
from proxyctl.cli.options import BackendOptions, VersionOption
from proxyctl.cli.output import ask_password, can_ask, check_writable, say, write, write_file
from proxyctl.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from proxyctl.api import SecretForm
    from proxyctl.catalog import Version
    from proxyctl.instance.authentication import Trust
    from proxyctl.instance.backend import Account
    from proxyctl.interchange.import_users import AccountServer


@dataclass(frozen=True)
class AccountOptions:
    """The server whose accounts become users, and the file that holds them."""

    PANEL: ClassVar = "Accounts of a MySQL server"
    users_from: str | None = value(
        "HOST[:PORT]", "Import mysql_users from the accounts of this MySQL server, not from a file."
    )
    select: list[str] | None = value(
        "PATTERN", "Only accounts whose name matches, such as app_*; repeatable."
    )
    exclude: list[str] | None = value(
        "PATTERN", "Leave out accounts whose name matches; repeatable."
    )
    default_hostgroup: int = value(
        "N", "With --users-from: the default_hostgroup of the imported users.", default=0, min=0
    )
    update: str | None = value(
        "FILE",
        "Bring this file of an earlier import up to date; its users keep their other columns.",
    )
    check: bool = flag(
        "--check", "With --update: write nothing, and exit with 2 if the file would change."
    )
    backend_user: str | None = value(
        "NAME",
        "With --users-from: log in to the server as this account.",
        envvar="PROXYCTL_BACKEND_USER",
    )
    backend_password_file: str | None = value(
        "PATH",
        "File with the password of --backend-user. Default:"
        " PROXYCTL_BACKEND_PASSWORD, or a prompt on a terminal.",
        envvar="PROXYCTL_BACKEND_PASSWORD_FILE",
    )

    def refuse_without_server(self) -> None:
        """Refuse options that only the accounts of a server have. Raises: UsageError."""
        for name in ("select", "exclude", "default_hostgroup", "update", "check"):
            if getattr(self, name) not in (None, False, 0):
                raise UsageError(f"{spelled(name)} needs --users-from HOST")

    def server(self, trust: Trust) -> AccountServer:
        """Return the server, with an account to log in as. Raises: UsageError, ProxyctlError."""
        from proxyctl.interchange.import_users import AccountServer
        from proxyctl.nodes.discover import members_in

        nodes = members_in(str(self.users_from))
        if len(nodes) != 1:
            raise UsageError(
                f"--users-from {self.users_from!r}: expected one server",
                fix="write HOST or HOST:PORT; each server has a file of its own",
            )
        account = _account(self.backend_user, self.backend_password_file, trust)
        return AccountServer(nodes[0], account, tuple(self.select or ()), tuple(self.exclude or ()))


def import_(
    accounts: AccountOptions,
    servers: BackendOptions,
    cnf: str | None = typer.Argument(
        None,
        metavar="FILE.cnf",
        help="A proxysql.cnf, or YAML that holds one, such as a ConfigMap.",
    ),
    secrets: SecretsOption = "hash",
    proxysql_version: VersionOption = None,
    out: OutOption = None,
) -> int:
    """Convert a proxysql.cnf or a MySQL server's accounts to files."""
    if (cnf is None) == (accounts.users_from is None):
        raise UsageError(
            "import needs FILE.cnf or --users-from HOST",
            fix="see proxyctl import --help",
        )
    at_most_one(update=accounts.update, out=out)
    if cnf is not None:
        from proxyctl.interchange.import_cnf import import_cnf

        accounts.refuse_without_server()
        check_out(out, secrets)
        imported = import_cnf(cnf, version=proxysql_version, secrets=secrets)
        if imported.beginning is not None:
            say(f"{imported.beginning}: import reads the proxysql.cnf that begins here")
        write_rows(imported.file, secrets, out)
        say(*imported.remarks(out or "the output"))
        return ExitCode.DONE
    if accounts.update is not None:
        return _update(accounts, servers, secrets, proxysql_version)
    if accounts.check:
        raise UsageError("--check needs --update FILE")
    from proxyctl.interchange.import_users import import_users

    check_out(out, secrets)
    file = import_users(
        accounts.server(servers.trust()),
        secrets,
        version=proxysql_version,
        default_hostgroup=accounts.default_hostgroup,
    )
    write_rows(file, secrets, out)
    return ExitCode.DONE


def _update(
    options: AccountOptions, servers: BackendOptions, secrets: SecretForm, version: Version | None
) -> int:
    """Bring the file of --update up to date, or say with --check what would change."""
    from proxyctl.interchange.update_users import read_users_file, update
    from proxyctl.render.files import updated_users_text

    path = Path(str(options.update))
    if options.update in ("", "-"):
        message = f"--update {options.update or repr('')}: expected a file"
        raise UsageError(message, fix="leave out --update to write to stdout")
    if secrets == "clear":
        raise UsageError(
            "--update cannot write passwords in clear text: the server has only their hashes",
            fix="leave out --secrets",
        )
    check_writable(path)
    server, file = options.server(servers.trust()), read_users_file(str(path))
    updated = update(
        file,
        server.accounts(),
        version=version,
        default_hostgroup=options.default_hostgroup,
        has_passwords=secrets != "omit",
    )
    say(*(f"warning: {warning}" for warning in updated.warnings))
    write(updated_users_text(updated))
    if options.check:
        return ExitCode.DIFFERENCES if updated.is_changed else ExitCode.DONE
    if updated.is_changed:
        # Passwords can be guessed from their hashes.
        write_file(path, updated.text, mode=0o644 if secrets == "omit" else 0o600)
        say(f"written to {path}")
    return ExitCode.DONE


def _account(user: str | None, password_file: str | None, trust: Trust) -> Account:
    """Return the account to log in to the MySQL server with. Raises: UsageError, ProxyctlError."""
    from proxyctl.instance.backend import Account

    if user is None:
        raise UsageError("--users-from needs --backend-user: an account that reads mysql.user")
    if not user:
        raise UsageError("--backend-user: the name is empty")
    if password_file is not None:
        return Account(user, password_from(password_file, "--backend-password-file"), trust)
    password = os.environ.get("PROXYCTL_BACKEND_PASSWORD")
    if password is None and can_ask():
        password = ask_password(f"{user} on the servers")
    return Account(user, password or "", trust)
