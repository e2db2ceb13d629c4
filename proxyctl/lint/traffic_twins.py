"""Where queries go, asked once for all sessions whose own rules look the same.

A configuration may have a pair of rules for each of thousands of users. Two sessions are twins when
the rules that name their user or schema are alike one by one, between the same other rules: then
both take the same way, each through its own rules.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from proxyctl.lint.subject import Subject
from proxyctl.lint.traffic_sessions import Session, logins
from proxyctl.routing import Route, Source
from proxyctl.routing.rule import Rule

_FAST = "mysql_query_rules_fast_routing"


class _Twin(NamedTuple):
    """The session that is asked, with the rules that name it, and those of this session."""

    session: Session
    its: tuple[Rule, ...]
    own: tuple[Rule, ...]


class _Asking:
    """The answers so far."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._named: dict[tuple[str | None, str | None], list[Rule]] = {}
        self._others: list[int] = []
        for rule in subject.rules:
            if rule.username is None is rule.schemaname:
                self._others.append(rule.position)
            else:
                self._named.setdefault((rule.username, rule.schemaname), []).append(rule)
        self._flags: dict[tuple[object, object], set[object]] = {}
        for username, schemaname, flag in self._fast_keys():
            self._flags.setdefault((username, schemaname), set()).add(flag)
        self._first: dict[object, tuple[Session, tuple[Rule, ...]]] = {}
        self._twins: dict[Session, _Twin] = {}
        self._routes: dict[tuple[Session, str], Route] = {}

    def _fast_keys(self) -> list[tuple[object, ...]]:
        table = self._subject.configuration.tables.get(_FAST)
        return [] if table is None else list(table.rows)

    def route(self, session: Session, query: str) -> Route:
        """Return where a query of the session goes."""
        twin = self._twins.get(session)
        if twin is None:
            twin = self._twins[session] = self._twin(session)
        route = self._routes.get((twin.session, query))
        if route is None:
            route = self._subject.router.evaluate(twin.session.request(query))
            self._routes[twin.session, query] = route
        return route if twin.session == session else self._translated(route, session, twin)

    def _twin(self, session: Session) -> _Twin:
        user = logins(self._subject).get(session.username or "")
        schemaname = schema_of(self._subject, session)
        whos = {
            (session.username, None),
            (None, schemaname),
            (session.username, schemaname),
        } - {(None, None)}
        found = [rule for who in whos for rule in self._named.get(who, ())]
        own = tuple(sorted(found, key=lambda rule: rule.position))
        kind = (
            session[2:],
            user is None,
            user is not None and user.fast_forward,
            tuple((bisect_left(self._others, rule.position), _shape(rule)) for rule in own),
            frozenset(self._flags.get((session.username or "", schemaname), ())),
            frozenset(self._flags.get(("", schemaname), ())),
        )
        first, its = self._first.setdefault(kind, (session, own))
        return _Twin(first, its, own)

    def _translated(self, route: Route, session: Session, twin: _Twin) -> Route:
        """Return the route of a session from that of its twin."""
        names = {rule.rule_id: own for rule, own in zip(twin.its, twin.own, strict=True)}
        matched = tuple(
            names[number].rule_id if number in names else number for number in route.matched_rules
        )
        rule_id, destination = route.rule_id, route.destination_hostgroup
        if rule_id in names:
            rule_id, destination = names[rule_id].rule_id, names[rule_id].destination
        elif route.source is Source.FAST_ROUTING:
            destination = fast_destination(self._subject, session, route.flagIN)
        elif route.source is Source.DEFAULT_HOSTGROUP:
            destination = logins(self._subject)[session.username or ""].default_hostgroup
        return replace(
            route, rule_id=rule_id, matched_rules=matched, destination_hostgroup=destination
        )


def _shape(rule: Rule) -> tuple[object, ...]:
    """Return all that decides whether a rule matches and what then happens, but for who it names.

    Where it sends to is not asked, only whether it sends somewhere.
    """
    return (
        rule.username is None,
        rule.schemaname is None,
        rule.flag_in,
        rule.client_addr,
        rule.proxy_addr,
        rule.proxy_port,
        rule.digest,
        rule.match_digest,
        rule.match_pattern,
        rule.negated,
        rule.replacement,
        rule.is_global,
        rule.flag_out,
        rule.ways,
        rule.sets,
        rule.destination is None,
        rule.apply,
    )


@lru_cache(maxsize=1)
def _asking(subject: Subject) -> _Asking:
    return _Asking(subject)


def ask(subject: Subject, session: Session, query: str) -> Route:
    """Return where a query of a session goes. Digests, texts and troubles may be a twin's."""
    return _asking(subject).route(session, query)


def schema_of(subject: Subject, session: Session) -> str:
    """Return the schema that a session is in."""
    user = logins(subject).get(session.username or "")
    chosen = session.schemaname or (user and user.default_schema)
    return chosen or subject.variables.default_schema


def fast_key(subject: Subject, session: Session, flag: int) -> tuple[str, str, int] | None:
    """Return the row of fast routing that decides for a session: its user's, else of no user."""
    rows = subject.configuration.tables[_FAST].rows
    for username in (session.username or "", ""):
        key = (username, schema_of(subject, session), flag)
        if key in rows:
            return key
    return None


def fast_destination(subject: Subject, session: Session, flag: int) -> int | None:
    """Return where fast routing sends a session."""
    table = subject.configuration.tables[_FAST]
    key = fast_key(subject, session, flag)
    value = table.rows[key][table.layout.index["destination_hostgroup"]] if key else None
    return value if isinstance(value, int) else None
