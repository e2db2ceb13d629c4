"""Sharded tables and schemas whose queries somebody else takes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from proxyctl.lint.effects_samples import samples
from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.subject import Subject
from proxyctl.lint.traffic_observations import culprit_of
from proxyctl.lint.traffic_readers import called
from proxyctl.lint.traffic_sessions import Session, logins, session_for
from proxyctl.lint.traffic_twins import ask
from proxyctl.routing import Source
from proxyctl.state import Key

_RULES, _FAST = "mysql_query_rules", "mysql_query_rules_fast_routing"
_NAMES_OF_A_RULE = 500
_QUERIES = (
    "SELECT c FROM {} WHERE id=1",
    "UPDATE {} SET c='a' WHERE id=1",
    "INSERT INTO {} (c) VALUES ('a')",
    "DELETE FROM {} WHERE id=1",
)
_ON_TABLES = 3
"""So many tables of a rule are tried with all of these queries, the others with the first."""


class Capture(NamedTuple):
    """A query of a shard that another row takes."""

    table: str
    key: Key
    column: str
    origin: str
    """The section of the row that takes it, empty for one that somebody wrote."""
    section: str
    """The section that it was meant for."""
    query: str
    session: Session
    wanted: int
    found: int | None


@check("PX321", "sharding-overlaps", Severity.ERROR)
def overlaps(subject: Subject) -> Iterator[Finding]:
    """Two sharding sections claim the same table.

    The rules with the smaller ids win, and the other section's shards never see the table. Rows
    that were written before the second section came are then on a shard that nobody asks.

    ```yaml
    # Bad
    hostgroups: {shard0: {id: 100}, shard1: {id: 101}}
    sharding:
      - {name: a, tables: "orders{1..4}", hostgroups: [shard0], assign: modulo, first_rule_id: 100}
      - {name: b, tables: "orders{3..6}", hostgroups: [shard1], assign: modulo, first_rule_id: 200}
    ```

    ```yaml
    # Good
    hostgroups: {shard0: {id: 100}, shard1: {id: 101}}
    sharding:
      - {name: a, tables: "orders{1..4}", hostgroups: [shard0], assign: modulo, first_rule_id: 100}
      - {name: b, tables: "orders{5..6}", hostgroups: [shard1], assign: modulo, first_rule_id: 200}
    ```
    """
    for one in _first_of_each(subject):
        if one.origin:
            message = _text(subject, one) + f", before {one.section} gets it"
            yield Finding(one.table, one.key, message, one.column, "give each table to one section")


@check("PX322", "rule-before-shards", Severity.WARNING)
def rules_before_shards(subject: Subject) -> Iterator[Finding]:
    """A rule sends queries for a sharded table or schema elsewhere.

    A read/write split in front of sharding rules is the usual case: `^SELECT` with apply takes the
    reads of every shard and sends them to one reader, which does not have the rows. Put such rules
    behind the sharding rules, or let sharding come first and split inside each shard by flagOUT.

    ```yaml
    # Bad
    hostgroups: {reader: {id: 20}, shard0: {id: 100}, shard1: {id: 101}}
    mysql_query_rules:
      - {rule_id: 1, match_digest: '^SELECT', destination_hostgroup: reader, apply: true}
    sharding:
      - name: a
        tables: "orders{1..4}"
        hostgroups: [shard0, shard1]
        assign: modulo
        first_rule_id: 100
    ```

    ```yaml
    # Good
    hostgroups: {reader: {id: 20}, shard0: {id: 100}, shard1: {id: 101}}
    mysql_query_rules:
      - {rule_id: 900, match_digest: '^SELECT', destination_hostgroup: reader, apply: true}
    sharding:
      - name: a
        tables: "orders{1..4}"
        hostgroups: [shard0, shard1]
        assign: modulo
        first_rule_id: 100
    ```
    """
    for one in _first_of_each(subject):
        if not one.origin:
            wanted = called(subject, one.wanted)
            message = f"{_text(subject, one)}; {one.section} has it on {wanted}"
            hint = "put the rule behind those of the sharding section"
            yield Finding(one.table, one.key, message, one.column, hint)


def _text(subject: Subject, one: Capture) -> str:
    return f"sends `{one.query}`{one.session} to {called(subject, one.found)}"


def _first_of_each(subject: Subject) -> Iterator[Capture]:
    """Yield one capture for each row that takes queries of a section."""
    told = set()
    for one in _captures(subject):
        which = (one.table, one.key, one.section)
        if which not in told:
            told.add(which)
            yield one


@lru_cache(maxsize=1)
def _captures(subject: Subject) -> tuple[Capture, ...]:
    return (*_of_tables(subject), *_of_schemas(subject))


def _origin(subject: Subject, table: str, key: Key) -> str:
    where = subject.configuration.place(table, key, None)
    origin = where.origin if where else ""
    return origin if origin.startswith("sharding ") else ""


def _of_tables(subject: Subject) -> Iterator[Capture]:
    """Yield the queries for tables of sharding rules that another rule decides."""
    origins = {
        rule.rule_id: origin
        for rule in subject.rules
        if (origin := _origin(subject, _RULES, (rule.rule_id,)))
    }
    if not origins:
        return
    patterns = {
        key[0]: str(cells["match_digest"] or cells["match_pattern"] or "")
        for key, cells in subject.cells(_RULES)
        if key[0] in origins
    }
    anybody = next(iter(logins(subject)), None)
    for rule in subject.rules:
        section = origins.get(rule.rule_id)
        if section is None or rule.destination is None:
            continue
        session = session_for(rule, anybody)
        found = samples(patterns[rule.rule_id], limit=_NAMES_OF_A_RULE)
        names = dict.fromkeys(name.strip().strip("`") for name in found)
        for number, name in enumerate(names):
            for query in _QUERIES if number < _ON_TABLES else _QUERIES[:1]:
                yield from _taken(
                    subject, query.format(name), session, (section, rule.destination, origins)
                )


def _taken(
    subject: Subject, query: str, session: Session, wanted: tuple[str, int, dict[int, str]]
) -> Iterator[Capture]:
    """Yield who else takes a query that a section's rule is meant for."""
    section, hostgroup, origins = wanted
    route = ask(subject, session, query)
    if route.is_answered or route.destination_hostgroup == hostgroup:
        return
    if route.source is Source.RULE and origins.get(route.rule_id or 0) != section:
        origin = origins.get(route.rule_id or 0, "")
        yield Capture(
            _RULES, (route.rule_id,), "destination_hostgroup", origin, section, query, session,
            hostgroup, route.destination_hostgroup,
        )  # fmt: skip


def _of_schemas(subject: Subject) -> Iterator[Capture]:
    """Yield the queries for sharded schemas that a rule decides before fast routing."""
    table = subject.configuration.tables.get(_FAST)
    if table is None:
        return
    position = table.layout.index["destination_hostgroup"]
    schemas = {rule.schemaname for rule in subject.rules}
    anybody = next(iter(logins(subject)), None)
    told = set()
    for key, row in table.rows.items():
        username, schemaname, flag = key
        section = _origin(subject, _FAST, key)
        kind = (section, username, schemaname if schemaname in schemas else None)
        hostgroup = row[position]
        if not section or kind in told or flag or not isinstance(hostgroup, int):
            continue
        told.add(kind)
        session = Session(str(username) or anybody, str(schemaname))
        for query in (text.format("t") for text in _QUERIES):
            route = ask(subject, session, query)
            culprit = culprit_of(subject, route, session)
            if route.source is Source.RULE and culprit is not None and not route.is_answered:
                found = route.destination_hostgroup
                yield Capture(*culprit, "", section, query, session, hostgroup, found)
