"""PX503 family-without-nodes."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.check import check
from proxyctl.lint.finding import Finding, Severity
from proxyctl.lint.subject import LintSubject


@check("PX503", "family-without-nodes", Severity.WARNING, pgsql=True, any_size=True)
def family_without_nodes(subject: LintSubject) -> Iterator[Finding]:
    """A family without a node in mysql_servers.

    The monitor checks the nodes that are listed in one of the family's hostgroups. Galera has no
    discovery, and discovery elsewhere begins with a known node. Nothing is reported if the files
    leave mysql_servers alone.

    List the nodes in the writer hostgroup.

    ```yaml
    # Bad
    mysql_replication_hostgroups:
      - {writer_hostgroup: 10, reader_hostgroup: 20}
    mysql_servers:
      - {hostgroup_id: 1, hostname: db1.example.com}
    ```

    ```yaml
    # Good
    mysql_replication_hostgroups:
      - {writer_hostgroup: 10, reader_hostgroup: 20}
    mysql_servers:
      - {hostgroup_id: 10, hostname: db1.example.com}
    ```
    """
    for row in subject.families if subject.has_all_rows(subject.dialect.servers) else ():
        if not subject.nodes_of(row):
            fix = "list its nodes in the writer hostgroup"
            yield Finding(row.table, row.key, "its hostgroups contain no servers", None, fix)
