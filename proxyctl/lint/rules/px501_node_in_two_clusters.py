"""PX501 node-in-two-clusters."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.families import (
    SERVERS,
    Node,
    galera_rows,
    nodes_in,
)
from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.subject import Subject
from proxyctl.lint.traffic_readers import FamilyRow, called


@check("PX501", "node-in-two-clusters", Severity.ERROR)
def node_twice(subject: Subject) -> Iterator[Finding]:
    """The same node stands in two Galera families.

    ProxySQL keeps what it knows of a node by host and port, and for one family only. The other one
    loses the node, or places it by what holds in the first.

    ```yaml
    # Bad
    mysql_galera_hostgroups:
      - {writer_hostgroup: 10, backup_writer_hostgroup: 11,
         reader_hostgroup: 12, offline_hostgroup: 13}
      - {writer_hostgroup: 20, backup_writer_hostgroup: 21,
         reader_hostgroup: 22, offline_hostgroup: 23}
    mysql_servers:
      - {hostgroup_id: 10, hostname: pxc1.example.com}
      - {hostgroup_id: 20, hostname: pxc1.example.com}
    ```

    ```yaml
    # Good
    mysql_galera_hostgroups:
      - {writer_hostgroup: 10, backup_writer_hostgroup: 11,
         reader_hostgroup: 12, offline_hostgroup: 13}
      - {writer_hostgroup: 20, backup_writer_hostgroup: 21,
         reader_hostgroup: 22, offline_hostgroup: 23}
    mysql_servers:
      - {hostgroup_id: 10, hostname: pxc1.example.com}
      - {hostgroup_id: 20, hostname: pxc4.example.com}
    ```
    """
    first: dict[Node, FamilyRow] = {}
    for row in galera_rows(subject):
        for node, rows in nodes_in(subject, row).items():
            other = first.setdefault(node, row)
            if other is not row and not _share(other, row):
                key, _ = rows[0]
                one, two = other.roles["writer_hostgroup"], row.roles["writer_hostgroup"]
                message = (
                    f"{node[0]}:{node[1]} is a node of the Galera family of"
                    f" {called(subject, one)}, and of that of {called(subject, two)}"
                )
                hint = "a node belongs to one cluster; name it by one family only"
                yield Finding(SERVERS, key, message, None, hint)


def _share(one: FamilyRow, other: FamilyRow) -> bool:
    return not set(one.roles.values()).isdisjoint(other.roles.values())
