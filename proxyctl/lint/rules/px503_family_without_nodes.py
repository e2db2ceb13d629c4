"""PX503 family-without-nodes."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.families import (
    SERVERS,
    nodes_in,
)
from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.subject import Subject
from proxyctl.lint.traffic_readers import family_rows


@check("PX503", "family-without-nodes", Severity.WARNING)
def no_nodes(subject: Subject) -> Iterator[Finding]:
    """A family without a single node in mysql_servers.

    The monitor asks the nodes that are listed in one of the family's hostgroups. Galera has no
    discovery at all, and the others begin with a node that they know. It is not said where the
    files leave mysql_servers alone.

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
    if not subject.holds_all_of(SERVERS):
        return
    for row in family_rows(subject):
        if not nodes_in(subject, row):
            hint = "list its nodes in the writer hostgroup"
            yield Finding(row.table, row.key, "no server is in any hostgroup of it", None, hint)
