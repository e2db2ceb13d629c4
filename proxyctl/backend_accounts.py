"""Which accounts of a MySQL server become users of ProxySQL, and why the others do not. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from proxyctl.catalog import Layout, Value, Version
from proxyctl.passwords import is_hash
from proxyctl.state import Row

_SYSTEM = frozenset(
    ["mysql.sys", "mysql.session", "mysql.infoschema", "mariadb.sys", "percona.telemetry", "PUBLIC"]
)
_PLUGINS = frozenset(["", "mysql_native_password", "caching_sha2_password"])
_SHA2_SINCE = Version(2, 6, 0)


@dataclass(frozen=True)
class BackendAccount:
    """One account. `privileges` are those over the whole server that make it an administrator.

    `password` is what the server stores; bytes that are not UTF-8 are surrogate escapes. It never
    appears in a repr.
    """

    user: str
    host: str
    plugin: str
    password: str
    privileges: tuple[str, ...] = ()
    is_role: bool = False
    is_locked: bool = False

    def __repr__(self) -> str:
        return f"BackendAccount({self.name})"

    @property
    def name(self) -> str:
        """Return `user@host`."""
        return f"{self.user}@{self.host}"


def chosen_accounts(
    accounts: Iterable[BackendAccount], version: Version
) -> tuple[list[BackendAccount], list[str]]:
    """Return one account a user name, and the reasons why others are left out.

    ProxySQL knows no hosts of users: accounts of one name become one if their passwords agree.
    """
    by_user: dict[str, list[BackendAccount]] = {}
    left_out: list[str] = []
    for account in accounts:
        reason = _why_not(account, version)
        if reason is None:
            by_user.setdefault(account.user, []).append(account)
        elif reason:
            left_out.append(f"{account.name} is left out: {reason}")
    chosen: list[BackendAccount] = []
    for user, found in by_user.items():
        if len({account.password for account in found}) > 1:
            names = ", ".join(account.host for account in found)
            left_out.append(f"{user} is left out: it has another password at each of {names}")
        else:
            chosen.append(found[0])
    return sorted(chosen, key=lambda account: account.user), left_out


def _why_not(account: BackendAccount, version: Version) -> str | None:
    """Return why an account is no user; None if it is one, '' where that goes without saying."""
    if account.user in _SYSTEM or account.is_role:
        return ""
    if not account.user:
        return "it has no name"
    if account.privileges:
        return f"it is an administrator ({', '.join(account.privileges)})"
    if account.is_locked:
        return "it is locked"
    if account.plugin not in _PLUGINS:
        return f"ProxySQL cannot log in by {account.plugin}"
    if account.plugin == "caching_sha2_password" and version < _SHA2_SINCE:
        return "ProxySQL knows caching_sha2_password from 2.6.0 on"
    if account.password and not is_hash(account.password):
        return "its stored password is no hash that ProxySQL takes"
    return None


def user_rows(
    layout: Layout, accounts: Iterable[BackendAccount], default_hostgroup: int
) -> list[Row]:
    """Return a row of mysql_users for each account, with ProxySQL's defaults elsewhere."""
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
