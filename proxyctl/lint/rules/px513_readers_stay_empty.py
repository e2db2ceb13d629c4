"""PX513 readers-stay-empty."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.destinations import destinations
from proxyctl.lint.families import GALERA, galera_rows, nodes_in
from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.subject import Subject
from proxyctl.lint.traffic_readers import FamilyRow, called


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
            yield Finding(GALERA, row.key, message, "writer_is_also_reader", hint)


def _why_empty(subject: Subject, row: FamilyRow) -> str | None:
    also = row.cells["writer_is_also_reader"]
    nodes, writers = len(nodes_in(subject, row)), row.cells["max_writers"]
    if also == 0:
        return "writer_is_also_reader is 0, so that only nodes with read_only=1 are readers"
    if also == 2 and isinstance(writers, int) and 0 < nodes <= writers:
        return f"of {nodes} node{'s' * (nodes > 1)} none stands by, all of them are writers"
    return None
