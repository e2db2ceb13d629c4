"""Hostgroup families: rows of the monitor's tables that cannot do what they seem to."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from proxyctl.catalog import Value
from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.subject import Subject
from proxyctl.lint.traffic_hostgroups import destinations
from proxyctl.lint.traffic_readers import FamilyRow, called, family_rows
from proxyctl.state import Key

_SERVERS = "mysql_servers"
_GALERA = "mysql_galera_hostgroups"

Cells = dict[str, Value]
Node = tuple[Value, Value]


@lru_cache(maxsize=1)
def servers_by_hostgroup(subject: Subject) -> dict[object, list[tuple[Key, Cells]]]:
    """Return the rows of mysql_servers by their hostgroup."""
    found: dict[object, list[tuple[Key, Cells]]] = {}
    for key, cells in subject.cells(_SERVERS):
        found.setdefault(cells["hostgroup_id"], []).append((key, cells))
    return found


def nodes_in(subject: Subject, row: FamilyRow) -> dict[Node, list[tuple[Key, Cells]]]:
    """Return the rows of each node of a family."""
    servers = servers_by_hostgroup(subject)
    found: dict[Node, list[tuple[Key, Cells]]] = {}
    for hostgroup in dict.fromkeys(row.roles.values()):
        for key, cells in servers.get(hostgroup, ()):
            found.setdefault((cells["hostname"], cells["port"]), []).append((key, cells))
    return found


def galera_rows(subject: Subject) -> list[FamilyRow]:
    """Return the active rows of mysql_galera_hostgroups."""
    return [row for row in family_rows(subject) if row.table == _GALERA]


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
                yield Finding(_SERVERS, key, message, None, hint)


def _share(one: FamilyRow, other: FamilyRow) -> bool:
    return not set(one.roles.values()).isdisjoint(other.roles.values())


@check("PX502", "families-share-hostgroup", Severity.ERROR)
def shared(subject: Subject) -> Iterator[Finding]:
    """Two families name the same hostgroup.

    Between two tables ProxySQL does not notice: it loads both rows, and two monitors move the same
    servers, each its own way.

    ```yaml
    # Bad
    mysql_galera_hostgroups:
      - {writer_hostgroup: 10, backup_writer_hostgroup: 20,
         reader_hostgroup: 30, offline_hostgroup: 40}
    mysql_replication_hostgroups:
      - {writer_hostgroup: 10, reader_hostgroup: 30}
    ```

    ```yaml
    # Good
    mysql_galera_hostgroups:
      - {writer_hostgroup: 10, backup_writer_hostgroup: 20,
         reader_hostgroup: 30, offline_hostgroup: 40}
    ```
    """
    first: dict[int, FamilyRow] = {}
    for row in family_rows(subject):
        told = False
        for hostgroup in row.roles.values():
            other = first.setdefault(hostgroup, row)
            if other is not row and not told:
                told = True
                message = f"{called(subject, hostgroup)} belongs to a row of {other.table}, too"
                hint = "two monitors move the same servers; keep one of the rows"
                yield Finding(row.table, row.key, message, None, hint)


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
    if not subject.holds_all_of(_SERVERS):
        return
    for row in family_rows(subject):
        if not nodes_in(subject, row):
            hint = "list its nodes in the writer hostgroup"
            yield Finding(row.table, row.key, "no server is in any hostgroup of it", None, hint)


@check("PX504", "writer-hostgroup-unused", Severity.WARNING)
def unused_writer(subject: Subject) -> Iterator[Finding]:
    """Nothing is ever sent to the writer hostgroup of a family.

    No rule, no row of fast routing and no user's default_hostgroup names it. Often a hostgroup was
    renumbered, and the rules or the users were not. It is not said where the files leave
    mysql_users alone.

    ```yaml
    # Bad
    mysql_replication_hostgroups:
      - {writer_hostgroup: 10, reader_hostgroup: 20}
    mysql_users:
      - {username: app, default_hostgroup: 20}
    ```

    ```yaml
    # Good
    mysql_replication_hostgroups:
      - {writer_hostgroup: 10, reader_hostgroup: 20}
    mysql_users:
      - {username: app, default_hostgroup: 10}
    ```
    """
    # Others may own users, or rules, that send something there.
    if not subject.cells("mysql_users") or not all(
        subject.holds_all_of(name, if_there=True)
        for name in ("mysql_users", "mysql_query_rules", "mysql_query_rules_fast_routing")
    ):
        return
    used = {one.hostgroup for one in destinations(subject)}
    used |= {
        value
        for _, cells in subject.cells("mysql_users")
        if isinstance(value := cells["default_hostgroup"], int)
    }
    for row in family_rows(subject):
        writer = row.roles.get("writer_hostgroup")
        if writer is not None and writer not in used:
            message = f"nothing is sent to {called(subject, writer)}"
            hint = "no rule, fast routing or default_hostgroup names it"
            yield Finding(row.table, row.key, message, "writer_hostgroup", hint)


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
