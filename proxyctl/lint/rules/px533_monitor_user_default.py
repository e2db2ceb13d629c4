"""PX533 monitor-user-default."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.check import Finding, Severity, check
from proxyctl.lint.subject import Subject

_NAME, _PASSWORD = "mysql-monitor_username", "mysql-monitor_password"


@check("PX533", "monitor-user-default", Severity.WARNING)
def monitor_user_default(subject: Subject) -> Iterator[Finding]:
    """A family while the monitor's user has ProxySQL's default name and password.

    The monitor logs in to each backend as this user. Where the login fails, ProxySQL takes a Galera
    node out at the third check, and does not follow a replication family. The user `monitor` with
    the password `monitor` is also the first that an attacker tries. Only variables that are set are
    checked: a file that does not name the password says nothing about it.

    Set both variables, and create the user on the backends.

    ```yaml
    # Bad
    variables: {mysql-monitor_username: monitor, mysql-monitor_password: monitor}
    mysql_replication_hostgroups:
      - {writer_hostgroup: 10, reader_hostgroup: 20}
    ```

    ```yaml
    # Good
    variables:
      mysql-monitor_username: proxysql
      mysql-monitor_password: {env: MONITOR_PASSWORD}
    mysql_replication_hostgroups:
      - {writer_hostgroup: 10, reader_hostgroup: 20}
    ```
    """
    variables = subject.configuration.variables
    is_default = variables.get(_NAME, "monitor") == "monitor" == str(variables.get(_PASSWORD))
    if subject.families and is_default:
        message = "the monitor logs in to the backends as monitor, with the default password"
        fix = f"set {_NAME} and {_PASSWORD}"
        yield Finding("mysql_variables", (_PASSWORD,), message, "variable_value", fix)
