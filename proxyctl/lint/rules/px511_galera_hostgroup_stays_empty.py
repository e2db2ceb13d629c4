"""PX511 galera-hostgroup-stays-empty."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.check import check
from proxyctl.lint.finding import Finding, Severity
from proxyctl.lint.sample_queries import destinations
from proxyctl.lint.subject import FamilyRow, LintSubject
from proxyctl.text import counted


@check("PX511", "galera-hostgroup-stays-empty", Severity.WARNING)
def galera_hostgroup_stays_empty(subject: LintSubject) -> Iterator[Finding]:
    """A hostgroup of a Galera family that gets queries but has no nodes.

    With `max_writers: 0` (an error) ProxySQL removes all nodes from the writer hostgroup, and each
    write fails. With `writer_is_also_reader: 0` only a node with read_only=1 is a reader, and
    Galera nodes usually have read_only=0. With 2 the backup writers serve reads, and there are none
    if the family has no more nodes than max_writers. Reads then wait for
    mysql-connect_timeout_server_max and fail.

    Set max_writers to 1, and writer_is_also_reader to 1, or to 2 if there are backup writers.

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
    used = {destination.hostgroup for destination in destinations(subject)}
    for row in subject.galera:
        if row.cells["max_writers"] == 0:
            writer = subject.label(row.roles["writer_hostgroup"])
            message, fix = f"with max_writers 0, no node can stay in {writer}", "set it to 1"
            yield Finding(row.table, row.key, message, "max_writers", fix, severity=Severity.ERROR)
        reader = row.roles.get("reader_hostgroup")
        reason = _why_empty(subject, row) if reader in used else None
        if reason:
            message = f"{subject.label(reader)} gets queries but has no nodes: {reason}"
            fix = "set it to 1, or to 2 if there are backup writers"
            yield Finding(row.table, row.key, message, "writer_is_also_reader", fix)


def _why_empty(subject: LintSubject, row: FamilyRow) -> str | None:
    is_also_reader, writers = row.cells["writer_is_also_reader"], row.cells["max_writers"]
    nodes = len(subject.nodes_of(row))
    if is_also_reader == 0:
        return "writer_is_also_reader is 0, so only nodes with read_only=1 are readers"
    if is_also_reader == 2 and isinstance(writers, int) and 0 < nodes <= writers:
        return f"max_writers is {writers}, so with {counted(nodes, 'node')} there is no backup"
    return None
