"""PX321 shard-missed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from proxyctl.lint.check import check
from proxyctl.lint.finding import Case, Finding, Severity
from proxyctl.lint.sample_queries import Culprit, ShardQuery, culprit_of, queries_of_shards
from proxyctl.lint.subject import LintSubject
from proxyctl.routing.dialect import MYSQL
from proxyctl.routing.result import HostgroupOrigin


@check("PX321", "shard-missed", Severity.ERROR)
def shard_missed(subject: LintSubject) -> Iterator[Finding]:
    """A query for a sharded table or schema that another rule matches.

    Two `sharding` sections may claim the same table: the rules with the smaller ids win, and rows
    of the other section's shards are never read. It is a warning if a rule of your own matches the
    queries, usually a read/write split in front of the sharding rules: `^SELECT` with apply sends
    the reads of every shard to one reader, which does not have the rows.

    Give each table to one section. Put your own rules after the sharding rules, or split inside
    each shard by flagOUT.

    ```yaml
    # Bad
    hostgroups: {shard0: {id: 100}, shard1: {id: 101}}
    sharding:
      - {name: a, tables: "orders{1..4}", hostgroups: [shard0], assign: modulo,
         first_rule_id: 100}
      - {name: b, tables: "orders{3..6}", hostgroups: [shard1], assign: modulo,
         first_rule_id: 200}
    ```

    ```yaml
    # Bad
    hostgroups: {reader: {id: 20}, shard0: {id: 100}}
    mysql_query_rules:
      - {rule_id: 1, match_digest: '^SELECT', destination_hostgroup: reader, apply: true}
    sharding:
      - {name: a, tables: "orders{1..4}", hostgroups: [shard0], assign: modulo,
         first_rule_id: 100}
    ```

    ```yaml
    # Good
    hostgroups: {reader: {id: 20}, shard0: {id: 100}, shard1: {id: 101}}
    sharding:
      - {name: a, tables: "orders{1..4}", hostgroups: [shard0], assign: modulo,
         first_rule_id: 100}
      - {name: b, tables: "orders{5..6}", hostgroups: [shard1], assign: modulo,
         first_rule_id: 200}
    mysql_query_rules:
      - {rule_id: 900, match_digest: '^SELECT', destination_hostgroup: reader, apply: true}
    ```
    """
    missed: dict[tuple[Culprit, str], Finding] = {}
    cases: dict[tuple[Culprit, str], set[Case]] = defaultdict(set)
    for wanted in queries_of_shards(subject):
        route = subject.reach.route(wanted.session, wanted.query)
        culprit, actual = culprit_of(subject, route, wanted.session), route.destination_hostgroup
        if route.source is not HostgroupOrigin.RULE or culprit is None or route.is_answered:
            continue
        if actual != wanted.hostgroup and _section(subject, culprit) != wanted.section:
            words = f"{wanted.query} of {wanted.session.schemaname}: {actual}, not"
            cause = culprit, wanted.section
            cases[cause].add(Case(f"{words} {wanted.hostgroup} of {wanted.section}"))
            missed.setdefault(cause, _finding(subject, wanted, culprit, actual))
    for cause, finding in missed.items():
        yield replace(finding, cases={finding.key: cases[cause]})


def _section(subject: LintSubject, culprit: Culprit) -> str:
    return subject.section_of(MYSQL.rules, culprit.key)


def _finding(
    subject: LintSubject, wanted: ShardQuery, culprit: Culprit, actual: int | None
) -> Finding:
    """Return the finding that a rule sends a query of a shard elsewhere."""
    message = (
        f"sends `{wanted.query}`{subject.session_words(wanted.session)} to {subject.label(actual)},"
        f" but {wanted.section} has the table on {subject.label(wanted.hostgroup)}"
    )
    fix, severity = "put the rule after those of the sharding section", Severity.WARNING
    if _section(subject, culprit):
        fix, severity = "give each table to one section", Severity.ERROR
    return Finding(*culprit[:2], message, culprit.column, fix, severity=severity)
