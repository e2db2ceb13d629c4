"""PX301 locking-read-to-reader."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from proxyctl.lint.check import check
from proxyctl.lint.finding import Finding, Severity
from proxyctl.lint.sample_queries import Sent, sent_to_readers
from proxyctl.lint.subject import LintSubject
from proxyctl.routing.dialect import MYSQL, PGSQL, Dialect
from proxyctl.routing.probes import QueryKind

_LOCKS = {
    MYSQL: "(FOR UPDATE|FOR SHARE|LOCK IN SHARE MODE)",
    PGSQL: "(FOR (NO KEY )?UPDATE|FOR (KEY )?SHARE)",
}
_NO_SELECT = frozenset({"WITH ... FOR UPDATE", "FOR UPDATE in parentheses"})
"""Probes that do not begin with SELECT."""


@check("PX301", "locking-read-to-reader", Severity.ERROR, pgsql=True)
def locking_read_to_reader(subject: LintSubject) -> Iterator[Finding]:
    """A rule that sends locking reads to a reader.

    `SELECT ... FOR UPDATE`, `FOR SHARE` and `LOCK IN SHARE MODE` keep others from changing rows
    until the transaction ends. A lock on a reader stops no write on the writer, and the
    reader may return old rows. On Galera, locks are also local to a node. PostgreSQL has no
    LOCK IN SHARE MODE, but FOR NO KEY UPDATE and FOR KEY SHARE.

    lint tries such queries in several spellings for each user and schema that rules distinguish.
    It also tries each rule that sends to a reader, with a query that the rule's pattern matches.
    Readers are the
    `reader_hostgroup` of a family, a hostgroup named like `reader` if another is named like
    `writer`, and a hostgroup that gets the reads of a session whose writes all go elsewhere, but no
    shard, to which fast routing or a rule of a `sharding` section sends writes.

    Put a rule for locking reads before the one for reads. Use match_digest, which sees one line
    without comments, and no `$`: NOWAIT or a `;` may follow.

    ```yaml
    # Bad
    mysql_replication_hostgroups: [{writer_hostgroup: 10, reader_hostgroup: 20}]
    mysql_query_rules:
      - {rule_id: 1, match_pattern: '^SELECT.*FOR UPDATE$', destination_hostgroup: 10,
         apply: true}
      - {rule_id: 2, match_digest: '^SELECT', destination_hostgroup: 20, apply: true}
    ```

    ```yaml
    # Good
    mysql_replication_hostgroups: [{writer_hostgroup: 10, reader_hostgroup: 20}]
    mysql_query_rules:
      - rule_id: 1
        match_digest: '^SELECT.*(FOR UPDATE|FOR SHARE|LOCK IN SHARE MODE)'
        destination_hostgroup: 10
        apply: true
      - {rule_id: 2, match_digest: '^SELECT', destination_hostgroup: 20, apply: true}
    ```

    ```yaml
    # Bad
    pgsql_replication_hostgroups: [{writer_hostgroup: 10, reader_hostgroup: 20}]
    pgsql_query_rules:
      - {rule_id: 1, match_digest: 'FOR (UPDATE|SHARE)', destination_hostgroup: 10,
         apply: true}
      - {rule_id: 2, match_digest: '^SELECT', destination_hostgroup: 20, apply: true}
    ```

    ```yaml
    # Good
    pgsql_replication_hostgroups: [{writer_hostgroup: 10, reader_hostgroup: 20}]
    pgsql_query_rules:
      - rule_id: 1
        match_digest: '^SELECT.*(FOR (NO KEY )?UPDATE|FOR (KEY )?SHARE)'
        destination_hostgroup: 10
        apply: true
      - {rule_id: 2, match_digest: '^SELECT', destination_hostgroup: 20, apply: true}
    ```
    """
    for finding, sent in sent_to_readers(subject, QueryKind.LOCK):
        yield replace(finding, fix=_fix(subject.dialect, sent))


def _fix(dialect: Dialect, sent: Sent) -> str:
    pattern = ("^SELECT.*" if _begins_with_select(sent) else r"\b") + _LOCKS[dialect]
    return f"put a rule with apply before it that sends match_digest '{pattern}' to the writer"


def _begins_with_select(sent: Sent) -> bool:
    """Return whether `^SELECT` matches the digest texts of all these queries."""
    is_read = sent.query.lstrip().lower().startswith(("select", "/*"))
    return is_read and not _NO_SELECT.intersection(sent.probe_names)
