"""Guards: changes after which proxyctl, an administrator, a user or the monitor cannot log in."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from ipaddress import ip_address

from proxyctl.instance.connect import Login
from proxyctl.instance.facts import CREDENTIALS
from proxyctl.plan.diff import TableDiff
from proxyctl.plan.guards import Danger
from proxyctl.plan.instance_state import InstanceState
from proxyctl.proxysql.compare import Difference
from proxyctl.proxysql.passwords import same_password
from proxyctl.rows.row import Layer, Rows

ADMIN_ACCESS, MONITOR_CREDENTIALS = "admin_access", "monitor_credentials"


_MONITOR_ACCOUNT = ("mysql-monitor_username", "mysql-monitor_password")
_MONITOR_SWITCH = "mysql-monitor_enabled"
_ANYWHERE = ("0.0.0.0", "::", "[::]")  # noqa: S104 - ProxySQL listens there, not proxyctl


def lockouts(changes: Iterable[Difference], login: Login) -> Iterator[Danger]:
    """Yield the changes that would lock proxyctl out. `changes`: of admin_variables at RUNTIME."""
    before, after = _sides(changes)
    other_login = f"keep {login.user} as it is, or apply as a login that stays (--user)"
    for name, message, fix in (
        ("admin-admin_credentials", _removed_login, other_login),
        ("admin-stats_credentials", _only_statistics, other_login),
        (
            "admin-mysql_ifaces",
            _removed_interface,
            "keep the address, or apply through one that stays (--host, --port, --socket)",
        ),
    ):
        if name in after:
            text = message(before.get(name, ""), after[name], login)
            if text:
                yield Danger(ADMIN_ACCESS, text, fix)
    if after.get("admin-read_only") == "true":
        yield Danger(
            ADMIN_ACCESS,
            "admin-read_only: after its LOAD proxyctl could neither SAVE nor undo it",
            "leave it out of the files, and send PROXYSQL READONLY by hand",
            can_force=False,
        )


def _sides(changes: Iterable[Difference]) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Return the changed variables at RUNTIME, before and after."""
    before: dict[str, str] = {}
    after: dict[str, str] = {}
    for change in changes:
        if change.current is not None and change.desired is not None:
            name = str(change.key[0])
            before[name], after[name] = str(change.current[1]), str(change.desired[1])
    return before, after


def logins(text: str) -> dict[str, str]:
    """Return the password of each login in a list such as `admin:admin;app:x`, by user.

    Of two entries with one user, ProxySQL keeps the last. Source: ProxySQL 2.7.1 and 3.0.3, run.
    """
    entries = (entry.partition(":") for entry in text.split(";") if entry)
    return {name: password for name, _, password in entries}


def _removed_login(before: str, after: str, login: Login) -> str | None:
    former, remaining = logins(before).get(login.user), logins(after).get(login.user)
    if former is None:
        return None
    if remaining is None:
        return f"admin-admin_credentials: {login.user}, the login in use, would be removed"
    if remaining == former or same_password("mysql_users", login.password, remaining):
        return None
    return (
        f"admin-admin_credentials: {login.user}, the login in use, would get a different password;"
        " the next command would need the new one"
    )


def _only_statistics(before: str, after: str, login: Login) -> str | None:
    if login.user in logins(before) or login.user not in logins(after):
        return None
    return f"admin-stats_credentials: {login.user}, the login in use, could only read statistics"


def _removed_interface(before: str, after: str, login: Login) -> str | None:
    """Return the reason if the address in use would be removed. No variable lists a proxy."""
    if not _is_listened_to(before, login) or _is_listened_to(after, login):
        return None
    place = login.socket or f"{login.host}:{login.port}"
    return f"admin-mysql_ifaces: ProxySQL would no longer listen on {place}, the address in use"


def _is_listened_to(interfaces: str, login: Login) -> bool:
    for entry in interfaces.split(";"):
        if login.socket is not None:
            if entry == login.socket:
                return True
            continue
        address, _, port = entry.rpartition(":")
        if port == str(login.port) and _is_reached(address, login.host):
            return True
    return False


def _is_reached(address: str, host: str) -> bool:
    """Return whether a connection to `host` may end at `address`. A host name may mean any."""
    if address in _ANYWHERE:
        return True
    if host == "localhost":
        host = "127.0.0.1"
    try:
        return ip_address(address.strip("[]")) == ip_address(host.strip("[]"))
    except ValueError:
        return not address.startswith("127.")


def shared_names(diffs: Mapping[str, TableDiff], current: InstanceState) -> Iterator[Danger]:
    """Yield the users that would share their name with a login of the admin interface.

    ADMIN VARIABLES is loaded after MYSQL USERS, so the present logins count, too.
    """
    known = admins = current.info.facts.admin_names
    if "admin_variables" in diffs:
        target = diffs["admin_variables"].target
        texts = [str(target[name,][1]) for name in CREDENTIALS if (name,) in target]
        admins = frozenset(name for text in texts for name in logins(text))
    users = diffs.get("mysql_users")
    if "mysql_users" not in current.tables or (users is None and admins == known):
        return
    rows = current.rows("mysql_users")
    target = rows[Layer.MEMORY] if users is None else users.target
    before = _can_log_in(current, rows[Layer.RUNTIME], known)
    after = _can_log_in(current, target, admins | known)
    yield from replaced_logins(after, admins, before=before)
    yield from dropped_users(after - before, known - admins)


def _can_log_in(current: InstanceState, users: Rows, names: Collection[str]) -> frozenset[str]:
    """Return the users with these names that can log in."""
    index = current.info.layouts["mysql_users"].index
    active, frontend = index["active"], index["frontend"]
    return frozenset(
        str(key[0])
        for key, row in users.items()
        if key[0] in names and row[active] == row[frontend] == 1
    )


def replaced_logins(
    users: Collection[str], admins: Collection[str], *, before: Collection[str]
) -> Iterator[Danger]:
    """Yield the users that would have the name of a login of the admin interface.

    `users` can log in, and `admins` are the logins, after the apply. `before`: names of a user and
    of a login at RUNTIME already.
    """
    for name in sorted({*users} & {*admins} - {*before}):
        yield Danger(
            ADMIN_ACCESS,
            f"{name} would be a user and a login of the admin interface: ProxySQL keeps only one"
            " of them",
            "choose another name for either",
        )


def dropped_users(users: Collection[str], leaving: Collection[str]) -> Iterator[Danger]:
    """Yield the new users with the name of a login that the same apply removes.

    ProxySQL keeps logins of the admin interface among the users: LOAD ADMIN VARIABLES removes the
    login, and with it the user that LOAD MYSQL USERS has just created.
    """
    for name in sorted({*users} & {*leaving}):
        yield Danger(
            ADMIN_ACCESS,
            f"{name} is a login of the admin interface until ADMIN VARIABLES is loaded, and"
            " ProxySQL would drop the user with it",
            "apply with --only 'ADMIN VARIABLES' first",
            can_force=False,
        )


def blind_monitor(changes: Iterable[Difference], *, is_on: bool) -> Iterator[Danger]:
    """Yield the variables of the monitor's account that would become empty while it is on.

    `changes`: of mysql_variables at RUNTIME. `is_on`: whether the monitor is on now.
    """
    before, after = _sides(changes)
    if not (is_on or after.get(_MONITOR_SWITCH) == "true"):
        return
    for name in _MONITOR_ACCOUNT:
        if before.get(name) and not after[name]:
            yield Danger(
                MONITOR_CREDENTIALS,
                f"{name} would become empty: the monitor could not check any server that requires"
                " it",
                f"set {name} in the files, or correct the reference that is empty",
            )
