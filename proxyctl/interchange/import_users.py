"""The accounts of a MySQL or MariaDB server -> the users that `import --users-from` writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from proxyctl.catalog import REFERENCE, TABLES, Layout, Value, Version, layout_of
from proxyctl.config.files import mistakes_in
from proxyctl.errors import RefusedError
from proxyctl.instance.backend import Account
from proxyctl.instance.backend_accounts import BackendAccount, read_backend_users
from proxyctl.interchange.content import FileContent, leave_out_administrators
from proxyctl.interchange.write import WrittenFile, written_file
from proxyctl.proxysql.passwords import is_hash
from proxyctl.proxysql.topology import Node
from proxyctl.rows.row import Row

_SYSTEM = frozenset(
    ["mysql.sys", "mysql.session", "mysql.infoschema", "mariadb.sys", "percona.telemetry", "PUBLIC"]
)

_PLUGINS = frozenset(["", "mysql_native_password", "caching_sha2_password"])

_SHA2_SINCE = Version(2, 6, 0)


@dataclass(frozen=True)
class AccountServer:
    """A server whose accounts are imported, and which of them."""

    node: Node
    """Its address."""
    login: Account
    """The account that may read the others."""
    select: tuple[str, ...] = ()
    """Patterns of user names, such as `app_*`; none selects all."""
    exclude: tuple[str, ...] = ()
    """Patterns of user names that are left out without a word."""

    def accounts(self) -> list[BackendAccount]:
        """Return the selected accounts, by name and host. Raises: InstanceError, RefusedError."""
        accounts = read_backend_users(self.node, self.login)
        selected = [account for account in accounts if self.selects(account.user)]
        if not selected:
            message = f"no account of {self.node[0]}:{self.node[1]} is selected"
            raise RefusedError(message, fix="check --select and --exclude")
        return selected

    def selects(self, user: str) -> bool:
        """Return whether the accounts of this name are selected."""
        is_selected = not self.select or _fits(user, self.select)
        return is_selected and not _fits(user, self.exclude)


def _fits(user: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(user, pattern) for pattern in patterns)


def import_users(
    server: AccountServer, secrets: str, *, version: Version | None, default_hostgroup: int
) -> WrittenFile:
    """Convert the accounts of a server to users of ProxySQL.

    A warning names each account left out, and others the accounts that need more than a user.
    `secrets`: the form of passwords: `hash`, `omit` or `clear`. `version`: of the ProxySQL, by
    default the reference.

    Raises: InstanceError; RefusedError where no account becomes a user.
    """
    content = imported_content(
        server.accounts(), version=version, default_hostgroup=default_hostgroup
    )
    return written_file(
        content, "yaml", secrets, check=lambda text: mistakes_in(text, content.version)
    )


def imported_content(
    accounts: Sequence[BackendAccount], *, version: Version | None, default_hostgroup: int
) -> FileContent:
    """Return the users that accounts become. Raises: RefusedError where none becomes one."""
    content = FileContent(version or REFERENCE, is_for_version=version is not None)
    layout = layout_of(TABLES["mysql_users"], content.version)
    chosen, left_out = chosen_accounts(accounts, content.version)
    if not chosen:
        message = "no account becomes a user: a file without users would delete all users"
        fix = "import from another server, or give --backend-user an account that sees all accounts"
        raise RefusedError(message, reasons=left_out, fix=fix)
    users = {account.user for account in chosen}
    imported = [
        account
        for account in accounts
        if account.user in users and _left_out_reason(account, content.version) is None
    ]
    content.warnings += [*left_out, *needs(imported)]
    content.layouts[layout.name] = layout
    content.tables[layout.name] = [*user_rows(layout, chosen, default_hostgroup)]
    leave_out_administrators(content, {})
    return content


def chosen_accounts(
    accounts: Iterable[BackendAccount], version: Version
) -> tuple[list[BackendAccount], list[str]]:
    """Return one account per user name, and the reasons why accounts are left out.

    ProxySQL's users have no host: accounts with the same name become one user if their passwords
    agree.
    """
    by_user, left_out = _accounts_by_user(accounts, version)
    chosen: list[BackendAccount] = []
    for user, namesakes in by_user.items():
        if len({account.password for account in namesakes}) > 1:
            names = ", ".join(account.host for account in namesakes)
            left_out.append(f"{user} is left out: its password differs at each of {names}")
        else:
            chosen.append(namesakes[0])
    return sorted(chosen, key=lambda account: account.user), left_out


def undecided_users(accounts: Sequence[BackendAccount], version: Version) -> set[str]:
    """Return the names that become no user although their accounts are open.

    Their passwords differ, they have rights over the server, or ProxySQL cannot log in as they do.
    """
    chosen, _ = chosen_accounts(accounts, version)
    return {account.user for account in accounts if not account.is_locked} - {
        account.user for account in chosen
    }


def _accounts_by_user(
    accounts: Iterable[BackendAccount], version: Version
) -> tuple[dict[str, list[BackendAccount]], list[str]]:
    """Return the accounts that can become users, by name, and why others cannot."""
    by_user: dict[str, list[BackendAccount]] = {}
    left_out: list[str] = []
    for account in accounts:
        reason = _left_out_reason(account, version)
        if reason is None:
            by_user.setdefault(account.user, []).append(account)
        elif reason:
            left_out.append(f"{account.name} is left out: {reason}")
    return by_user, left_out


def _left_out_reason(account: BackendAccount, version: Version) -> str | None:
    """Return why an account becomes no user; None if it does, '' if no one expects it to."""
    if account.user in _SYSTEM or account.is_role:
        return ""
    if not account.user:
        return "the account has no name"
    if account.privileges:
        return f"it is an administrator ({', '.join(account.privileges)})"
    if account.is_locked:
        return "it is locked"
    if account.plugin not in _PLUGINS:
        return f"ProxySQL cannot log in with {account.plugin}"
    if account.plugin == "caching_sha2_password" and version < _SHA2_SINCE:
        return "ProxySQL supports caching_sha2_password from 2.6.0 on"
    if account.password and not is_hash(account.password):
        return "ProxySQL does not support the hash of its password"
    return None


_SERVERS = "`use_ssl: true` at the servers of their hostgroups"

_NEEDS = {
    "ANY": (
        f"REQUIRE SSL: ProxySQL needs {_SERVERS}, or they refuse it; `use_ssl: true` at the user"
        " also makes clients use TLS"
    ),
    "X509": (
        f"REQUIRE X509: ProxySQL needs {_SERVERS} and a client certificate of its own"
        " (mysql_servers_ssl_params, or mysql-ssl_p2s_cert and mysql-ssl_p2s_key)"
    ),
    "SPECIFIED": (
        f"REQUIRE ISSUER, SUBJECT or CIPHER: ProxySQL needs {_SERVERS}, and there the certificate"
        " or cipher that the account names (mysql_servers_ssl_params, or mysql-ssl_p2s_*)"
    ),
}
"""By ssl_type: what the server requires of a connection, whether a client or ProxySQL opens it."""


def needs(accounts: Sequence[BackendAccount]) -> Iterator[str]:
    """Yield what else has to be done so that these accounts work, or are safe, as users.

    Each text names all accounts that it concerns: no other output does.
    """
    for ssl_type, text in _NEEDS.items():
        names = [account.name for account in accounts if account.ssl_type == ssl_type]
        if names:
            yield f"{', '.join(names)}: {text}"
    names = [account.name for account in accounts if not account.password]
    if names:
        yield (
            f"{', '.join(names)}: no password: anyone who can reach ProxySQL can log in, from any"
            " host; set one at the server, and import again"
        )


def user_rows(
    layout: Layout, accounts: Iterable[BackendAccount], default_hostgroup: int
) -> list[Row]:
    """Return a row of mysql_users for each account, with ProxySQL's defaults for the rest."""
    usual: dict[str, Value] = {
        column.name: "" if column.notnull and column.default is None else column.default
        for column in layout.columns
    }
    usual["default_hostgroup"] = default_hostgroup
    return [
        tuple({**usual, "username": account.user, "password": account.password}.values())
        for account in accounts
    ]
