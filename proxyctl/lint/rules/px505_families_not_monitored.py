"""PX505 families-not-monitored."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.check import check
from proxyctl.lint.finding import Finding, Severity, cases_of
from proxyctl.lint.subject import LintSubject


@check("PX505", "families-not-monitored", Severity.WARNING, pgsql=True, any_size=True)
def families_not_monitored(subject: LintSubject) -> Iterator[Finding]:
    """A family while mysql-monitor_enabled is false.

    Without the monitor nothing moves the nodes: after a failover the writes still go to the old
    writer.

    Turn the monitor on.

    ```yaml
    # Bad
    variables: {mysql-monitor_enabled: false}
    mysql_replication_hostgroups:
      - {writer_hostgroup: 10, reader_hostgroup: 20}
    ```

    ```yaml
    # Good
    variables: {mysql-monitor_enabled: true}
    mysql_replication_hostgroups:
      - {writer_hostgroup: 10, reader_hostgroup: 20}
    ```
    """
    name = subject.dialect.variable("monitor_enabled")
    if subject.families and subject.configuration.variables.get(name) == "false":
        message = f"nothing monitors the nodes of {subject.families[0].table}"
        key = (name,)
        cases = cases_of(key, ((row.table, row.key) for row in subject.families))
        column, fix = "variable_value", "set it to true"
        yield Finding(subject.dialect.variables, key, message, column, fix, cases=cases)
