"""PX501 node-in-two-clusters."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.check import check
from proxyctl.lint.finding import Finding, Severity, cases_of
from proxyctl.lint.subject import FamilyRow, LintSubject
from proxyctl.proxysql.servers import Address
from proxyctl.proxysql.topology import node_text
from proxyctl.routing.dialect import MYSQL


@check("PX501", "node-in-two-clusters", Severity.ERROR, any_size=True)
def node_in_two_clusters(subject: LintSubject) -> Iterator[Finding]:
    """A node that is in two Galera families.

    ProxySQL stores the state of a node by host and port, for one family only. The other family
    loses the node, or places it by its state in the first family.

    List each node in the family of its own cluster only. Two families with the same nodes are a
    warning: they exist side by side while [a family gets other
    hostgroups](../../how-to/renumber-hostgroups.md).

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
    first: dict[Address, FamilyRow] = {}
    same: dict[frozenset[Address], FamilyRow] = {}
    for row in subject.galera:
        nodes = subject.nodes_of(row)
        twin = same.setdefault(frozenset(backend.address for backend in nodes), row)
        if nodes and twin is not row:
            message = f"has the same nodes as the family of {_writer(subject, twin)}"
            fix = "remove the older family as soon as nothing uses its hostgroups"
            yield Finding(row.table, row.key, message, fix=fix, severity=Severity.WARNING)
            continue
        for backend in nodes:
            other = first.setdefault(backend.address, row)
            if set(other.roles.values()).isdisjoint(row.roles.values()):
                families = [_writer(subject, family) for family in (other, row)]
                name = node_text((backend.hostname, backend.port))
                message = f"{name} is in the Galera families of {' and of '.join(families)}"
                fix = "list a node only in the family of its own cluster"
                cases = cases_of(backend.key, families)
                yield Finding(MYSQL.servers, backend.key, message, None, fix, cases=cases)


def _writer(subject: LintSubject, family: FamilyRow) -> str:
    return subject.label(family.roles["writer_hostgroup"])
