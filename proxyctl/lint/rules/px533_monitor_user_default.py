"""PX533 monitor-user-default."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.subject import Subject
from proxyctl.lint.traffic_readers import family_rows

_MONITOR, _MONITOR_PASSWORD = "mysql-monitor_username", "mysql-monitor_password"


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
