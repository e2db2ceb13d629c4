"""Passwords that anybody can read, or that everybody knows."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.catalog.variables import is_secret_variable
from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.subject import Subject
from proxyctl.lint.traffic_readers import family_rows
from proxyctl.passwords import hashed_password
from proxyctl.state import Secret

_USERS = ("mysql_users", "pgsql_users")
_LOGINS = ("admin-admin_credentials", "admin-stats_credentials")
_MONITOR, _MONITOR_PASSWORD = "mysql-monitor_username", "mysql-monitor_password"
_WELL_KNOWN = {
    "admin-admin_credentials": ("admin:admin", "cluster1:clusterpass", "radmin:radmin"),
    "admin-stats_credentials": ("stats:stats",),
}


@check("PX531", "clear-text-password", Severity.WARNING)
def clear_text(subject: Subject) -> Iterator[Finding]:
    """A password stands in a file as it is.

    Whoever reads the file, or its history, can log in. Take it from the environment or from a file
    of its own, or write its hash; ProxySQL takes all three. Variables with a password in them, and
    `instances`, have no hash: there it has to be a reference.

    ```yaml
    # Bad
    mysql_users:
      - {username: app, password: sesame, default_hostgroup: 10}
    ```

    ```yaml
    # Good
    mysql_users:
      - {username: app, password: '*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19', default_hostgroup: 10}
    ```
    """  # noqa: E501 - a hash stays on its line
    place = subject.configuration.place
    for table in _USERS:
        for key, cells in subject.cells(table):
            password = cells["password"]
            if not isinstance(password, str) or isinstance(password, Secret) or not password:
                continue
            if place(table, key, "password") is None:
                break
            if hashed_password(table, password) != password:
                message = f"the password of {key[0]} stands here in clear text"
                hint = "write password: {env: NAME}, {file: PATH}, or its hash"
                yield Finding(table, key, message, "password", hint)
    for name, value in sorted(subject.configuration.variables.items()):
        table = f"{name.partition('-')[0]}_variables"
        if not is_secret_variable(name) or isinstance(value, Secret) or not value:
            continue
        if place(table, (name,), None) is not None:
            message = f"{name} stands here in clear text"
            yield Finding(table, (name,), message, "variable_value", "write {env: NAME}")
    for name, where in subject.plain_passwords.items():
        message = "the password of this instance stands here in clear text"
        hint = "write password: {env: NAME} or {file: PATH}"
        yield Finding("instances", (name,), message, "password", hint, where)


@check("PX532", "well-known-password", Severity.WARNING)
def well_known(subject: Subject) -> Iterator[Finding]:
    """A login of the admin interface has the password that everybody knows.

    ProxySQL lets admin in from its own machine only, but every other name from anywhere. Whoever is
    in may read all users and replace them. It is said of what is set, not of what the files leave
    alone.

    ```yaml
    # Bad
    variables: {admin-admin_credentials: "admin:admin;radmin:radmin"}
    ```

    ```yaml
    # Good
    variables: {admin-admin_credentials: "admin:nut-ell-9;radmin:bay-oak-4"}
    ```
    """
    for name, logins in _WELL_KNOWN.items():
        value = subject.configuration.variables.get(name, "")
        found = [login for login in str(value).split(";") if login in logins]
        if found:
            who = " and ".join(login.partition(":")[0] for login in found)
            message = f"the password of {who} is the one that everybody knows"
            yield Finding("admin_variables", (name,), message, "variable_value")


@check("PX533", "monitor-user-default", Severity.WARNING)
def default_monitor(subject: Subject) -> Iterator[Finding]:
    """There are families, and the monitor's user has ProxySQL's default name and password.

    The monitor logs in to each backend with it. Where that fails, a node of a Galera family is
    taken out at the third check, and a replication family is not followed any more. A user
    `monitor` with the password `monitor` is also the first thing that somebody tries. It is not
    said where the files leave all mysql variables alone.

    ```yaml
    # Bad
    variables: {mysql-server_version: "8.0.36"}
    mysql_replication_hostgroups:
      - {writer_hostgroup: 10, reader_hostgroup: 20}
    ```

    ```yaml
    # Good
    variables:
      mysql-server_version: "8.0.36"
      mysql-monitor_username: proxysql
      mysql-monitor_password: {env: MONITOR_PASSWORD}
    mysql_replication_hostgroups:
      - {writer_hostgroup: 10, reader_hostgroup: 20}
    ```
    """
    variables = subject.configuration.variables
    if not family_rows(subject) or not any(name.startswith("mysql-") for name in variables):
        return
    password = variables.get(_MONITOR_PASSWORD, "monitor")
    if variables.get(_MONITOR, "monitor") == "monitor" == str(password):
        name = next((one for one in (_MONITOR_PASSWORD, _MONITOR) if one in variables), None)
        rows = family_rows(subject)
        message = "the monitor logs in to the backends as monitor, with the default password"
        hint = f"set {_MONITOR} and {_MONITOR_PASSWORD}"
        if name is not None:
            yield Finding("mysql_variables", (name,), message, "variable_value", hint)
        else:
            yield Finding(rows[0].table, rows[0].key, message, None, hint)


@check("PX534", "user-is-administrator", Severity.ERROR)
def administrators(subject: Subject) -> Iterator[Finding]:
    """A user is called like a login of the admin interface.

    ProxySQL has one list of names for both ports: the user replaces the login, and the
    administrator is locked out at once. Without a value for them, `admin` and `stats` are such
    logins. A user who is not active, or is for backends only, replaces nothing.

    ```yaml
    # Bad
    mysql_users:
      - {username: admin, default_hostgroup: 10}
    ```

    ```yaml
    # Good
    mysql_users:
      - {username: shop_admin, default_hostgroup: 10}
    ```
    """
    names: dict[str, str] = {}
    for variable in _LOGINS:
        for login in (subject.configuration.variable(variable) or "").split(";"):
            names.setdefault(login.partition(":")[0], variable)
    names.pop("", None)
    for table in _USERS:
        for key, cells in subject.cells(table):
            variable = names.get(str(key[0]), "")
            if variable and cells["active"] == cells["frontend"] == 1:
                set_by = "" if variable in subject.configuration.variables else " by default"
                message = f"{key[0]} is in {variable}{set_by}; the user replaces that login"
                hint = "choose another name for the user"
                yield Finding(table, key, message, "username", hint)
