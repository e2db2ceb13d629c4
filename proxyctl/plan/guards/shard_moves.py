"""Guards: tables and schemas that change shard, so that their queries go to other servers. Pure.

proxyctl moves queries, not data, so the data has to move first. The data of a name is where its
writes go. A hostgroup with another number and the same servers is no move. Every table of a
sharding section and every schema of fast routing on the instance counts, whoever owns its rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from operator import itemgetter
from typing import NamedTuple

from proxyctl.catalog import Layout
from proxyctl.config.sections.sharding import AFTER, BEFORE
from proxyctl.plan.plan import Refusal, ShardMove
from proxyctl.proxysql.configuration import BeforeAfter, ConfigTable, Configuration
from proxyctl.routing.probes import read_of, writes_to
from proxyctl.routing.reach import Reach, Session
from proxyctl.routing.regex.samples import samples
from proxyctl.routing.result import HostgroupOrigin
from proxyctl.routing.router import SERVING_TABLES, router_of
from proxyctl.routing.servers import HostgroupServers
from proxyctl.routing.tables import FastRouting, RoutingVariables
from proxyctl.rows.desired import Desired, GuardAction, section_in
from proxyctl.rows.row import Row

RULES, FAST_ROUTING = "mysql_query_rules", "mysql_query_rules_fast_routing"


ALLOW = "--allow-shard-moves"


CODE = "shard_moves"


JOINS = "joins"
"""A new name beside others that its section, or fast routing, already places."""


SERVERS = "servers"
"""A name that stays in its hostgroup, which gets servers of another hostgroup."""


READS = "reads"
"""A name whose reads go to servers of other shards. Its writes stay."""


_PLAIN_NAME = re.compile(r"[0-9A-Za-z_$]+")


class _Shard(NamedTuple):
    """A table or schema with a shard of its own."""

    sharding: str
    """The section; '' for a row of fast routing that no section made."""
    by_schema: bool
    """Whether the name is a schema, not a table."""
    name: str
    """The name of the table or schema."""
    username: str | None
    """The user of the row or rule; None: any."""
    schemaname: str | None = None
    """The schema that the rule is limited to; None: any."""

    @property
    def shown(self) -> str:
        """The name as messages show it: a row of fast routing also has its user."""
        is_row_of_user = self.username is not None and not self.sharding
        return f"{self.username}@{self.name}" if is_row_of_user else self.name


def shard_moves(change: BeforeAfter) -> list[ShardMove]:
    """Return the names whose queries would go to other servers.

    Shape: sorted by section and hostgroups; empty if no user could send a query until now.
    """
    before = change.before
    has_traffic = before.rows("mysql_users") and before.rows("mysql_servers")
    if not (has_traffic and _routing_differs(change)):
        return []
    finder = _MoveFinder(change)
    moves = finder.without_replicas([*_of_rules(finder), *_of_fast_routing(finder)])
    return sorted(moves, key=lambda m: (m.sharding, m.current, m.desired, _natural(m.name)))


def _routing_differs(change: BeforeAfter) -> bool:
    """Return whether anything differs that decides where queries go.

    A large table is compared in a moment; routing a query for each of its names takes seconds.
    """
    before, after = change.before, change.after
    if any(_differ(before.tables.get(name), after.tables.get(name)) for name in SERVING_TABLES):
        return True
    first, second = (
        RoutingVariables.from_values(side.all_variables(), side.version) for side in (before, after)
    )
    return first != second


def _differ(one: ConfigTable | None, other: ConfigTable | None) -> bool:
    """Return whether two tables differ in a column that decides where queries go."""
    if one is None or other is None or one.rows is other.rows:
        return False
    if one.layout != other.layout or one.rows.keys() != other.rows.keys():
        return True
    routing = itemgetter(
        *(place for place, name in enumerate(one.layout.names) if name not in _NOT_ROUTING)
    )
    changed = ((row, now) for key, row in one.rows.items() if (now := other.rows[key]) is not row)
    return any(routing(row) != routing(now) for row, now in changed)


_NOT_ROUTING = frozenset(
    {
        *("comment", "timeout", "retries", "delay", "log", "reconnect", "multiplex", "sticky_conn"),
        *("cache_ttl", "cache_empty_result", "cache_timeout"),
        *("password", "max_connections", "compression", "use_ssl", "max_latency_ms"),
    }
)
"""Columns that do not decide where queries go, in no table that does."""


def refusals(moves: Iterable[ShardMove], desired: Desired, *, allowed: bool) -> Iterator[Refusal]:
    """Yield one refusal, with a line for each pair of hostgroups of a section.

    A name that joins a section is not refused: a new tenant has no data yet.
    """
    refused = [move for move in moves if move.how != JOINS]
    if refused and desired.guards.action(CODE) is GuardAction.REFUSE and not allowed:
        message = f"sharding: queries would go to servers without their data (guards.{CODE})"
        texts = (*move_texts(refused, desired.hostgroup_names),)
        fix = "correct the rules, or move the data first"
        yield Refusal(CODE, message, ALLOW, texts, fix=fix)


def warnings(moves: Sequence[ShardMove], desired: Desired, *, allowed: bool) -> Iterator[str]:
    """Yield the warnings about moves that do not stop an apply."""
    is_shown = allowed or desired.guards.action(CODE) is GuardAction.WARN
    for is_new, advice in ((False, "move the data first"), (True, "move any existing data first")):
        shown = (move for move in moves if (move.how == JOINS) is is_new and (is_new or is_shown))
        for text in move_texts(shown, desired.hostgroup_names):
            yield f"{text}; {advice}"


MOST_TEXTS = 12
"""The most texts for a section; further names are counted."""


def move_texts(moves: Iterable[ShardMove], names: Mapping[int, str]) -> Iterator[str]:
    """Yield a text for each section and pair of hostgroups."""
    groups: dict[tuple[str, str], dict[tuple[int, int, str], list[str]]] = {}
    for move in moves:
        by_pair = groups.setdefault((move.sharding, move.kind), {})
        by_pair.setdefault((move.current, move.desired, move.how), []).append(move.name)
    for (sharding, kind), pairs in groups.items():
        label = f"sharding {sharding}" if sharding else "fast routing"
        for number, ((current, desired, how), names_moved) in enumerate(pairs.items()):
            if number == MOST_TEXTS:
                count = sum(len(n) for n in [*pairs.values()][number:])
                yield f"{label}: {count} more {kind}s change shard"
                break
            listed = _listed(list(dict.fromkeys(names_moved)), kind)
            yield f"{label}: {listed} {_predicate(how, current, desired, names)}"


def _predicate(how: str, current: int, desired: int, names: Mapping[int, str]) -> str:
    """Return the predicate of a move."""
    if how == SERVERS:
        return (
            f"would stay in {_hostgroup(desired, names)}, which gets servers of another hostgroup"
        )
    if how == READS:
        return f"would be read from {_hostgroup(desired, names)}, together with other shards"
    verb = {
        "moves": "would go from",
        "enters": "would enter the sharding and go from",
        JOINS: "would join the others and go from",
        "leaves": "would leave the sharding and go from",
    }[how]
    return f"{verb} {_hostgroup(current, names)} to {_hostgroup(desired, names)}"


def _listed(names: list[str], kind: str) -> str:
    if len(names) == 1:
        return f"{kind} {names[0]}"
    if len(names) <= 3:
        return f"{kind}s {', '.join(names)}"
    return f"{len(names)} {kind}s ({names[0]}, {names[1]} ... {names[-1]})"


def _hostgroup(hostgroup: int, names: Mapping[int, str]) -> str:
    name = names.get(hostgroup)
    return f"{hostgroup} ({name})" if name else str(hostgroup)


def _natural(name: str) -> tuple[tuple[int, str], ...]:
    """Return a sort key that puts t2 before t10."""
    return tuple((int(d or 0), t) for d, t in re.findall(r"([0-9]*)([^0-9]*)", name))


# Names in rules and in fast routing -------------------------------------------------------------


def _of_rules(finder: _MoveFinder) -> Iterator[_Move]:
    """Yield the moves of tables that rules of sharding sections place."""
    running, coming = (
        {(shard.sharding, shard.name): shard for shard in _tables_of(side)}
        for side in (finder.change.before, finder.change.after)
    )
    sections = {sharding for sharding, _ in running}
    for key, shard in {**running, **coming}.items():
        is_new = key not in running and shard.sharding in sections
        yield from finder.moves(shard, is_leaving=key not in coming, joins=is_new)


def _tables_of(side: Configuration) -> Iterator[_Shard]:
    """Yield the tables that rules of sharding sections name."""
    rules = side.tables.get(RULES)
    for row in rules.rows.values() if rules else ():
        sharding = shard_section_of(rules.layout, row) if rules else None
        if rules is None or sharding is None:
            continue
        cells = dict(zip(rules.layout.names, row, strict=True))
        username, schemaname = (
            str(cells[name]) if cells[name] else None for name in ("username", "schemaname")
        )
        for name in names_in(str(cells["match_digest"] or cells["match_pattern"])) or ():
            yield _Shard(sharding, False, name, username, schemaname)


def shard_section_of(layout: Layout, row: Row) -> str | None:
    """Return the `sharding` section that the comment of a row names."""
    if layout.name not in (RULES, FAST_ROUTING):
        return None
    return section_in(row[layout.index["comment"]])


_Name = tuple[str, str]
"""username and schemaname of fast routing; username '': any user."""


def _of_fast_routing(finder: _MoveFinder) -> Iterator[_Move]:
    """Yield the moves of schemas. One schema is tried for all that nothing tells apart."""
    before, after = finder.change.before, finder.change.after
    fast, fast_after = finder.fast_routing
    running = _routes(fast)
    coming = running if fast is fast_after else _routes(fast_after)
    sections = {**_sections(before), **_sections(after)}
    started = {sections.get(name, "") for name in running}
    groups: dict[object, list[_Name]] = {}
    for name in {**running, **coming}:
        kind = finder.kind(name)
        if kind is not None:
            group = kind, running.get(name), coming.get(name), sections.get(name, "")
            groups.setdefault(group, []).append(name)
    for names in groups.values():
        shards = (_Shard(sections.get(name, ""), True, name[1], name[0] or None) for name in names)
        first = next(shards)
        is_new = names[0] not in running and first.sharding in started
        found = [*finder.moves(first, is_leaving=names[0] not in coming, joins=is_new)]
        yield from found
        if found:
            for shard in shards:
                yield from (move.of(shard) for move in found)


def _routes(fast: FastRouting) -> dict[_Name, object]:
    """Return fast routing by name: flagIN and hostgroup of each row of a name."""
    routes: dict[_Name, object] = {}
    for (username, schemaname, flag), hostgroup in fast.items():
        name = username, schemaname
        routes[name] = (routes.get(name), flag, hostgroup)
    return routes


def _sections(side: Configuration) -> dict[_Name, str]:
    """Return the sections that made rows of fast routing, by name."""
    table = side.tables.get(FAST_ROUTING)
    if table is None:
        return {}
    username, schemaname = (table.layout.index[name] for name in ("username", "schemaname"))
    return {
        (str(row[username]), str(row[schemaname])): section
        for row in table.rows.values()
        if (section := shard_section_of(table.layout, row)) is not None
    }


# Hostgroups of a name ---------------------------------------------------------------------------


class _Move(NamedTuple):
    """A move, and the hostgroup that has the data."""

    move: ShardMove
    data: int

    def of(self, shard: _Shard) -> _Move:
        """Return the same move of another name."""
        return self._replace(move=self.move._replace(name=shard.shown))


class _MoveFinder:
    """Compares the hostgroups that queries on a name go to, now and afterwards."""

    def __init__(self, change: BeforeAfter) -> None:
        self.change = change
        before, after = change.before, change.after
        engine = "mysql-query_processor_regex"
        first = router_of(before)
        shared = first.patterns if before.variable(engine) == after.variable(engine) else None
        is_same = not _differ(before.tables.get(FAST_ROUTING), after.tables.get(FAST_ROUTING))
        fast_routing = first.fast_routing if is_same else None
        second = router_of(after, patterns=shared, fast_routing=fast_routing)
        self.fast_routing = first.fast_routing, second.fast_routing
        self._reach = Reach(first), Reach(second)
        self._servers = HostgroupServers(before), HostgroupServers(after)
        self._schemas = {rule.schemaname for router in (first, second) for rule in router.rules}
        self._routed = {*first.fast_routing, *second.fast_routing}
        self._data: set[int] = set()
        """The hostgroups that have the data of any name."""
        self._users: dict[object, list[str]] = {}
        """The users who can log in now and afterwards, by what tells them apart."""
        for name in self._reach[0].classes:
            kind = self._class(name)
            if name is not None and kind is not None:
                self._users.setdefault(kind, []).append(name)

    def _class(self, username: str | None) -> object:
        """Return the same for users whom nothing tells apart; None for a user of one side only."""
        before, after = (reach.classes for reach in self._reach)
        if username not in before or username not in after:
            return None
        return before[username], after[username]

    def kind(self, name: _Name) -> object:
        """Return the same for rows of fast routing that nothing but their routes tells apart.

        None: nobody could send a query until now.
        """
        username, schemaname = name
        kind = self._class(username) if username else ""
        return None if kind is None else (kind, schemaname if schemaname in self._schemas else None)

    def _users_of(self, shard: _Shard) -> Iterator[str]:
        """Yield the users to try: the shard's, or one of each kind, rather without an own row."""
        if shard.username is not None:
            if self._class(shard.username) is not None:
                yield shard.username
            return
        for names in self._users.values():
            yield next(
                (name for name in names if (name, shard.name, 0) not in self._routed), names[0]
            )

    def moves(self, shard: _Shard, *, is_leaving: bool, joins: bool) -> Iterator[_Move]:
        """Yield the moves of a name, for each user whose queries go to other servers.

        `is_leaving`: nothing places the name afterwards. `joins`: nothing places it now.
        """
        found: dict[ShardMove, _Move] = {}
        for username in self._users_of(shard):
            move = self._move_of_user(shard, username, is_leaving=is_leaving, joins=joins)
            if move is not None:
                found.setdefault(move.move, move)
        yield from found.values()

    def _move_of_user(
        self, shard: _Shard, username: str, *, is_leaving: bool, joins: bool
    ) -> _Move | None:
        before, after = self._reach
        kind, data = "schema" if shard.by_schema else "table", None
        session, *queries = _queries(shard, username)
        for query in queries:
            first, second = before.route(session, query), after.route(session, query)
            current, desired = first.destination_hostgroup, second.destination_hostgroup
            if current is None or desired is None:
                continue
            how = "leaves" if is_leaving else "moves"
            if query is queries[-1]:
                if data is None or not self._had_data(current, data):
                    continue
                how = READS
            else:
                data = current
                self._data.add(current)
            if current == desired:
                if how is READS or not self._takes_foreign_servers(current):
                    continue
                how = SERVERS
            elif not self._is_elsewhere(data, desired):
                continue
            elif how == "moves" and first.source is HostgroupOrigin.DEFAULT_HOSTGROUP:
                how = JOINS if joins else "enters"
            move = ShardMove(shard.sharding, kind, shard.shown, current, desired, how)
            return _Move(move, data)
        return None

    def _had_data(self, hostgroup: int, data: int) -> bool:
        """Return whether the servers of a hostgroup have the data of hostgroup `data` now."""
        servers = self._servers[0]
        with_data = {backend.address for backend in servers.of_family(data)}
        return {backend.address for backend in servers.of(hostgroup)} <= with_data

    def _is_elsewhere(self, current: int, desired: int) -> bool:
        """Return whether queries would go to a server without the data.

        A hostgroup without servers holds no data and answers no query.
        """
        before, after = self._servers
        with_data = {backend.address for backend in before.of_family(current)}
        needed = {backend.address for backend in after.of(desired)}
        return bool(with_data and needed and not needed <= with_data)

    @cache  # noqa: B019 - a finder lives as long as its plan is made
    def _takes_foreign_servers(self, hostgroup: int) -> bool:
        """Return whether a hostgroup gets servers of another hostgroup.

        A server that no hostgroup had may be a replacement with the same data. A server of another
        shard is not.
        """
        before, after = self._servers
        with_data = {backend.address for backend in before.of_family(hostgroup)}
        arriving = {backend.address for backend in after.of(hostgroup)} - with_data
        return bool(arriving & before.nodes() and before.of(hostgroup))

    def without_replicas(self, moves: Sequence[_Move]) -> set[ShardMove]:
        """Return the moves without reads that may go to a replica of their own shard.

        Nothing tells which server replicates which. But no server is the replica of two shards, and
        a server that takes the writes of another shard is no replica.
        """
        shards: dict[int, set[int]] = {}
        for move, data in moves:
            if move.how == READS:
                shards.setdefault(move.desired, set()).add(data)
        return {
            move
            for move, _ in moves
            if move.how != READS or move.desired in self._data or len(shards[move.desired]) > 1
        }


def _queries(shard: _Shard, username: str) -> tuple[Session, str, str, str, str]:
    """Return a session, and the writes and last a read of a name.

    A session begins at flagIN 0, whose rules lead to the section.
    """
    session, name = Session(username, shard.schemaname), shard.name
    if shard.by_schema:
        session, name = Session(username, shard.name), "x"
    elif not _PLAIN_NAME.fullmatch(name):
        name = f"`{name}`"
    insert, update, delete = writes_to(name)
    return session, insert, update, delete, read_of(name)


# Names of a pattern -----------------------------------------------------------------------------
MAX_NAMES = 1_000_000

_OURS = re.compile(r"(?:\\[^0-9A-Za-z]|\[[0-9A-Za-z_-]+\]|\((?!\?)|[)|?]|[^\\\[\](){}|?*+.^$])*")


def names_in(pattern: str) -> list[str] | None:
    """Return the sorted names that a generated rule matches; None if proxyctl did not generate it.

    An earlier `sharding` section leaves nothing but rules at RUNTIME. Their patterns consist of
    literal characters, classes, groups of alternatives, and `?` after one of these.
    """
    if not (pattern.startswith(BEFORE) and pattern.endswith(AFTER)):
        return None
    alternatives = pattern[len(BEFORE) : -len(AFTER)]
    if not _OURS.fullmatch(alternatives):
        return None
    names = samples(alternatives, limit=MAX_NAMES + 1)
    return sorted(names) if 0 < len(names) <= MAX_NAMES and "" not in names else None
