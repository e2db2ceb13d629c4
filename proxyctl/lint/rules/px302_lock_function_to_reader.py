"""PX302 lock-function-to-reader."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from proxyctl.lint.check import check
from proxyctl.lint.finding import Finding, Severity
from proxyctl.lint.sample_queries import sent_to_readers
from proxyctl.lint.subject import LintSubject
from proxyctl.routing.dialect import MYSQL, PGSQL, Dialect
from proxyctl.routing.probes import QueryKind
from proxyctl.rows.row import Key

_FUNCTIONS = {
    MYSQL: r"(GET_LOCK|RELEASE_LOCK|RELEASE_ALL_LOCKS|IS_FREE_LOCK|IS_USED_LOCK|ROW_COUNT) ?\(",
    PGSQL: r"\b((nextval|setval|currval|lastval|pg_notify|pg_(try_)?advisory_\w+) ?\(|INTO )",
}


@check("PX302", "lock-function-to-reader", Severity.WARNING, pgsql=True)
def lock_function_to_reader(subject: LintSubject) -> Iterator[Finding]:
    r"""A rule that sends GET_LOCK, nextval and similar functions to a reader.

    A named lock exists on one server only: two clients that use two readers both get it. ROW_COUNT
    is about the last statement of a connection, which was on the writer. LAST_INSERT_ID is not
    reported: ProxySQL itself sends it where the last write went. A rule on the MySQL side that also
    sends locking reads to the reader is reported by PX301 only.

    On the PostgreSQL side the functions are advisory locks, which each server keeps for itself;
    `nextval`, `setval`, `pg_notify` and `SELECT ... INTO`, which a standby refuses; and `currval`
    and `lastval`, which only the connection of the last `nextval` can answer.

    Put a rule for these functions before the one for reads.

    ```yaml
    # Bad
    mysql_replication_hostgroups:
      - {writer_hostgroup: 10, reader_hostgroup: 20}
    mysql_query_rules:
      - {rule_id: 1, match_digest: 'FOR UPDATE|SHARE', destination_hostgroup: 10,
         apply: true}
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

    ```yaml
    # Bad
    pgsql_replication_hostgroups:
      - {writer_hostgroup: 10, reader_hostgroup: 20}
    pgsql_query_rules:
      - {rule_id: 1, match_digest: 'FOR .*(UPDATE|SHARE)', destination_hostgroup: 10,
         apply: true}
      - {rule_id: 2, match_digest: '^SELECT', destination_hostgroup: 20, apply: true}
    ```

    ```yaml
    # Good
    pgsql_replication_hostgroups:
      - {writer_hostgroup: 10, reader_hostgroup: 20}
    pgsql_query_rules:
      - rule_id: 1
        match_digest: '^SELECT.*\b((nextval|setval|currval|lastval|pg_notify|pg_(try_)?advisory_\w+) ?\(|INTO )'
        destination_hostgroup: 10
        apply: true
      - {rule_id: 2, match_digest: '^SELECT', destination_hostgroup: 20, apply: true}
    ```
    """  # noqa: E501 - a pattern stays on its line
    reported = _reported_by_px301(subject)
    for finding, _ in sent_to_readers(subject, QueryKind.FUNCTION):
        is_superseded = (finding.table, finding.key) in reported
        yield replace(finding, fix=_fix(subject.dialect), is_superseded=is_superseded)


def _fix(dialect: Dialect) -> str:
    pattern = f"^SELECT.*{_FUNCTIONS[dialect]}"
    return f"put a rule before it that sends match_digest '{pattern}' to the writer"


def _reported_by_px301(subject: LintSubject) -> set[tuple[str, Key]]:
    """Return the rows that PX301 reports, of the MySQL side.

    A standby of PostgreSQL refuses nextval at once, whatever becomes of the locking reads.
    """
    locking = sent_to_readers(subject, QueryKind.LOCK) if subject.dialect is MYSQL else ()
    return {(finding.table, key) for finding, _ in locking for key in (finding.key, *finding.also)}
