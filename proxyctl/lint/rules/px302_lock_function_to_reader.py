"""PX302 lock-function-to-reader."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from proxyctl.lint.check import Finding, Severity, check
from proxyctl.lint.sample_queries import sent_to_readers
from proxyctl.lint.subject import Subject
from proxyctl.routing.probes import Kind

_FUNCTIONS = (
    r"'^SELECT.*(GET_LOCK|RELEASE_LOCK|RELEASE_ALL_LOCKS|IS_FREE_LOCK|IS_USED_LOCK|ROW_COUNT) ?\('"
)


@check("PX302", "lock-function-to-reader", Severity.WARNING)
def lock_function_to_reader(subject: Subject) -> Iterator[Finding]:
    r"""A rule that sends GET_LOCK and similar functions to a reader.

    A named lock exists on one server only: two clients that ask two readers both get it. ROW_COUNT
    is about the last statement of a connection, and that was on the writer. LAST_INSERT_ID is not
    reported: ProxySQL itself sends it where the last write went. A rule that also sends locking
    reads to the reader is reported by PX301 only.

    Put a rule for these functions before the one for reads.

    ```yaml
    # Bad
    mysql_replication_hostgroups:
      - {writer_hostgroup: 10, reader_hostgroup: 20}
    mysql_query_rules:
      - rule_id: 1
        match_digest: '^SELECT.*(FOR UPDATE|FOR SHARE|LOCK IN SHARE MODE)'
        destination_hostgroup: 10
        apply: true
      - {rule_id: 2, match_digest: '^SELECT', destination_hostgroup: 20, apply: true}
    ```

    ```yaml
    # Good
    mysql_replication_hostgroups:
      - {writer_hostgroup: 10, reader_hostgroup: 20}
    mysql_query_rules:
      - rule_id: 1
        match_digest: '^SELECT.*(GET_LOCK|RELEASE_LOCK|RELEASE_ALL_LOCKS|IS_FREE_LOCK|IS_USED_LOCK|ROW_COUNT) ?\('
        destination_hostgroup: 10
        apply: true
      - {rule_id: 2, match_digest: '^SELECT', destination_hostgroup: 20, apply: true}
    ```
    """  # noqa: E501 - a pattern stays on its line
    fix = f"put a rule before it that sends match_digest {_FUNCTIONS} to the writer"
    locking = {
        (finding.table, key)
        for finding, _ in sent_to_readers(subject, Kind.LOCK)
        for key in (finding.key, *finding.also)
    }
    for finding, _ in sent_to_readers(subject, Kind.FUNCTION):
        is_superseded = (finding.table, finding.key) in locking
        yield replace(finding, fix=fix, is_superseded=is_superseded)
