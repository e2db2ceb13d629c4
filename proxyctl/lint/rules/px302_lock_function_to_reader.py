"""PX302 lock-function-to-reader."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.subject import Subject
from proxyctl.lint.traffic_sent import found_of_kind
from proxyctl.routing.probes import Kind

_FUNCTIONS_FIRST = (
    r"'^SELECT.*(GET_LOCK|RELEASE_LOCK|RELEASE_ALL_LOCKS|IS_FREE_LOCK|IS_USED_LOCK|ROW_COUNT) ?\('"
)


@check("PX302", "lock-function-to-reader", Severity.WARNING)
def lock_functions(subject: Subject) -> Iterator[Finding]:
    r"""A rule sends GET_LOCK and its like to a reader.

    A lock by name is known to one server only. Two clients that ask two readers get it both.
    ROW_COUNT tells about the last statement of a connection, which was on the writer.
    LAST_INSERT_ID is not meant: ProxySQL itself sends it where the last write went. Of a rule that
    sends locking reads there, too, PX301 speaks first.

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
    hint = f"put a rule before it that sends match_digest {_FUNCTIONS_FIRST} to the writer"
    locking = {(one.table, one.key) for one, _ in found_of_kind(subject, Kind.LOCK)}
    for finding, _ in found_of_kind(subject, Kind.FUNCTION):
        if (finding.table, finding.key) not in locking:
            yield replace(finding, hint=hint)
