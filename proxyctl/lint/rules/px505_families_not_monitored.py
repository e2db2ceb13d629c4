"""PX505 families-not-monitored."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.subject import Subject
from proxyctl.lint.traffic_readers import family_rows


@check("PX505", "families-not-monitored", Severity.WARNING)
def not_monitored(subject: Subject) -> Iterator[Finding]:
    """There are families, and mysql-monitor_enabled is false.

    Nobody then looks at the nodes: after a failover the writes still go to the old writer.

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
    name = "mysql-monitor_enabled"
    rows = family_rows(subject)
    if rows and subject.configuration.variables.get(name) == "false":
        message = f"nobody looks at the nodes of {rows[0].table}"
        yield Finding("mysql_variables", (name,), message, "variable_value")
