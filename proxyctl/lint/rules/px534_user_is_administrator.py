"""PX534 user-is-administrator."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.check import check
from proxyctl.lint.finding import Finding, Severity
from proxyctl.lint.subject import LintSubject


@check("PX534", "user-is-administrator", Severity.ERROR, any_size=True)
def user_is_administrator(subject: LintSubject) -> Iterator[Finding]:
    """A user with the name of a login of the admin interface.

    ProxySQL has one list of names for both ports: the user replaces the login, and the
    administrator is locked out at once. A user who is not active, or only for backends, replaces
    nothing. Only variables that are set are checked, not defaults.

    Choose another name for the user.

    ```yaml
    # Bad
    variables: {admin-admin_credentials: "admin:nut-ell-9"}
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
    for variable in ("admin-admin_credentials", "admin-stats_credentials"):
        for login in str(subject.configuration.variables.get(variable, "")).split(";"):
            names.setdefault(login.partition(":")[0], variable)
    names.pop("", None)
    tables = subject.configuration.tables
    for table in ("mysql_users", "pgsql_users"):
        if table not in tables or not names:
            continue
        index = tables[table].layout.index
        active, frontend = index["active"], index["frontend"]
        for key, row in tables[table].rows.items():
            variable = names.get(str(key[0]), "")
            if variable and row[active] == row[frontend] == 1:
                message = f"{key[0]} is in {variable}: the user replaces that login"
                fix = "choose another name for the user"
                yield Finding(table, key, message, "username", fix)
