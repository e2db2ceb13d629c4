"""PX535 user-in-unequal-halves."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.check import check
from proxyctl.lint.finding import Finding, Severity
from proxyctl.lint.subject import LintSubject
from proxyctl.proxysql.cells import number
from proxyctl.proxysql.passwords import same_password
from proxyctl.routing.dialect import MYSQL


@check("PX535", "user-in-unequal-halves", Severity.ERROR)
def user_in_unequal_halves(subject: LintSubject) -> Iterator[Finding]:
    """A user with a row for clients and one for servers, with different passwords or hostgroups.

    ProxySQL uses the row with `frontend: 1` for both: it logs in to the servers with the password
    that clients have, and sends queries to the default_hostgroup of that row. The password and the
    default_hostgroup of the row with `backend: 1` have no effect.

    Write one row, with the password that the account has on the servers.

    ```yaml
    # Bad
    mysql_users:
      - {username: app, password: {env: APP}, default_hostgroup: 10, frontend: 1,
         backend: 0}
      - {username: app, password: {env: APP}, default_hostgroup: 20, frontend: 0,
         backend: 1}
    ```

    ```yaml
    # Good
    mysql_users:
      - {username: app, password: {env: APP}, default_hostgroup: 10}
    ```
    """
    rows = {key: cells for key, cells in subject.cells(MYSQL.users) if number(cells["active"]) == 1}
    for key, cells in rows.items():
        clients = rows.get((key[0], 0))
        if clients is None or number(clients["frontend"]) != 1 or number(cells["backend"]) != 1:
            continue
        if number(cells["frontend"]) == 1:
            continue
        if not same_password(
            MYSQL.users, str(cells["password"] or ""), str(clients["password"] or "")
        ):
            fix = "write one row, with the password that the account has on the servers"
            yield Finding(MYSQL.users, key, _message("password"), "password", fix)
        if number(cells["default_hostgroup"]) != number(clients["default_hostgroup"]):
            message = _message("default_hostgroup")
            yield Finding(MYSQL.users, key, message, "default_hostgroup", "write one row")


def _message(column: str) -> str:
    return (
        f"the {column} of the row with backend 1 has no effect: ProxySQL uses that of the row with"
        " frontend 1 for both sides"
    )
