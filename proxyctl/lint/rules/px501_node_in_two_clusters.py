"""PX501 node-in-two-clusters."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.check import Finding, Severity, check
from proxyctl.lint.subject import SERVERS, FamilyRow, Subject
from proxyctl.state.families import Node, node_text


@check("PX501", "node-in-two-clusters", Severity.ERROR)
def node_in_two_clusters(subject: Subject) -> Iterator[Finding]:
    """A node that is in two Galera families.

    ProxySQL stores what it knows of a node by host and port, for one family only. The other family
    loses the node, or places it by the state of the first.

    List each node in the family of its own cluster only.

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
    for row in subject.galera:
        for node, key in subject.nodes_of(row).items():
            other = first.setdefault(node, row)
            if set(other.roles.values()).isdisjoint(row.roles.values()):
                one, two = (subject.called(of.roles["writer_hostgroup"]) for of in (other, row))
                message = f"{node_text(node)} is in the Galera families of {one} and of {two}"
                hint = "list a node in the family of its own cluster only"
                yield Finding(SERVERS, key, message, None, hint)
