"""Read the accounts of a MySQL or MariaDB server, and turn them into users of ProxySQL."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from proxyctl.catalog import TABLES, Layout, Value, Version, layout_of
from proxyctl.errors import InstanceError
from proxyctl.instance.backend import Account, BackendConnection, BackendError, backend
from proxyctl.instance.connect import unreachable_reason
from proxyctl.state.fold import Exported
from proxyctl.state.passwords import is_hash
from proxyctl.state.row import Row
from proxyctl.state.topology import Node

_ADMINISTRATIVE = (
    "Super_priv",
    "Grant_priv",
    "Create_user_priv",
    "Shutdown_priv",
    "Reload_priv",
    "Process_priv",
    "File_priv",
    "Repl_slave_priv",
    "Repl_client_priv",
)
"""Columns of mysql.user. Other columns give rights over data, which an application may need."""

_SYSTEM = frozenset(
    ["mysql.sys", "mysql.session", "mysql.infoschema", "mariadb.sys", "percona.telemetry", "PUBLIC"]
)


_HEX = re.compile(r"(?:[0-9A-Fa-f]{2})*")
_PLUGINS = frozenset(["", "mysql_native_password", "caching_sha2_password"])


_SHA2_SINCE = Version(2, 6, 0)


@dataclass(frozen=True)
class BackendAccount:
    """One account. `privileges`: the global privileges that make it an administrator.

    `ssl_type`: what it requires of a connection: '', ANY (TLS), X509 (a client certificate) or
    SPECIFIED (a certificate or cipher that the account names). `password` is the stored text; bytes
    that are not UTF-8 are surrogate escapes. It never appears in a repr.
    """

    user: str
    host: str
    plugin: str
    password: str
    privileges: tuple[str, ...] = ()
    is_role: bool = False
    is_locked: bool = False
    ssl_type: str = ""

    def __repr__(self) -> str:
        return f"BackendAccount({self.name})"

    @property
    def name(self) -> str:
        """Return `user@host`."""
        return f"{self.user}@{self.host}"


def read_backend_users(node: Node, account: Account) -> list[BackendAccount]:
    """Return all accounts, sorted by name and host. Raises: InstanceError."""
    name = f"{node[0]}:{node[1]}"
    try:
        with backend(node, account) as connection:
            return _accounts(connection)
    except BackendError as error:
        fix = (
            f"{account.user!r} must be allowed to read the schema mysql; or choose another"
            " account with --backend-user"
        )
        if isinstance(error.__cause__, Exception) and unreachable_reason(error.__cause__, 0):
            fix = "check the host and its port, and that this machine reaches it"
        message = f"{name}: {error.message.removeprefix(f'{name}: ')}"
        raise InstanceError(message, then=error.then, fix=fix) from error


def _accounts(connection: BackendConnection) -> list[BackendAccount]:
    described = connection.query("SHOW COLUMNS FROM mysql.user", columns=6)
    columns = {row[0] for row in described}
    if "authentication_string" not in columns:
        raise InstanceError(f"{connection.name}: a server older than MySQL 5.7 or MariaDB 10.4")
    privileges = [column for column in _ADMINISTRATIVE if column in columns]
    flags = [column if column in columns else "'N'" for column in ("is_role", "account_locked")]
    flags.append("ssl_type" if "ssl_type" in columns else "''")
    # As hex: a hash of caching_sha2_password need not be valid text.
    sql = (
        "SELECT User, Host, plugin, HEX(authentication_string),"
        f" {', '.join([*flags, *privileges])} FROM mysql.user ORDER BY User, Host"
    )
    rows = connection.query(sql, columns=4 + len(flags) + len(privileges))
    if not all(_HEX.fullmatch(row[3] or "") for row in rows):
        raise connection.strange(sql)
    dynamic = _dynamic_privileges(connection)
    locked = _locked_in_mariadb(connection)
    accounts = []
    for user, host, plugin, password, is_role, is_locked, ssl_type, *held in rows:
        names = [p.removesuffix("_priv").upper() for p, cell in zip(privileges, held, strict=True)
                 if cell == "Y"]  # fmt: skip
        accounts.append(
            BackendAccount(
                user or "",
                host or "",
                plugin or "",
                bytes.fromhex(password or "").decode("utf-8", "surrogateescape"),
                (*(name.replace("_", " ") for name in names), *dynamic.get((user, host), ())),
                is_role == "Y",
                is_locked == "Y" or (user, host) in locked,
                ssl_type or "",
            )
        )
    return accounts


_Grantee = tuple[str | None, str | None]


def _dynamic_privileges(connection: BackendConnection) -> dict[_Grantee, list[str]]:
    """Return the dynamic privileges of MySQL 8 by account; every one is administrative."""
    if not _has_table(connection, "global_grants"):
        return {}
    by_account: dict[_Grantee, list[str]] = {}
    grants = connection.query("SELECT USER, HOST, PRIV FROM mysql.global_grants", columns=3)
    for user, host, name in grants:
        by_account.setdefault((user, host), []).append(str(name))
    return by_account


def _locked_in_mariadb(connection: BackendConnection) -> set[_Grantee]:
    if not _has_table(connection, "global_priv"):
        return set()
    rows = connection.query(
        "SELECT User, Host FROM mysql.global_priv WHERE JSON_VALUE(Priv, '$.account_locked') = 1",
        columns=2,
    )
    return {(user, host) for user, host in rows}


def _has_table(connection: BackendConnection, name: str) -> bool:
    return bool(connection.query(f"SHOW TABLES FROM mysql LIKE '{name}'", columns=1))


def chosen_accounts(
    accounts: Iterable[BackendAccount], version: Version
) -> tuple[list[BackendAccount], list[str]]:
    """Return one account per user name, and the reasons why accounts are left out.

    ProxySQL's users have no host: accounts with the same name become one user if their passwords
    agree.
    """
    by_user: dict[str, list[BackendAccount]] = {}
    left_out: list[str] = []
    for account in accounts:
        reason = _left_out_reason(account, version)
        if reason is None:
            by_user.setdefault(account.user, []).append(account)
        elif reason:
            left_out.append(f"{account.name} is left out: {reason}")
    chosen: list[BackendAccount] = []
    for user, namesakes in by_user.items():
        if len({account.password for account in namesakes}) > 1:
            names = ", ".join(account.host for account in namesakes)
            left_out.append(f"{user} is left out: its password differs at each of {names}")
        else:
            chosen.append(namesakes[0])
    return sorted(chosen, key=lambda account: account.user), left_out


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
        return f"ProxySQL cannot log in by {account.plugin}"
    if account.plugin == "caching_sha2_password" and version < _SHA2_SINCE:
        return "ProxySQL knows caching_sha2_password from 2.6.0 on"
    if account.password and not is_hash(account.password):
        return "ProxySQL does not support the hash of its password"
    return None


def exported_users(
    node: Node, account: Account, *, version: Version, default_hostgroup: int
) -> Exported:
    """Return the accounts of a server as users, with warnings.

    A warning names each account left out, and others the accounts that need more than a user.
    Raises: InstanceError.
    """
    layout = layout_of(TABLES["mysql_users"], version)
    accounts = read_backend_users(node, account)
    chosen, left_out = chosen_accounts(accounts, version)
    users = {one.user for one in chosen}
    imported = [
        one for one in accounts if one.user in users and _left_out_reason(one, version) is None
    ]
    exported = Exported(version, warnings=[*left_out, *needs(imported)])
    exported.layouts["mysql_users"] = layout
    exported.tables["mysql_users"] = [*user_rows(layout, chosen, default_hostgroup)]
    return exported


_SERVERS = "`use_ssl: true` at the servers of their hostgroups"

_NEEDS = {
    "ANY": (
        f"REQUIRE SSL: ProxySQL needs {_SERVERS}, or they refuse it; `use_ssl: true` at the user"
        " makes clients use TLS, too"
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
            f"{', '.join(names)}: no password: anybody who reaches ProxySQL can log in, from any"
            " host; set one at the server, and import again"
        )


def user_rows(
    layout: Layout, accounts: Iterable[BackendAccount], default_hostgroup: int
) -> list[Row]:
    """Return a row of mysql_users for each account, with ProxySQL's defaults for the rest."""
    return [
        _row(
            layout,
            {
                "username": account.user,
                "password": account.password,
                "default_hostgroup": default_hostgroup,
            },
        )
        for account in accounts
    ]


def _row(layout: Layout, values: Mapping[str, Value]) -> Row:
    return tuple(
        values.get(
            column.name,
            "" if column.notnull and column.default is None else column.default,
        )
        for column in layout.columns
    )
