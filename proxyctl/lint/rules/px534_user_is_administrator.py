"""PX534 user-is-administrator."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.subject import Subject

_LOGINS = ("admin-admin_credentials", "admin-stats_credentials")

_USERS = ("mysql_users", "pgsql_users")


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
