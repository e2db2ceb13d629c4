"""Try sample queries in every kind of session, to find which rows send them where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from typing import NamedTuple

from proxyctl.lint.finding import Case, Cases, Finding
from proxyctl.lint.subject import LintSubject
from proxyctl.routing.probes import (
    BASIC,
    BEGIN,
    DELETE,
    INSERT,
    READ,
    UPDATE,
    Probe,
    QueryKind,
    read_of,
    writes_to,
)
from proxyctl.routing.reach import Session, session_for
from proxyctl.routing.regex.samples import samples
from proxyctl.routing.result import HostgroupOrigin, Route
from proxyctl.rows.desired import section_in
from proxyctl.rows.row import Key, Secret

_WRITES = (INSERT, UPDATE, DELETE, BEGIN)
_MOST_LISTED = 4


class Culprit(NamedTuple):
    """The row that sends queries somewhere."""

    table: str
    key: Key
    column: str


@dataclass
class Sent:
    """The queries of one kind that a row sends to a reader."""

    hostgroup: int
    """The hostgroup that the first query goes to."""
    session: Session
    """The session of the first query."""
    query: str
    """The first query."""
    probe_names: list[str] = field(default_factory=list)
    """The names of all queries, in the order of the probes."""
    cases: set[Case] = field(default_factory=set)
    """All queries with hostgroup and session."""


@dataclass
class Observations:
    """The queries that go to readers."""

    sent: dict[tuple[Culprit, QueryKind], Sent] = field(default_factory=dict)
    """The queries by culprit and kind. Rows that send whole sessions to a reader, or the queries
    that no rule matches, are left out: that may be intended."""
    readers: set[int] = field(default_factory=set)
    """The hostgroups that are readers, or probably are."""
    whole_sessions: set[Session] = field(default_factory=set)
    """The sessions whose queries all go to readers."""
    doubtful: list[tuple[Culprit, Probe, Route, Session]] = field(default_factory=list)
    """Queries that go to a reader for lack of a rule, in sessions whose other writes do not."""
    begins_elsewhere: bool = False
    """Whether the transactions of some session begin on a writer."""

    def note(self, culprit: Culprit, probe: Probe, route: Route, session: Session) -> Sent:
        """Record that the probe goes to a reader. Changes: sent."""
        first = Sent(route.destination_hostgroup or 0, session, probe.query)
        sent = self.sent.setdefault((culprit, probe.kind), first)
        if probe.name not in sent.probe_names:
            sent.probe_names.append(probe.name)
        sent.cases.add(Case(f"{probe.name} to {route.destination_hostgroup}", session))
        return sent


def sent_to_readers(subject: LintSubject, kind: QueryKind) -> Iterator[tuple[Finding, Sent]]:
    """Yield a finding for rows that send queries of a kind to a reader.

    Rules that send the same queries to the same hostgroup have one cause: they are one finding.
    """
    by_cause: dict[object, tuple[Culprit, Sent, dict[Key, Cases]]] = {}
    for (culprit, sent_kind), sent in subject.once(_observations).sent.items():
        if sent_kind is kind:
            cause: object = culprit
            if culprit.table == subject.dialect.rules:
                first_word = sent.query.split(maxsplit=1)[0].upper()
                cause = (culprit.column, sent.hostgroup, first_word, *sent.probe_names)
            by_cause.setdefault(cause, (culprit, sent, {}))[2][culprit.key] = sent.cases
    for culprit, sent, cases in by_cause.values():
        key, *also = cases
        hostgroup = subject.label(sent.hostgroup)
        query = sent.query.replace("\n", r"\n")
        session = subject.session_words(sent.session)
        message = f"sends `{query}`{session} to {hostgroup}{also_sent(sent.probe_names)}"
        column = culprit.column
        yield Finding(culprit.table, key, message, column, also=tuple(also), cases=cases), sent


def also_sent(probe_names: list[str]) -> str:
    """Return the end of a message that lists all probes but the first: `; also A, B and 2 more`."""
    names = probe_names[1:]
    if not names:
        return ""
    hidden = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    return f"; also {', '.join(names[:_MOST_LISTED])}{hidden}"


def culprit_of(subject: LintSubject, route: Route, session: Session) -> Culprit | None:
    """Return the row that decides where a query goes; None if a hint decides, or nothing."""
    if route.source is HostgroupOrigin.RULE:
        return Culprit(subject.dialect.rules, (route.rule_id,), "destination_hostgroup")
    if route.source is HostgroupOrigin.FAST_ROUTING:
        jumps = subject.once(_jumping_rules).intersection(route.matched_rules)
        if jumps:
            last = next(rule_id for rule_id in reversed(route.matched_rules) if rule_id in jumps)
            return Culprit(subject.dialect.rules, (last,), "flagOUT")
        key = subject.reach.fast_key(session, route.flagIN)
        return (
            None
            if key is None
            else Culprit(subject.dialect.fast_routing, key, "destination_hostgroup")
        )
    user = subject.login_keys.get(session.username or "")
    if route.source is HostgroupOrigin.DEFAULT_HOSTGROUP and user is not None:
        return Culprit(subject.dialect.users, user, "default_hostgroup")
    return None


def _jumping_rules(subject: LintSubject) -> frozenset[int]:
    return frozenset(
        rule.rule_id for rule in subject.rules if rule.flag_out is not None or rule.weighted_flags
    )


# -- the same probes in every session -------------------------------------------------------------


def _observations(subject: LintSubject) -> Observations:
    seen = Observations(readers=set(subject.readers))
    for session in subject.sessions:
        _observe(subject, session, seen)
    # If some users' transactions begin on a writer, the other users are meant to read only. If no
    # user's do, rules split everybody's writes, and the doubtful ones were forgotten.
    if not seen.begins_elsewhere:
        for culprit, probe, route, session in seen.doubtful:
            seen.note(culprit, probe, route, session)
    if seen.readers:
        _observe_rules(subject, seen)
    return seen


def _observe(subject: LintSubject, session: Session, seen: Observations) -> None:
    """Try the probes in a session. Changes: seen."""
    routes = {probe: subject.reach.route(session, probe.query) for probe in BASIC}
    readers = subject.readers | _probable_readers(subject, routes)
    seen.readers |= readers
    read = [probe for probe in BASIC if _routes_to(routes[probe], readers)]
    if len(read) == len(BASIC):
        seen.whole_sessions.add(session)
        return
    written = {probe for probe in _WRITES if _routes_elsewhere(routes[probe], readers)}
    seen.begins_elsewhere |= BEGIN in written
    for probe in subject.dialect.samples.probes if read else ():
        route = routes.get(probe) or subject.reach.route(session, probe.query)
        culprit = culprit_of(subject, route, session) if _routes_to(route, readers) else None
        if culprit is None or probe.kind is QueryKind.READ:
            continue
        if culprit.table == subject.dialect.rules and culprit.key[0] not in subject.once(
            _takes_whole_sessions
        ):
            seen.note(culprit, probe, route, session)
        elif written - {BEGIN}:
            seen.doubtful.append((culprit, probe, route, session))


def _probable_readers(subject: LintSubject, routes: Mapping[Probe, Route]) -> set[int]:
    """Return the hostgroup that rules send reads to, if all writes go to another one."""
    reader = routes[READ].destination_hostgroup
    written = {routes[probe].destination_hostgroup for probe in (INSERT, UPDATE, DELETE)}
    writer = written.pop()
    if written or reader is None or writer is None or reader == writer:
        return set()
    if (
        routes[READ].source not in (HostgroupOrigin.RULE, HostgroupOrigin.FAST_ROUTING)
        or writer in subject.readers
    ):
        return set()
    reader_nodes, writer_nodes = (
        {backend.address for backend in subject.servers.of(hostgroup)}
        for hostgroup in (reader, writer)
    )
    if reader_nodes and reader_nodes == writer_nodes:
        return set()
    roles = [row.roles.get("writer_hostgroup") for row in subject.families]
    return set() if reader in roles or reader in subject.once(_shards) else {reader}


def _shards(subject: LintSubject) -> frozenset[int | None]:
    """Return the hostgroups to which fast routing, or rules of sharding sections, send writes."""
    routes = (
        subject.reach.route(session, probe.query)
        for session in subject.sessions
        for probe in (INSERT, UPDATE, DELETE)
    )
    fast = HostgroupOrigin.FAST_ROUTING
    shards = {route.destination_hostgroup for route in routes if route.source is fast}
    for row in subject.rule_rows:
        if row.rule is None or section_in(row.cells["comment"]) is None:
            continue
        _, pattern = next(row.patterns, ("", ""))
        name = next(iter(samples(pattern, limit=1)), "t").strip().strip("`")
        session = session_for(row.rule, subject.reach.anybody)
        writes = (subject.reach.route(session, query) for query in writes_to(name))
        if any(route.rule_id == row.rule.rule_id for route in writes):
            shards.add(row.rule.destination)
    return frozenset(shards)


def _routes_to(route: Route, hostgroups: Set[int]) -> bool:
    return route.destination_hostgroup in hostgroups and not route.is_answered


def _routes_elsewhere(route: Route, readers: Set[int]) -> bool:
    hostgroup = route.destination_hostgroup
    return hostgroup is not None and hostgroup not in readers and not route.is_answered


def _takes_whole_sessions(subject: LintSubject) -> frozenset[int]:
    """Return the rules with criteria for the session and none for the query."""
    return frozenset(
        rule.rule_id
        for rule in subject.rules
        if rule.is_for_some_sessions
        and rule.match_digest is None is rule.match_pattern
        and rule.digest is None
    )


# -- queries made from a rule's own pattern -------------------------------------------------------


def _observe_rules(subject: LintSubject, seen: Observations) -> None:
    """Try each rule that sends to a reader with queries from its pattern. Changes: seen."""
    from proxyctl.lint.pattern_queries import queries_of  # importing it takes a while

    cells_of = {row.key: row.cells for row in subject.rule_rows}
    for rule in subject.rules:
        culprit = Culprit(subject.dialect.rules, (rule.rule_id,), "destination_hostgroup")
        known = {kind for kind in (QueryKind.LOCK, QueryKind.WRITE) if (culprit, kind) in seen.sent}
        if rule.destination not in seen.readers or rule.negated or QueryKind.LOCK in known:
            continue
        session = session_for(rule, subject.reach.anybody)
        if session in seen.whole_sessions or not subject.is_possible(session):
            continue
        cells = cells_of.get((rule.rule_id,), {})
        pattern = cells.get("match_digest" if rule.match_digest is not None else "match_pattern")
        if pattern is None or isinstance(pattern, Secret):
            continue
        for probe in queries_of(str(pattern), subject.dialect.samples):
            if probe.kind in known:
                continue
            route = subject.reach.route(session, probe.query)
            if route.rule_id == rule.rule_id and not route.is_answered:
                sent = seen.note(culprit, probe, route, session)
                # Any user stands for all, and the query for what the pattern names.
                query = f"{probe.query} to {rule.destination}"
                sent.cases = {Case(query, session._replace(username=rule.username))}
                known.add(probe.kind)


# -- queries for shards ---------------------------------------------------------------------------

_NAMES_OF_A_RULE = 500
_TABLES_WRITTEN = 3
"""How many tables of a rule are tried with a read and with writes; the others only with a read."""


class ShardQuery(NamedTuple):
    """A query for a table or schema of a sharding section, and the hostgroup where it belongs."""

    section: str
    hostgroup: int
    session: Session
    query: str


def queries_of_shards(subject: LintSubject) -> Iterator[ShardQuery]:
    """Yield queries for the tables that rules of sharding sections name, and for schemas.

    One schema stands for all schemas in fast routing that no rule tells apart.
    """
    for row in subject.rule_rows:
        section = subject.section_of(subject.dialect.rules, row.key)
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
        section = subject.section_of(subject.dialect.fast_routing, (username, schemaname, flag))
        kind = (section, username, schemaname if schemaname in schemas else None)
        if section and not flag and kind not in known:
            known.add(kind)
            session = Session(username or subject.reach.anybody, schemaname)
            for query in (READ.query, *writes_to("t")):
                yield ShardQuery(section, hostgroup, session, query)


# -- which rows send to which hostgroup -----------------------------------------------------------


class DestinationColumn(NamedTuple):
    """The rows of a table that name a hostgroup in one column."""

    table: str
    column: str
    hostgroup: int
    keys: list[Key]


def destinations(subject: LintSubject) -> list[DestinationColumn]:
    """Return which rows send to which hostgroup.

    It leaves out rules that answer by themselves, and users whose queries all match rules.
    """
    return subject.once(_make_destinations)


def _make_destinations(subject: LintSubject) -> list[DestinationColumn]:
    keys: dict[tuple[str, str, int], list[Key]] = {}
    rows = (*_of_rules(subject), *_of_fast_routing(subject), *_of_users(subject))
    for table, column, hostgroup, key in rows:
        if isinstance(hostgroup, int):
            keys.setdefault((table, column, hostgroup), []).append(key)
    return [DestinationColumn(*cell, senders) for cell, senders in keys.items()]


_DestinationRow = tuple[str, str, object, Key]


def _of_rules(subject: LintSubject) -> Iterator[_DestinationRow]:
    for rule in subject.rules:
        sets = dict(rule.sets)
        if not {"OK_msg", "error_msg"} & sets.keys():
            key = (rule.rule_id,)
            yield subject.dialect.rules, "destination_hostgroup", rule.destination, key
            yield subject.dialect.rules, "mirror_hostgroup", sets.get("mirror_hostgroup"), key


def _of_fast_routing(subject: LintSubject) -> Iterator[_DestinationRow]:
    table = subject.configuration.tables.get(subject.dialect.fast_routing)
    column = "destination_hostgroup"
    if table is not None:
        position = table.layout.index[column]
        for key, row in table.rows.items():
            yield subject.dialect.fast_routing, column, row[position], key


def _of_users(subject: LintSubject) -> Iterator[_DestinationRow]:
    representatives = subject.reach.classes
    uses_default: dict[str | None, bool] = {}
    for name, user in subject.logins.items():
        tried = representatives[name]
        if tried not in uses_default:
            uses_default[tried] = any(
                subject.reach.route(Session(tried), probe.query).source
                is HostgroupOrigin.DEFAULT_HOSTGROUP
                for probe in (BEGIN, INSERT, READ)
            )
        if uses_default[tried]:
            key = subject.login_keys[name]
            yield subject.dialect.users, "default_hostgroup", user.default_hostgroup, key
