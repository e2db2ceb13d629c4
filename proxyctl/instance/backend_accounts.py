"""Read the accounts of a MySQL or MariaDB server."""

from __future__ import annotations

import re
from dataclasses import dataclass

from proxyctl.errors import InstanceError
from proxyctl.instance.backend import Account, BackendConnection, BackendError, backend
from proxyctl.instance.connect import unreachable_reason
from proxyctl.proxysql.topology import Node

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

_HEX = re.compile(r"(?:[0-9A-Fa-f]{2})*")


@dataclass(frozen=True)
class BackendAccount:
    """One account."""

    user: str
    """The name; '' for an anonymous account."""
    host: str
    """The host part of the account."""
    plugin: str
    """The authentication plugin."""
    password: str
    """The stored text; bytes that are not UTF-8 are surrogate escapes. It never appears in a
    repr."""
    privileges: tuple[str, ...] = ()
    """The global privileges that make it an administrator."""
    is_role: bool = False
    """Whether it is a role of MariaDB."""
    is_locked: bool = False
    """Whether the account is locked."""
    ssl_type: str = ""
    """The account's requirement for a connection: '', ANY (TLS), X509 (a client certificate) or
    SPECIFIED (a certificate or cipher that the account names)."""

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
            f"let {account.user!r} read the schema mysql (GRANT SELECT ON mysql.*), or choose"
            " another account with --backend-user"
        )
        if isinstance(error.__cause__, Exception) and unreachable_reason(error.__cause__, 0):
            fix = "check the host and its port, and that this machine can reach it"
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
