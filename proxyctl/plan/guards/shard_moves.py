"""Guards: tables and schemas that change shard, so that their queries go to other servers. Pure.

proxyctl moves queries, not data, so the data has to move first. The data of a name is where its
writes go. A hostgroup with another number and the same servers is no move.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

from proxyctl.catalog import Layout
from proxyctl.config.sections.sharding import AFTER, BEFORE
from proxyctl.plan.plan import Refusal, ShardMove
from proxyctl.routing import Source
from proxyctl.routing.probes import writes_to
from proxyctl.routing.reach import Reach, Session
from proxyctl.routing.regex.samples import samples
from proxyctl.routing.router import router_of
from proxyctl.routing.servers import HostgroupServers
from proxyctl.routing.sides import Sides
from proxyctl.state.configuration import Configuration
from proxyctl.state.row import Desired, DesiredTable, GuardAction, Row

RULES, FAST_ROUTING = "mysql_query_rules", "mysql_query_rules_fast_routing"


ALLOW = "--allow-shard-moves"


CODE = "shard_moves"


JOINS = "joins"
"""A new name of a section that already places other names."""


SERVERS = "servers"
"""A name that stays in its hostgroup, which gets servers of another hostgroup."""


_ORIGIN = re.compile(r"sharding ([^:;]*)")
"""The start of generated comments: `sharding NAME: tables`, `sharding NAME; comment`."""


_PLAIN_NAME = re.compile(r"[0-9A-Za-z_$]+")


class _Shard(NamedTuple):
    """A name that a sharding section places. `username` or `schemaname` None: any."""

    sharding: str
    by_schema: bool
    name: str
    username: str | None
    schemaname: str | None


def shard_moves(sides: Sides, desired: Mapping[str, DesiredTable]) -> list[ShardMove]:
    """Return the names whose queries would go to other servers.

    `desired`: the managed tables, with the places of their rows. Shape: sorted by section and
    hostgroups; empty if no user could send a query until now.
    """
    coming = _shards_of_files(desired)
    leaving = [
        shard
        for shard in _shards_at_runtime(sides.before)
        if shard.name not in coming.get((shard.sharding, shard.by_schema), {})
    ]
    shards = [shard for group in coming.values() for shard in group.values()] + leaving
    if not shards:
        return []
    running_names: dict[str, set[str]] = {}
    for shard in _shards_at_runtime(sides.before):
        running_names.setdefault(shard.sharding, set()).add(shard.name)
    finder = _MoveFinder(sides)
    leaving_shards = set(leaving)
    moves = [
        move._replace(how=JOINS)
        if move.how == "enters" and move.name not in running_names.get(move.sharding, {move.name})
        else move
        for shard in shards
        for move in finder.moves(shard, is_leaving=shard in leaving_shards)
    ]
    return sorted(set(moves), key=lambda m: (m.sharding, m.current, m.desired, _natural(m.name)))


def refusals(moves: Iterable[ShardMove], desired: Desired, *, allowed: bool) -> Iterator[Refusal]:
    """Yield one refusal, with a line for each pair of hostgroups of a section.

    A name that joins a section is not refused: a new tenant has no data yet.
    """
    refused = [move for move in moves if move.how != JOINS]
    if refused and desired.guards.action(CODE) is GuardAction.REFUSE and not allowed:
        message = f"sharding: queries would go to servers without their data (guards.{CODE})"
        texts = (*move_texts(refused, desired.hostgroup_names),)
        yield Refusal(CODE, message, ALLOW, texts, "move the data first")


def warnings(moves: Sequence[ShardMove], desired: Desired, *, allowed: bool) -> Iterator[str]:
    """Yield the warnings about moves that do not stop an apply."""
    is_shown = allowed or desired.guards.action(CODE) is GuardAction.WARN
    for is_new, advice in ((False, "move the data first"), (True, "move any existing data first")):
        shown = (one for one in moves if (one.how == JOINS) is is_new and (is_new or is_shown))
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
        for number, ((current, desired, how), names_moved) in enumerate(pairs.items()):
            if number == MOST_TEXTS:
                count = sum(len(n) for n in [*pairs.values()][number:])
                yield f"sharding {sharding}: {count} more {kind}s change shard"
                break
            listed = _listed(list(dict.fromkeys(names_moved)), kind)
            yield f"sharding {sharding}: {listed} {_predicate(how, current, desired, names)}"


def _predicate(how: str, current: int, desired: int, names: Mapping[int, str]) -> str:
    """Return the predicate of a move."""
    if how == SERVERS:
        return (
            f"would stay in {_hostgroup(desired, names)}, which gets servers of another hostgroup"
        )
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


# Names in the files and at RUNTIME -------------------------------------------------------------
_ByName = dict[tuple[str, bool], dict[str, _Shard]]


def concerns_shards(
    desired: Mapping[str, DesiredTable], rows: Iterable[tuple[Layout, Row]]
) -> bool:
    """Return whether the files have a `sharding` section, or one of the rows comes from one."""
    return has_sections(desired) or any(section_of(layout, row) is not None for layout, row in rows)


def has_sections(desired: Mapping[str, DesiredTable]) -> bool:
    """Return whether any of these rows comes from a `sharding` section of the files."""
    tables = [desired[name] for name in (RULES, FAST_ROUTING) if name in desired]
    return any(one.startswith("sharding ") for table in tables for one in table.origins)


def _shards_of_files(desired: Mapping[str, DesiredTable]) -> _ByName:
    shards: _ByName = {}
    for name in (RULES, FAST_ROUTING):
        table = desired.get(name)
        if table is None:
            continue
        for key, row in table.rows.items():
            where = table.where.get(key)
            if where is None or not where.origin.startswith("sharding "):
                continue
            sharding = where.origin.removeprefix("sharding ")
            for shard in _shards_of_row(table.layout, row, sharding):
                shards.setdefault((sharding, shard.by_schema), {})[shard.name] = shard
    return shards


def _shards_at_runtime(before: Configuration) -> Iterator[_Shard]:
    for name in (RULES, FAST_ROUTING):
        table = before.tables.get(name)
        if table is None:
            continue
        for row in table.rows.values():
            sharding = section_of(table.layout, row)
            if sharding is not None:
                yield from _shards_of_row(table.layout, row, sharding)


def section_of(layout: Layout, row: Row) -> str | None:
    """Return the `sharding` section that the comment of a row names."""
    if layout.name not in (RULES, FAST_ROUTING):
        return None
    comment = row[layout.index["comment"]]
    match = _ORIGIN.match(comment) if isinstance(comment, str) else None
    return match[1] if match else None


def _shards_of_row(layout: Layout, row: Iterable[object], sharding: str) -> Iterator[_Shard]:
    cells = dict(zip(layout.names, row, strict=True))
    username = str(cells["username"]) if cells["username"] else None
    if layout.name == FAST_ROUTING:
        yield _Shard(sharding, True, str(cells["schemaname"]), username, None)
        return
    schemaname = str(cells["schemaname"]) if cells["schemaname"] else None
    pattern = cells["match_digest"] or cells["match_pattern"]
    for name in names_in(str(pattern)) or ():
        yield _Shard(sharding, False, name, username, schemaname)


# Hostgroups of a name --------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class _MoveFinder:
    """Compares the hostgroups that queries on a name go to, now and afterwards."""

    sides: Sides

    @cached_property
    def _reach(self) -> tuple[Reach, Reach]:
        before, after = self.sides.before, self.sides.after
        engine = "mysql-query_processor_regex"
        first = router_of(before)
        shared = first.patterns if before.variable(engine) == after.variable(engine) else None
        return Reach(first), Reach(router_of(after, patterns=shared))

    @cached_property
    def _servers(self) -> tuple[HostgroupServers, HostgroupServers]:
        return HostgroupServers(self.sides.before), HostgroupServers(self.sides.after)

    @cached_property
    def _users(self) -> list[str]:
        """The users who can log in now and afterwards: one of each kind that rules distinguish."""
        before, after = (reach.classes for reach in self._reach)
        tables = (side.tables.get(FAST_ROUTING) for side in (self.sides.before, self.sides.after))
        routed = {name for table in tables if table for name in table.column("username")}
        alike: dict[object, str] = {}
        for name in before:
            if name is not None and name in after:
                alike.setdefault(name if name in routed else (before[name], after[name]), name)
        return list(alike.values())

    def moves(self, shard: _Shard, *, is_leaving: bool) -> Iterator[ShardMove]:
        """Yield the moves of a name, for each user whose queries go to other servers."""
        before, after = self._reach
        for username in self._users if shard.username is None else [shard.username]:
            if username not in before.classes:
                continue  # the user could send no query until now
            for session, query in _writes(shard, username):
                first = before.route(session, query)
                second = after.route(session, query)
                current, desired = first.destination_hostgroup, second.destination_hostgroup
                if current is None or desired is None:
                    continue
                how = "leaves" if is_leaving else "moves"
                if current == desired:
                    if not self._takes_foreign_servers(current):
                        continue
                    how = SERVERS
                elif not self._is_elsewhere(current, desired):
                    continue
                elif first.source is Source.DEFAULT_HOSTGROUP and not is_leaving:
                    how = "enters"
                kind = "schema" if shard.by_schema else "table"
                yield ShardMove(shard.sharding, kind, shard.name, current, desired, how)
                break

    def _is_elsewhere(self, current: int, desired: int) -> bool:
        """Return whether queries would go to a server without the data.

        A hostgroup without servers holds no data and answers no query.
        """
        before, after = self._servers
        with_data = {backend.node for backend in before.of_family(current)}
        needed = {backend.node for backend in after.of(desired)}
        return bool(with_data and needed and not needed <= with_data)

    @cache  # noqa: B019 - a finder lives as long as its plan is made
    def _takes_foreign_servers(self, hostgroup: int) -> bool:
        """Return whether a hostgroup gets servers of another hostgroup.

        A server that no hostgroup had may be a replacement with the same data. A server of another
        shard is not.
        """
        before, after = self._servers
        with_data = {backend.node for backend in before.of_family(hostgroup)}
        arriving = {backend.node for backend in after.of(hostgroup)} - with_data
        return bool(arriving & before.nodes() and before.of(hostgroup))


def _writes(shard: _Shard, username: str) -> Iterator[tuple[Session, str]]:
    """Yield the writes on a name. A session begins at flagIN 0, whose rules lead to the section."""
    session, name = Session(username, shard.schemaname), shard.name
    if shard.by_schema:
        session, name = Session(username, shard.name), "x"
    elif not _PLAIN_NAME.fullmatch(name):
        name = f"`{name}`"
    yield from ((session, query) for query in writes_to(name))


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
