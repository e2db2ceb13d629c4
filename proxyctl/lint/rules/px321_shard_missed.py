"""PX321 shard-missed."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.check import RULES, Finding, Severity, check
from proxyctl.lint.subject import FAST_ROUTING, Subject
from proxyctl.lint.traffic import culprit_of
from proxyctl.routing import Source
from proxyctl.routing.reach import Session, session_for
from proxyctl.routing.regex.samples import samples
from proxyctl.state.row import Key

_NAMES_OF_A_RULE = 500
_QUERIES = (
    "SELECT c FROM {} WHERE id=1",
    "UPDATE {} SET c='a' WHERE id=1",
    "INSERT INTO {} (c) VALUES ('a')",
    "DELETE FROM {} WHERE id=1",
)
_TABLES_FOR_ALL = 3
"""So many tables of a rule are tried with all of these queries, the others with the first."""

_Try = tuple[str, int, Session, str]
"""The section that a query is meant for, the hostgroup it should go to, its session, the query."""


@check("PX321", "shard-missed", Severity.ERROR)
def shard_missed(subject: Subject) -> Iterator[Finding]:
    """A query for a sharded table or schema that another rule takes.

    Two `sharding` sections may claim the same table: the rules with the smaller ids win, and rows
    of the other section's shards are never read. It is a warning where a rule of your own takes the
    queries, usually a read/write split in front of the sharding rules: `^SELECT` with apply sends
    the reads of every shard to one reader, which does not have the rows.

    Give each table to one section. Put your own rules behind the sharding rules, or split inside
    each shard by flagOUT.

    ```yaml
    # Bad
    hostgroups: {shard0: {id: 100}, shard1: {id: 101}}
    sharding:
      - {name: a, tables: "orders{1..4}", hostgroups: [shard0], assign: modulo, first_rule_id: 100}
      - {name: b, tables: "orders{3..6}", hostgroups: [shard1], assign: modulo, first_rule_id: 200}
    ```

    ```yaml
    # Bad
    hostgroups: {reader: {id: 20}, shard0: {id: 100}}
    mysql_query_rules:
      - {rule_id: 1, match_digest: '^SELECT', destination_hostgroup: reader, apply: true}
    sharding:
      - {name: a, tables: "orders{1..4}", hostgroups: [shard0], assign: modulo, first_rule_id: 100}
    ```

    ```yaml
    # Good
    hostgroups: {reader: {id: 20}, shard0: {id: 100}, shard1: {id: 101}}
    sharding:
      - {name: a, tables: "orders{1..4}", hostgroups: [shard0], assign: modulo, first_rule_id: 100}
      - {name: b, tables: "orders{5..6}", hostgroups: [shard1], assign: modulo, first_rule_id: 200}
    mysql_query_rules:
      - {rule_id: 900, match_digest: '^SELECT', destination_hostgroup: reader, apply: true}
    ```
    """
    reported: set[object] = set()
    for section, wanted, session, query in (*_of_tables(subject), *_of_schemas(subject)):
        route = subject.reach.route(session, query)
        culprit = culprit_of(subject, route, session)
        if route.source is not Source.RULE or culprit is None or route.is_answered:
            continue
        found = route.destination_hostgroup
        origin = _section(subject, RULES, (route.rule_id,))
        if found == wanted or origin == section or (culprit, section) in reported:
            continue
        reported.add((culprit, section))
        message = (
            f"sends `{query}`{session} to {subject.called(found)}, and {section} has the table on"
            f" {subject.called(wanted)}"
        )
        hint, severity = "put the rule behind those of the sharding section", Severity.WARNING
        if origin:
            hint, severity = "give each table to one section", Severity.ERROR
        yield Finding(*culprit[:2], message, culprit.column, hint, severity=severity)


def _section(subject: Subject, table: str, key: Key) -> str:
    """Return the sharding section that made a row, '' for one that somebody wrote."""
    where = subject.configuration.place(table, key, None)
    return where.origin if where and where.origin.startswith("sharding ") else ""


def _of_tables(subject: Subject) -> Iterator[_Try]:
    """Yield queries for the tables that the rules of sharding sections name."""
    for row in subject.rule_rows:
        section = _section(subject, RULES, row.key)
        if not section or row.rule is None or row.rule.destination is None:
            continue
        _, pattern = next(row.patterns, ("", ""))
        names = (name.strip().strip("`") for name in samples(pattern, limit=_NAMES_OF_A_RULE))
        session = session_for(row.rule, subject.reach.anybody)
        for position, name in enumerate(dict.fromkeys(names)):
            for query in _QUERIES if position < _TABLES_FOR_ALL else _QUERIES[:1]:
                yield section, row.rule.destination, session, query.format(name)


def _of_schemas(subject: Subject) -> Iterator[_Try]:
    """Yield queries for one schema of each kind that sharding sections route by fast routing."""
    schemas = {rule.schemaname for rule in subject.rules}
    known = set()
    for (username, schemaname, flag), hostgroup in subject.router.fast_routing.items():
        section = _section(subject, FAST_ROUTING, (username, schemaname, flag))
        kind = (section, username, schemaname if schemaname in schemas else None)
        if not section or flag or kind in known:
            continue
        known.add(kind)
        for query in _QUERIES:
            session = Session(username or subject.reach.anybody, schemaname)
            yield section, hostgroup, session, query.format("t")
