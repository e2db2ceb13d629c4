"""Rows of mysql_galera_hostgroups, and the nodes they place."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.subject import Subject
from proxyctl.lint.surroundings_families import galera_rows, nodes_in
from proxyctl.lint.traffic_hostgroups import destinations
from proxyctl.lint.traffic_readers import FamilyRow, called

_GALERA = "mysql_galera_hostgroups"
_SERVERS = "mysql_servers"
_OF_A_NODE = ("weight", "max_connections", "use_ssl", "compression", "max_latency_ms")


@check("PX511", "no-writers", Severity.ERROR)
def no_writers(subject: Subject) -> Iterator[Finding]:
    """max_writers of a Galera family is 0.

    ProxySQL then takes every node out of the writer hostgroup, and each write fails.

    ```yaml
    # Bad
    mysql_galera_hostgroups:
      - {writer_hostgroup: 10, backup_writer_hostgroup: 20, reader_hostgroup: 30,
         offline_hostgroup: 40, max_writers: 0}
    ```

    ```yaml
    # Good
    mysql_galera_hostgroups:
      - {writer_hostgroup: 10, backup_writer_hostgroup: 20, reader_hostgroup: 30,
         offline_hostgroup: 40, max_writers: 1}
    ```
    """
    for row in galera_rows(subject):
        if row.cells["max_writers"] == 0:
            message = f"no node may stay in {called(subject, row.roles['writer_hostgroup'])}"
            yield Finding(_GALERA, row.key, message, "max_writers", "write 1")


@check("PX512", "several-writers", Severity.NOTE)
def several_writers(subject: Subject) -> Iterator[Finding]:
    """A Galera family has more than one writer.

    Galera checks at COMMIT whether another node has changed the same rows; of two transactions that
    did, one fails there with a deadlock error, also without any lock wait before. Locking reads
    do not help: their locks are local to a node. It is fine for applications that try again.

    ```yaml
    # Bad
    mysql_galera_hostgroups:
      - {writer_hostgroup: 10, backup_writer_hostgroup: 20, reader_hostgroup: 30,
         offline_hostgroup: 40, max_writers: 3}
    ```

    ```yaml
    # Good
    mysql_galera_hostgroups:
      - {writer_hostgroup: 10, backup_writer_hostgroup: 20, reader_hostgroup: 30,
         offline_hostgroup: 40, max_writers: 1}
    ```
    """
    for row in galera_rows(subject):
        writers = row.cells["max_writers"]
        if isinstance(writers, int) and writers > 1:
            message = f"{writers} nodes take writes: conflicts show at COMMIT, as deadlock errors"
            yield Finding(_GALERA, row.key, message, "max_writers")


@check("PX513", "readers-stay-empty", Severity.WARNING)
def empty_readers(subject: Subject) -> Iterator[Finding]:
    """Queries are sent to the readers of a Galera family, and no node becomes one.

    With `writer_is_also_reader: 0` only a node with read_only=1 is a reader, and Galera nodes
    usually are not. With 2 the nodes that stand by serve the reads, and there is none when there
    are no more nodes than max_writers. Reads then wait for mysql-connect_timeout_server_max and
    fail.

    ```yaml
    # Bad
    mysql_galera_hostgroups:
      - {writer_hostgroup: 10, backup_writer_hostgroup: 20, reader_hostgroup: 30,
         offline_hostgroup: 40, writer_is_also_reader: 0}
    mysql_query_rules:
      - {rule_id: 1, match_digest: '^SELECT', destination_hostgroup: 30, apply: true}
    ```

    ```yaml
    # Good
    mysql_galera_hostgroups:
      - {writer_hostgroup: 10, backup_writer_hostgroup: 20, reader_hostgroup: 30,
         offline_hostgroup: 40, writer_is_also_reader: 2}
    mysql_query_rules:
      - {rule_id: 1, match_digest: '^SELECT', destination_hostgroup: 30, apply: true}
    ```
    """
    used = {one.hostgroup for one in destinations(subject)}
    for row in galera_rows(subject):
        reader = row.roles.get("reader_hostgroup")
        reason = _why_empty(subject, row) if reader in used else None
        if reason:
            message = f"{called(subject, reader)} is used, and stays empty: {reason}"
            hint = "2: nodes that stand by serve reads; 1: the writer does, too"
            yield Finding(_GALERA, row.key, message, "writer_is_also_reader", hint)


def _why_empty(subject: Subject, row: FamilyRow) -> str | None:
    also = row.cells["writer_is_also_reader"]
    nodes, writers = len(nodes_in(subject, row)), row.cells["max_writers"]
    if also == 0:
        return "writer_is_also_reader is 0, so that only nodes with read_only=1 are readers"
    if also == 2 and isinstance(writers, int) and 0 < nodes <= writers:
        return f"of {nodes} node{'s' * (nodes > 1)} none stands by, all of them are writers"
    return None


@check("PX514", "lag-limit-zero", Severity.NOTE)
def no_lag(subject: Subject) -> Iterator[Finding]:
    """max_transactions_behind is 0 where readers are nodes with read_only.

    A read_only node with more than this in its receive queue is taken out, connections and all.
    With 0, the default, one waiting write set is enough, and readers come and go under load. Nodes
    that may write are never taken out for it.

    ```yaml
    # Bad
    mysql_galera_hostgroups:
      - {writer_hostgroup: 10, backup_writer_hostgroup: 20, reader_hostgroup: 30,
         offline_hostgroup: 40, writer_is_also_reader: 0}
    ```

    ```yaml
    # Good
    mysql_galera_hostgroups:
      - {writer_hostgroup: 10, backup_writer_hostgroup: 20, reader_hostgroup: 30,
         offline_hostgroup: 40, writer_is_also_reader: 0, max_transactions_behind: 100}
    ```
    """
    for row in galera_rows(subject):
        if row.cells["max_transactions_behind"] == 0 == row.cells["writer_is_also_reader"]:
            message = "a read_only node is taken out as soon as one write set waits"
            yield Finding(_GALERA, row.key, message, "max_transactions_behind", "such as 100")


@check("PX515", "node-rows-differ", Severity.NOTE)
def rows_differ(subject: Subject) -> Iterator[Finding]:
    """A node of a Galera family stands in several hostgroups, with other values in each.

    When the monitor moves a node, the new row takes the values of the one it came from. After a
    failover another of these rows decides. One row for each node, in the writer hostgroup, is
    enough.

    ```yaml
    # Bad
    mysql_galera_hostgroups:
      - {writer_hostgroup: 10, backup_writer_hostgroup: 20,
         reader_hostgroup: 30, offline_hostgroup: 40}
    mysql_servers:
      - {hostgroup_id: 10, hostname: pxc1.example.com, weight: 1000}
      - {hostgroup_id: 30, hostname: pxc1.example.com, weight: 1}
    ```

    ```yaml
    # Good
    mysql_galera_hostgroups:
      - {writer_hostgroup: 10, backup_writer_hostgroup: 20,
         reader_hostgroup: 30, offline_hostgroup: 40}
    mysql_servers:
      - {hostgroup_id: 10, hostname: pxc1.example.com, weight: 1000}
    ```
    """
    for row in galera_rows(subject):
        for rows in nodes_in(subject, row).values():
            (_, first), *others = rows
            for key, cells in others:
                column = next((name for name in _OF_A_NODE if cells[name] != first[name]), None)
                if column is not None:
                    message = (
                        f"{column} is {cells[column]} here and {first[column]} in"
                        f" {called(subject, first['hostgroup_id'])}; the monitor copies one of them"
                    )
                    yield Finding(_SERVERS, key, message, column)


@check("PX516", "writer-by-name", Severity.NOTE)
def equal_weights(subject: Subject) -> Iterator[Finding]:
    """All nodes of a Galera family weigh the same.

    The writer is the node with the highest weight; of equals the one whose hostname comes last in
    the alphabet, also when another node holds the role. Give the nodes different weights to say who
    writes and who is next.

    ```yaml
    # Bad
    mysql_galera_hostgroups:
      - {writer_hostgroup: 10, backup_writer_hostgroup: 20,
         reader_hostgroup: 30, offline_hostgroup: 40}
    mysql_servers:
      - {hostgroup_id: 10, hostname: pxc1.example.com}
      - {hostgroup_id: 10, hostname: pxc2.example.com}
    ```

    ```yaml
    # Good
    mysql_galera_hostgroups:
      - {writer_hostgroup: 10, backup_writer_hostgroup: 20,
         reader_hostgroup: 30, offline_hostgroup: 40}
    mysql_servers:
      - {hostgroup_id: 10, hostname: pxc1.example.com, weight: 1000}
      - {hostgroup_id: 10, hostname: pxc2.example.com, weight: 900}
    ```
    """
    for row in galera_rows(subject):
        nodes = nodes_in(subject, row)
        writers = row.cells["max_writers"]
        weights = {cells["weight"] for rows in nodes.values() for _, cells in rows}
        if len(weights) == 1 and isinstance(writers, int) and len(nodes) > max(writers, 1):
            name = max(str(hostname) for hostname, _ in nodes)
            message = f"all {len(nodes)} nodes weigh the same, so {name} is the writer by its name"
            yield Finding(_GALERA, row.key, message, None, "weight in mysql_servers says who is")
