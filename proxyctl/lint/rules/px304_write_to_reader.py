"""PX304 write-to-reader."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.subject import Subject
from proxyctl.lint.traffic_observations import observations
from proxyctl.lint.traffic_sent import sent_text
from proxyctl.routing.probes import Kind


@check("PX304", "write-to-reader", Severity.ERROR)
def writes(subject: Subject) -> Iterator[Finding]:
    """A rule sends writes to a reader.

    With read_only the reader refuses them; without, its data are no longer the writer's. BEGIN on a
    reader is worse than it looks: with transaction_persistent the whole transaction stays there.

    The usual reasons: a pattern without `^`, so that `INSERT ... SELECT` counts as a read; a rule
    for everything that is not INSERT, UPDATE or DELETE, and CALL, REPLACE, DDL and BEGIN are
    forgotten. Name the reads and let default_hostgroup be the writer.

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
    hint = "name the reads (match_digest '^SELECT') and let default_hostgroup take the rest"
    for (culprit, kind), sent in observations(subject).sent.items():
        if kind is Kind.WRITE:
            message = sent_text(subject, sent)
            yield Finding(culprit.table, culprit.key, message, culprit.column, hint)
