"""Locks that are taken on a reader, where they protect nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.subject import Subject
from proxyctl.lint.traffic_observations import Sent, observations
from proxyctl.lint.traffic_probes import Kind
from proxyctl.lint.traffic_readers import called

_SHOWN = 4
_LOCKS_FIRST = r"'^SELECT.*(FOR UPDATE|FOR SHARE|LOCK IN SHARE MODE)'"
_LOCKS_ANYWHERE = r"'\b(FOR UPDATE|FOR SHARE|LOCK IN SHARE MODE)'"
_NO_SELECT = frozenset({"WITH ... FOR UPDATE", "FOR UPDATE in parentheses"})
"""The locking reads that do not begin with SELECT."""

_FUNCTIONS_FIRST = (
    r"'^SELECT.*(GET_LOCK|RELEASE_LOCK|RELEASE_ALL_LOCKS|IS_FREE_LOCK|IS_USED_LOCK|ROW_COUNT) ?\('"
)


@check("PX301", "locking-read-to-reader", Severity.ERROR)
def locking_reads(subject: Subject) -> Iterator[Finding]:
    """A rule sends locking reads to a reader.

    `SELECT ... FOR UPDATE`, `FOR SHARE` and `LOCK IN SHARE MODE` lock rows so that nobody changes
    them until the transaction ends. A lock on a reader keeps nobody from writing on the writer, and
    the rows that the reader returns may be old. On Galera, too, locks are local to a node.

    The check sends such queries through the rules, in several spellings: over several lines, in
    lower case, with `;`, NOWAIT or SKIP LOCKED behind and a comment in front, for each user and
    schema that rules tell apart, and for each rule that sends to a reader with a query of its own.
    Readers are the `reader_hostgroup` of a family, hostgroups with a name like `reader` beside one
    like `writer`, and a hostgroup that takes the reads of a session whose writes all go elsewhere.

    Put a rule for locking reads before the one for reads. Use match_digest: a digest is on one
    line and without comments. Write no `$`: NOWAIT or a `;` may follow.

    ```yaml
    # Bad
    mysql_replication_hostgroups:
      - {writer_hostgroup: 10, reader_hostgroup: 20}
    mysql_query_rules:
      - {rule_id: 1, match_pattern: '^SELECT.*FOR UPDATE$', destination_hostgroup: 10, apply: true}
      - {rule_id: 2, match_digest: '^SELECT', destination_hostgroup: 20, apply: true}
    ```

    ```yaml
    # Good
    mysql_replication_hostgroups:
      - {writer_hostgroup: 10, reader_hostgroup: 20}
    mysql_query_rules:
      - rule_id: 1
        match_digest: '^SELECT.*(FOR UPDATE|FOR SHARE|LOCK IN SHARE MODE)'
        destination_hostgroup: 10
        apply: true
      - {rule_id: 2, match_digest: '^SELECT', destination_hostgroup: 20, apply: true}
    ```
    """
    for finding, sent in _found(subject, Kind.LOCK):
        pattern = _LOCKS_FIRST if _begins_with_select(sent) else _LOCKS_ANYWHERE
        hint = f"put a rule before it that sends match_digest {pattern} to the writer, with apply"
        yield replace(finding, hint=hint)


@check("PX302", "lock-function-to-reader", Severity.WARNING)
def lock_functions(subject: Subject) -> Iterator[Finding]:
    r"""A rule sends GET_LOCK and its like to a reader.

    A lock by name is known to one server only. Two clients that ask two readers get it both.
    ROW_COUNT tells about the last statement of a connection, which was on the writer.
    LAST_INSERT_ID is not meant: ProxySQL itself sends it where the last write went.

    ```yaml
    # Bad
    mysql_replication_hostgroups:
      - {writer_hostgroup: 10, reader_hostgroup: 20}
    mysql_query_rules:
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
    yield from _findings(subject, Kind.FUNCTION, hint)


def _findings(subject: Subject, kind: Kind, hint: str) -> Iterator[Finding]:
    for finding, _ in _found(subject, kind):
        yield replace(finding, hint=hint)


def _found(subject: Subject, kind: Kind) -> Iterator[tuple[Finding, Sent]]:
    for (culprit, of_kind), sent in observations(subject).sent.items():
        if of_kind is kind:
            message = sent_text(subject, sent)
            yield Finding(culprit.table, culprit.key, message, culprit.column), sent


def _begins_with_select(sent: Sent) -> bool:
    """Return whether `^SELECT` matches the digests of all these queries."""
    is_read = sent.query.lstrip().lower().startswith(("select", "/*"))
    return is_read and not _NO_SELECT.intersection(sent.whats)


def sent_text(subject: Subject, sent: Sent) -> str:
    """Return what a row sends to a reader, in words."""
    text = f"sends `{shown(sent.query)}`{sent.session} to {called(subject, sent.hostgroup)}"
    others = sent.whats[1:]
    if not others:
        return text
    more = f" and {len(others) - _SHOWN} more" if len(others) > _SHOWN else ""
    return f"{text}; also {', '.join(others[:_SHOWN])}{more}"


def shown(query: str) -> str:
    """Return a query on one line."""
    return query.replace("\n", r"\n")
