"""Sharded tables and schemas whose queries somebody else takes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from proxyctl.lint.subject import Subject
from proxyctl.lint.traffic_observations import culprit_of
from proxyctl.lint.traffic_readers import called
from proxyctl.lint.traffic_sessions import Session, logins, session_for
from proxyctl.lint.traffic_twins import ask
from proxyctl.routing import Source
from proxyctl.routing.regex.samples import samples
from proxyctl.state.row import Key

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


def where_it_goes(subject: Subject, one: Capture) -> str:
    """Return where a query goes that a section is meant for, in words."""
    return f"sends `{one.query}`{one.session} to {called(subject, one.found)}"


def first_of_each(subject: Subject) -> Iterator[Capture]:
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
