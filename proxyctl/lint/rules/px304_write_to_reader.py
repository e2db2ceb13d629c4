"""PX304 write-to-reader."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from proxyctl.lint.check import check
from proxyctl.lint.finding import Finding, Severity
from proxyctl.lint.sample_queries import sent_to_readers
from proxyctl.lint.subject import LintSubject
from proxyctl.routing.probes import QueryKind


@check("PX304", "write-to-reader", Severity.ERROR, pgsql=True)
def write_to_reader(subject: LintSubject) -> Iterator[Finding]:
    """A rule that sends writes to a reader.

    A reader with read_only refuses the write; without it, the reader's data diverges from the
    writer's. BEGIN counts as a write: with transaction_persistent the whole transaction follows it.

    The usual reasons are a pattern without `^`, which matches `INSERT ... SELECT` as a read, and a
    rule for everything that is not INSERT, UPDATE or DELETE, which also matches CALL, REPLACE, DDL
    and BEGIN. Match the reads, and let default_hostgroup be the writer.

    On the PostgreSQL side COPY ... FROM, DO, MERGE, LOCK TABLE and NOTIFY are also writes, and a
    query that begins with WITH may insert, update or delete.

    ```yaml
    # Bad
    mysql_replication_hostgroups:
      - {writer_hostgroup: 10, reader_hostgroup: 20}
    mysql_query_rules:
      - {rule_id: 1, match_digest: 'SELECT', destination_hostgroup: 20, apply: true}
    ```

    ```yaml
    # Good
    mysql_replication_hostgroups:
      - {writer_hostgroup: 10, reader_hostgroup: 20}
    mysql_query_rules:
      - {rule_id: 1, match_digest: '^SELECT', destination_hostgroup: 20, apply: true}
    ```
    """
    fix = (
        "match the reads (match_digest '^SELECT') and leave all other queries to default_hostgroup"
    )
    for finding, _ in sent_to_readers(subject, QueryKind.WRITE):
        yield replace(finding, fix=fix)
