"""Which rows send queries where, found by trying sample queries in every kind of session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from typing import NamedTuple

from proxyctl.lint.check import RULES, Finding
from proxyctl.lint.pattern_queries import queries_of
from proxyctl.lint.subject import FAST_ROUTING, USERS, Subject
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
    read_of,
    writes_to,
)
from proxyctl.routing.reach import Session, session_for
from proxyctl.routing.regex.samples import samples
from proxyctl.state.row import Key, Secret

_WRITES = (INSERT, UPDATE, DELETE, BEGIN)
_SHOWN = 4


class Culprit(NamedTuple):
    """The row that sends queries somewhere."""

    table: str
    key: Key
    column: str


@dataclass
class Sent:
    """What a row sends to a reader, of one kind.

    Shape: `query` is the first of them, `probe_names` name them all in the order of the probes.
    """

    hostgroup: int
    session: Session
    query: str
    probe_names: list[str] = field(default_factory=list)


@dataclass
class Observations:
    """What goes to readers.

    Shape: `sent` by culprit and kind. A row that sends a whole session to a reader, or whatever no
    rule takes, is not in it: that may be intended.
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
        if probe.name not in found.probe_names:
            found.probe_names.append(probe.name)


def sent_to_readers(subject: Subject, kind: Kind) -> Iterator[tuple[Finding, Sent]]:
    """Yield what rows send queries of a kind to a reader, with the query in the message.

    Rules that send queries of the same kinds there have one cause: they are one finding.
    """
    found: dict[object, tuple[Culprit, Sent, list[Key]]] = {}
    for (culprit, of_kind), sent in subject.once(_observations).sent.items():
        if of_kind is kind:
            alike: object = culprit
            if culprit.table == RULES:
                first_word = sent.query.split(maxsplit=1)[0].upper()
                alike = (culprit.column, sent.hostgroup, first_word, *sent.probe_names)
            found.setdefault(alike, (culprit, sent, []))[2].append(culprit.key)
    for culprit, sent, (key, *also) in found.values():
        hostgroup = subject.called(sent.hostgroup)
        message = (
            f"sends `{shown(sent.query)}`{sent.session} to {hostgroup}{more(sent.probe_names)}"
        )
        yield Finding(culprit.table, key, message, culprit.column, also=tuple(also)), sent


def shown(query: str) -> str:
    """Return a query on one line."""
    return query.replace("\n", r"\n")


def more(probe_names: list[str]) -> str:
    """Return the words for the queries of a list behind the first."""
    others = probe_names[1:]
    if not others:
        return ""
    rest = f" and {len(others) - _SHOWN} more" if len(others) > _SHOWN else ""
    return f"; also {', '.join(others[:_SHOWN])}{rest}"


def culprit_of(subject: Subject, route: Route, session: Session) -> Culprit | None:
    """Return the row that decides where a query goes; None where a hint or nothing does."""
    if route.source is Source.RULE:
        return Culprit(RULES, (route.rule_id,), "destination_hostgroup")
    if route.source is Source.FAST_ROUTING:
        jumped = subject.once(_jumping).intersection(route.matched_rules)
        if jumped:
            last = next(number for number in reversed(route.matched_rules) if number in jumped)
            return Culprit(RULES, (last,), "flagOUT")
        key = subject.reach.fast_key(session, route.flagIN)
        return None if key is None else Culprit(FAST_ROUTING, key, "destination_hostgroup")
    user = subject.login_keys.get(session.username or "")
    if route.source is Source.DEFAULT_HOSTGROUP and user is not None:
        return Culprit(USERS, user, "default_hostgroup")
    return None


def _jumping(subject: Subject) -> frozenset[int]:
    return frozenset(
        rule.rule_id for rule in subject.rules if rule.flag_out is not None or rule.weighted_flags
    )


# -- the probes that everybody sends --------------------------------------------------------------


def _observations(subject: Subject) -> Observations:
    """Return what goes to readers."""
    found = Observations(readers=set(subject.readers))
    for session in subject.sessions:
        _observe(subject, session, found)
    # Beside users whose transactions begin on a writer, the others are meant to read. Where there
    # are none, the writes of everybody are split, and somebody forgot these.
    if not found.begins_elsewhere:
        for culprit, probe, route, session in found.doubtful:
            found.note(culprit, probe, route, session)
    if found.readers:
        _observe_rules(subject, found)
    return found


def _observe(subject: Subject, session: Session, found: Observations) -> None:
    """Try the probes in a session. Changes: found."""
    routes = {probe: subject.reach.route(session, probe.query) for probe in BASIC}
    readers = subject.readers | _seeming_readers(subject, routes)
    found.readers |= readers
    there = [probe for probe in BASIC if _routes_to(routes[probe], readers)]
    if len(there) == len(BASIC):
        found.whole_sessions.add(session)
        return
    elsewhere = {probe for probe in _WRITES if _routes_elsewhere(routes[probe], readers)}
    found.begins_elsewhere |= BEGIN in elsewhere
    for probe in PROBES if there else ():
        if not _is_known_there(probe, subject):
            continue
        route = routes.get(probe) or subject.reach.route(session, probe.query)
        culprit = culprit_of(subject, route, session) if _routes_to(route, readers) else None
        if culprit is None or probe.kind is Kind.READ:
            continue
        if culprit.table == RULES and culprit.key[0] not in subject.once(_takes_whole_sessions):
            found.note(culprit, probe, route, session)
        elif elsewhere - {BEGIN}:
            found.doubtful.append((culprit, probe, route, session))


def _seeming_readers(subject: Subject, routes: Mapping[Probe, Route]) -> set[int]:
    """Return the hostgroup that rules send reads to, while all writes go to another one."""
    reader = routes[READ].destination_hostgroup
    written = {routes[probe].destination_hostgroup for probe in (INSERT, UPDATE, DELETE)}
    writer = written.pop()
    if written or reader is None or writer is None or reader == writer:
        return set()
    if routes[READ].source not in (Source.RULE, Source.FAST_ROUTING) or writer in subject.readers:
        return set()
    nodes = {one: {it.node for it in subject.servers.of(one)} for one in (reader, writer)}
    if nodes[reader] and nodes[reader] == nodes[writer]:
        return set()
    roles = [row.roles.get("writer_hostgroup") for row in subject.families]
    return set() if reader in roles else {reader}


def _routes_to(route: Route, hostgroups: Set[int]) -> bool:
    return route.destination_hostgroup in hostgroups and not route.is_answered


def _routes_elsewhere(route: Route, readers: Set[int]) -> bool:
    hostgroup = route.destination_hostgroup
    return hostgroup is not None and hostgroup not in readers and not route.is_answered


def _is_known_there(probe: Probe, subject: Subject) -> bool:
    """Return whether the servers know such a query: LOCK IN SHARE MODE is MySQL's alone."""
    return not subject.configuration.is_pgsql or "in share mode" not in probe.query.lower()


def _takes_whole_sessions(subject: Subject) -> frozenset[int]:
    """Return the rules that ask who it is, and not for the query."""
    return frozenset(
        rule.rule_id
        for rule in subject.rules
        if rule.is_for_some_sessions
        and rule.match_digest is None is rule.match_pattern
        and rule.digest is None
    )


# -- queries made of a rule's own pattern ---------------------------------------------------------


def _observe_rules(subject: Subject, found: Observations) -> None:
    """Try each rule that sends to a reader with queries of its own. Changes: found."""
    cells_of = {row.key: row.cells for row in subject.rule_rows}
    for rule in subject.rules:
        culprit = Culprit(RULES, (rule.rule_id,), "destination_hostgroup")
        known = {kind for kind in (Kind.LOCK, Kind.WRITE) if (culprit, kind) in found.sent}
        if rule.destination not in found.readers or rule.negated or Kind.LOCK in known:
            continue
        session = session_for(rule, subject.reach.anybody)
        if session in found.whole_sessions or not subject.may_be(session):
            continue
        cells = cells_of.get((rule.rule_id,), {})
        pattern = cells.get("match_digest" if rule.match_digest is not None else "match_pattern")
        if pattern is None or isinstance(pattern, Secret):
            continue
        for probe in queries_of(str(pattern)):
            if probe.kind in known or not _is_known_there(probe, subject):
                continue
            route = subject.reach.route(session, probe.query)
            if route.rule_id == rule.rule_id and not route.is_answered:
                found.note(culprit, probe, route, session)
                known.add(probe.kind)


# -- queries for shards ---------------------------------------------------------------------------

_NAMES_OF_A_RULE = 500
_TABLES_WRITTEN = 3
"""So many tables of a rule are tried with writes as well, the others with a read."""


class ShardQuery(NamedTuple):
    """A query, the section that it is meant for, and the hostgroup where it should go."""

    section: str
    hostgroup: int
    session: Session
    query: str


def queries_of_shards(subject: Subject) -> Iterator[ShardQuery]:
    """Yield queries for the tables that the rules of sharding sections name, and for schemas.

    Of schemas that fast routing sends on and no rule tells apart there is one.
    """
    for row in subject.rule_rows:
        section = subject.section_of(RULES, row.key)
        if not section or row.rule is None or row.rule.destination is None:
            continue
        _, pattern = next(row.patterns, ("", ""))
        names = (name.strip().strip("`") for name in samples(pattern, limit=_NAMES_OF_A_RULE))
        session = session_for(row.rule, subject.reach.anybody)
        for position, name in enumerate(dict.fromkeys(names)):
            for query in (read_of(name), *(writes_to(name) if position < _TABLES_WRITTEN else ())):
                yield ShardQuery(section, row.rule.destination, session, query)
    schemas = {rule.schemaname for rule in subject.rules}
    known = set()
    for (username, schemaname, flag), hostgroup in subject.router.fast_routing.items():
        section = subject.section_of(FAST_ROUTING, (username, schemaname, flag))
        kind = (section, username, schemaname if schemaname in schemas else None)
        if section and not flag and kind not in known:
            known.add(kind)
            session = Session(username or subject.reach.anybody, schemaname)
            for query in (READ.query, *writes_to("t")):
                yield ShardQuery(section, hostgroup, session, query)


# -- who sends to which hostgroup -----------------------------------------------------------------


class Destination(NamedTuple):
    """The rows of a table that name a hostgroup in one column."""

    table: str
    column: str
    hostgroup: int
    keys: list[Key]


def destinations(subject: Subject) -> list[Destination]:
    """Return who sends where.

    Not in it are rules that answer by themselves, and users whose every query a rule takes.
    """
    return subject.once(_make_destinations)


def _make_destinations(subject: Subject) -> list[Destination]:
    found: dict[tuple[str, str, int], list[Key]] = {}
    rows = (*_of_rules(subject), *_of_fast_routing(subject), *_of_users(subject))
    for table, column, hostgroup, key in rows:
        if isinstance(hostgroup, int):
            found.setdefault((table, column, hostgroup), []).append(key)
    return [Destination(*which, keys) for which, keys in found.items()]


_Row = tuple[str, str, object, Key]


def _of_rules(subject: Subject) -> Iterator[_Row]:
    for rule in subject.rules:
        sets = dict(rule.sets)
        if not {"OK_msg", "error_msg"} & sets.keys():
            key = (rule.rule_id,)
            yield RULES, "destination_hostgroup", rule.destination, key
            yield RULES, "mirror_hostgroup", sets.get("mirror_hostgroup"), key


def _of_fast_routing(subject: Subject) -> Iterator[_Row]:
    table = subject.configuration.tables.get(FAST_ROUTING)
    column = "destination_hostgroup"
    if table is not None:
        position = table.layout.index[column]
        for key, row in table.rows.items():
            yield FAST_ROUTING, column, row[position], key


def _of_users(subject: Subject) -> Iterator[_Row]:
    stands_for = subject.reach.classes
    uses_default: dict[str | None, bool] = {}
    for name, user in subject.logins.items():
        one = stands_for[name]
        if one not in uses_default:
            uses_default[one] = any(
                subject.reach.route(Session(one), probe.query).source is Source.DEFAULT_HOSTGROUP
                for probe in (BEGIN, INSERT, READ)
            )
        if uses_default[one]:
            key = subject.login_keys[name]
            yield USERS, "default_hostgroup", user.default_hostgroup, key
