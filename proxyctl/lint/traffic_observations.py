"""Where the probes go, in every session that can be told apart, worked out once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from proxyctl.lint.subject import Subject
from proxyctl.lint.traffic_probes_made import probes_like
from proxyctl.lint.traffic_readers import family_rows, nodes_of, reader_hostgroups
from proxyctl.lint.traffic_sessions import Session, login_keys, logins, session_for, sessions
from proxyctl.lint.traffic_twins import ask, fast_key
from proxyctl.routing import Route, Source
from proxyctl.routing.probes import (
    BASIC,
    BEGIN,
    DELETE,
    INSERT,
    PROBES,
    READ,
    UPDATE,
    Kind,
    Probe,
)
from proxyctl.routing.regex.samples import samples
from proxyctl.routing.rule import Rule
from proxyctl.state.row import Key, Secret

_RULES, _FAST, _USERS = "mysql_query_rules", "mysql_query_rules_fast_routing", "mysql_users"
_WRITES = (INSERT, UPDATE, DELETE, BEGIN)


class Culprit(NamedTuple):
    """The row that sends queries somewhere."""

    table: str
    key: Key
    column: str


@dataclass
class Sent:
    """What a row sends to a reader, of one kind.

    Shape: `query` is the first of them, `whats` name them all in the order of the probes.
    """

    hostgroup: int
    session: Session
    query: str
    whats: list[str] = field(default_factory=list)


@dataclass
class Observations:
    """What goes to readers.

    Shape: `sent` by culprit and kind. A row that sends a whole session to a reader, or whatever no
    rule takes, is not in it: that may be meant.
    """

    sent: dict[tuple[Culprit, Kind], Sent] = field(default_factory=dict)
    readers: set[int] = field(default_factory=set)
    whole_sessions: set[Session] = field(default_factory=set)
    doubtful: list[tuple[Culprit, Probe, Route, Session]] = field(default_factory=list)
    """What goes to a reader for want of a rule, of sessions whose other writes do not."""
    begins_elsewhere: bool = False
    """Whether there is a session whose transactions begin on a writer."""

    def note(self, culprit: Culprit, probe: Probe, route: Route, session: Session) -> None:
        """Remember that the probe goes to a reader. Changes: sent."""
        sent = Sent(route.destination_hostgroup or 0, session, probe.query)
        found = self.sent.setdefault((culprit, probe.kind), sent)
        if probe.what not in found.whats:
            found.whats.append(probe.what)


@lru_cache(maxsize=1)
def observations(subject: Subject) -> Observations:
    """Return what goes to readers."""
    found = Observations(readers=set(reader_hostgroups(subject)))
    for session in sessions(subject):
        _observe(subject, session, found)
    for culprit, probe, route, session in found.doubtful:
        # Beside users whose transactions begin on a writer, this one is meant to read. Where there
        # are none, the writes of everybody are split, and somebody forgot these.
        if not found.begins_elsewhere:
            found.note(culprit, probe, route, session)
    if found.readers:
        _observe_rules(subject, found)
    return found


def routes_of(subject: Subject, session: Session) -> dict[Probe, Route]:
    """Return where the basic probes of a session go."""
    return {probe: ask(subject, session, probe.query) for probe in BASIC}


def seeming_readers(subject: Subject, routes: Mapping[Probe, Route]) -> set[int]:
    """Return the hostgroup that rules send reads to, while all writes go to another one."""
    reader = routes[READ].destination_hostgroup
    written = {routes[probe].destination_hostgroup for probe in (INSERT, UPDATE, DELETE)}
    writer = written.pop()
    if written or reader is None or writer is None or reader == writer:
        return set()
    if routes[READ].source not in (Source.RULE, Source.FAST_ROUTING):
        return set()
    nodes = nodes_of(subject)
    if nodes.get(reader) == nodes.get(writer) is not None or writer in reader_hostgroups(subject):
        return set()
    roles = [(row.roles.get("writer_hostgroup")) for row in family_rows(subject)]
    return set() if reader in roles else {reader}


def culprit_of(subject: Subject, route: Route, session: Session) -> Culprit | None:
    """Return the row that decides where a query goes; None where a hint or nothing does."""
    if route.source is Source.RULE:
        return Culprit(_RULES, (route.rule_id,), "destination_hostgroup")
    if route.source is Source.FAST_ROUTING:
        jumped = _jumping(subject).intersection(route.matched_rules)
        if jumped:
            last = next(number for number in reversed(route.matched_rules) if number in jumped)
            return Culprit(_RULES, (last,), "flagOUT")
        key = fast_key(subject, session, route.flagIN)
        return None if key is None else Culprit(_FAST, key, "destination_hostgroup")
    user = login_keys(subject).get(session.username or "")
    if route.source is Source.DEFAULT_HOSTGROUP and user is not None:
        return Culprit(_USERS, user, "default_hostgroup")
    return None


@lru_cache(maxsize=1)
def _jumping(subject: Subject) -> frozenset[int]:
    return frozenset(
        rule.rule_id for rule in subject.rules if rule.flag_out is not None or rule.ways
    )


@lru_cache(maxsize=1)
def _takes_whole_sessions(subject: Subject) -> frozenset[int]:
    """Return the rules that ask who it is, and not for the query."""
    return frozenset(
        rule.rule_id
        for rule in subject.rules
        if rule.is_for_some_sessions
        and rule.match_digest is None is rule.match_pattern
        and rule.digest is None
    )


def _goes_to(route: Route, hostgroups: Set[int]) -> bool:
    return route.destination_hostgroup in hostgroups and not route.is_answered


def _observe(subject: Subject, session: Session, found: Observations) -> None:
    """Try the probes in a session. Changes: found."""
    routes = routes_of(subject, session)
    readers = reader_hostgroups(subject) | seeming_readers(subject, routes)
    found.readers |= readers
    there = [probe for probe in BASIC if _goes_to(routes[probe], readers)]
    if len(there) == len(BASIC):
        found.whole_sessions.add(session)
        return
    elsewhere = {probe for probe in _WRITES if _goes_elsewhere(routes[probe], readers)}
    found.begins_elsewhere |= BEGIN in elsewhere
    for probe in PROBES if there else ():
        route = routes.get(probe) or ask(subject, session, probe.query)
        culprit = culprit_of(subject, route, session) if _goes_to(route, readers) else None
        if culprit is None or probe.kind is Kind.READ:
            continue
        if not _is_meant(subject, culprit):
            found.note(culprit, probe, route, session)
        elif elsewhere - {BEGIN}:
            found.doubtful.append((culprit, probe, route, session))


def _goes_elsewhere(route: Route, readers: Set[int]) -> bool:
    hostgroup = route.destination_hostgroup
    return hostgroup is not None and hostgroup not in readers and not route.is_answered


def _is_meant(subject: Subject, culprit: Culprit) -> bool:
    if culprit.table == _RULES:
        return culprit.key[0] in _takes_whole_sessions(subject)
    return True


def _observe_rules(subject: Subject, found: Observations) -> None:
    """Try each rule that sends to a reader with queries of its own. Changes: found."""
    anybody = next(iter(logins(subject)), None)
    written = {key[0]: cells for key, cells in subject.cells(_RULES) if isinstance(key[0], int)}
    for rule in subject.rules:
        culprit = Culprit(_RULES, (rule.rule_id,), "destination_hostgroup")
        known = {kind for kind in (Kind.LOCK, Kind.WRITE) if (culprit, kind) in found.sent}
        if rule.destination not in found.readers or rule.negated or Kind.LOCK in known:
            continue
        session = session_for(rule, anybody)
        if session in found.whole_sessions:
            continue
        for probe in _probes_for(rule, written.get(rule.rule_id, {})):
            if probe.kind in known:
                continue
            route = ask(subject, session, probe.query)
            if route.rule_id == rule.rule_id and not route.is_answered:
                found.note(culprit, probe, route, session)
                known.add(probe.kind)


def _probes_for(rule: Rule, cells: Mapping[str, object]) -> Iterator[Probe]:
    """Yield queries that the rule seems to be for, made into locking reads and writes."""
    pattern = cells.get("match_digest" if rule.match_digest is not None else "match_pattern")
    if pattern is None or isinstance(pattern, Secret):
        return
    for sample in samples(str(pattern), fill=" c "):
        yield from probes_like(sample.replace("?", "1").strip())
