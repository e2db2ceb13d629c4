"""Reads the accounts of a MySQL or MariaDB server from its own tables."""

from __future__ import annotations

from proxyctl.admin.backend import Account, Backend, BackendRefusedError, backend
from proxyctl.backend_accounts import BackendAccount
from proxyctl.errors import InstanceError
from proxyctl.families import Node

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
"""Columns of mysql.user. Others give rights over data, as an application may have."""


def read_backend_users(node: Node, account: Account) -> list[BackendAccount]:
    """Return all accounts, sorted by name and host. Raises: InstanceError."""
    name = f"{node[0]}:{node[1]}"
    try:
        with backend(node, account) as connection:
            return _accounts(connection)
    except BackendRefusedError as error:
        raise InstanceError(
            f"{name}: {error.message.removeprefix(f'{name}: ')}",
            then=error.then,
            hint=f"{account.user!r} has to read the schema mysql there; --backend-user names"
            " another account",
        ) from error


def _accounts(connection: Backend) -> list[BackendAccount]:
    described = connection.query("SHOW COLUMNS FROM mysql.user")
    columns = {row[0] for row in described}
    if "authentication_string" not in columns:
        raise InstanceError(f"{connection.name}: a server older than MySQL 5.7 or MariaDB 10.4")
    privileges = [column for column in _ADMINISTRATIVE if column in columns]
    flags = [column if column in columns else "'N'" for column in ("is_role", "account_locked")]
    # As hex: what caching_sha2_password stores need not be text.
    rows = connection.query(
        "SELECT User, Host, plugin, HEX(authentication_string),"
        f" {', '.join([*flags, *privileges])} FROM mysql.user ORDER BY User, Host"
    )
    dynamic = _dynamic_privileges(connection)
    locked = _locked_in_mariadb(connection)
    found = []
    for user, host, plugin, password, is_role, is_locked, *held in rows:
        names = [p.removesuffix("_priv").upper() for p, cell in zip(privileges, held, strict=True)
                 if cell == "Y"]  # fmt: skip
        found.append(
            BackendAccount(
                user or "",
                host or "",
                plugin or "",
                bytes.fromhex(password or "").decode("utf-8", "surrogateescape"),
                (*(name.replace("_", " ") for name in names), *dynamic.get((user, host), ())),
                is_role == "Y",
                is_locked == "Y" or (user, host) in locked,
            )
        )
    return found


_Grantee = tuple[str | None, str | None]


def _dynamic_privileges(connection: Backend) -> dict[_Grantee, list[str]]:
    """Return what MySQL 8 has beside its columns: each of them is administrative."""
    if not _has_table(connection, "global_grants"):
        return {}
    found: dict[_Grantee, list[str]] = {}
    grants = connection.query("SELECT USER, HOST, PRIV FROM mysql.global_grants")
    for user, host, name in grants:
        found.setdefault((user, host), []).append(str(name))
    return found


def _locked_in_mariadb(connection: Backend) -> set[_Grantee]:
    if not _has_table(connection, "global_priv"):
        return set()
    rows = connection.query(
        "SELECT User, Host FROM mysql.global_priv WHERE JSON_VALUE(Priv, '$.account_locked') = 1"
    )
    return {(user, host) for user, host in rows}


def _has_table(connection: Backend, name: str) -> bool:
    return bool(connection.query(f"SHOW TABLES FROM mysql LIKE '{name}'"))
