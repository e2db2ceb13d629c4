"""Reads on a writer that a reader could answer: apparently outside of transactions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from proxyctl.catalog import Value
from proxyctl.errors import counted
from proxyctl.routing.servers import (
    HostgroupServers,
    NamedRole,
    Node,
    family_text,
    role_in_name,
)
from proxyctl.state.configuration import Configuration
from proxyctl.stats.model import SeenDigest
from proxyctl.stats.replay.comparison import Kind as Change
from proxyctl.stats.replay.comparison import Outcome, Verdict
from proxyctl.stats.suggest.context import Cells, Context, Kind, Suggestion
from proxyctl.stats.suggest.texts import not_for_a_reader

LEAST_CALLS = 100
"""So many calls on the writer are worth a rule."""
_FAST = "mysql_query_rules_fast_routing"
_UP = ("ONLINE", "SHUNNED", "SHUNNED_REPLICATION_LAG")


@dataclass(frozen=True)
class Readers:
    """The reader of each writer. Shape: `known_by` says how it is known, by writer.

    `knows_servers` False: other servers than those of the configuration may be there.
    """

    of_writer: dict[int, int]
    known_by: dict[int, str]
    servers: HostgroupServers
    knows_servers: bool

    def nodes(self, hostgroup: int) -> set[Node]:
        """Return the servers of a hostgroup that are up."""
        return {one.node for one in self.servers.of(hostgroup) if one.status in _UP}

    def is_served(self, reader: int) -> bool:
        """Return whether the reader has a server, or the monitor of a family may give it one."""
        backends = self.servers.destination(reader, is_placed=False).backends
        return not self.knows_servers or any(one.status in _UP for one in backends)


def find_readers(configuration: Configuration) -> Readers:
    """Return which hostgroup could answer the reads of which writer."""
    servers = HostgroupServers(configuration)
    held = configuration.tables.get("mysql_servers")
    found = Readers({}, {}, servers, held is not None and held.is_whole)
    members: set[Value] = set()
    for family in servers.families:
        members |= family.hostgroups
        if isinstance(family.writer, int) and isinstance(family.reader, int):
            found.of_writer[family.writer] = family.reader
            found.known_by[family.writer] = f" in the {family_text(family)}"
    names = {n: text for n, text in configuration.hostgroup_names.items() if n not in members}
    roles = {role_in_name(text): n for n, text in names.items()}
    for (role, rest), writer in roles.items():
        reader = roles.get((NamedRole.READER, rest))
        if role is NamedRole.WRITER and reader is not None:
            found.of_writer[writer] = reader
            found.known_by[writer] = ", by name"
    return found


@dataclass
class _Reads:
    """One digest on one writer."""

    digest: str
    text: str
    writer: int
    rows: list[SeenDigest] = field(default_factory=list)
    calls: int = 0
    sum_time: int = 0


def find_reads(context: Context, readers: Readers) -> Iterator[Suggestion]:
    """Yield the reads, each with a rule where one moves it and nothing else."""
    if not readers.of_writer:
        context.note(
            "reads: no reader hostgroup is known. Define a hostgroup family, or name hostgroups in"
            " the files writer and reader."
        )
        return
    for reader in sorted(set(readers.of_writer.values())):
        if not readers.is_served(reader):
            context.note(f"reads: {context.called(reader)} has no server that is up")
    found = [one for one in _candidates(context, readers) if one.calls >= LEAST_CALLS]
    found.sort(key=lambda one: (-one.sum_time, one.digest))
    for reads in context.listed(Kind.READS, found):
        rule = _rule(context, reads, readers.of_writer[reads.writer])
        yield _suggestion(context, readers, reads, rule)


def _candidates(context: Context, readers: Readers) -> list[_Reads]:
    """Return reads that the rules send to a writer."""
    found: dict[tuple[str, int], _Reads] = {}
    loose = context.loose_users()
    for seen in context.statistics.followed:
        reader = readers.of_writer.get(seen.hostgroup)
        if reader is None or not readers.is_served(reader) or seen.username in loose:
            continue
        # Whether there are enough calls is cheap to see, and true of few digests.
        calls = context.statistics.queries[seen.digest].hostgroups.get(seen.hostgroup, 0)
        if calls < LEAST_CALLS:
            continue
        if not_for_a_reader(seen.digest_text) is not None or context.is_vague(seen):
            continue
        if context.statistics.asks_temporary_table(seen.digest_text):
            continue
        # Where the rules say another hostgroup it was a transaction, or something like it.
        if _hostgroups(context.outcomes(seen)) != {seen.hostgroup}:
            continue
        key = (seen.digest, seen.hostgroup)
        reads = found.setdefault(key, _Reads(seen.digest, seen.digest_text, seen.hostgroup))
        reads.rows.append(seen)
        reads.calls += seen.count_star
        reads.sum_time += seen.sum_time
    return list(found.values())


def _suggestion(
    context: Context, readers: Readers, reads: _Reads, rule: Cells | None
) -> Suggestion:
    reader = readers.of_writer[reads.writer]
    users = sorted({seen.username for seen in reads.rows})
    transactions = sum(context.statistics.begun.get(user, 0) for user in users)
    says = [
        f"{counted(reads.calls, 'query')} went to {context.called(reads.writer)}.",
        f"{context.called(reader).capitalize()} is the reader of {context.called(reads.writer)}"
        f"{readers.known_by[reads.writer]}.",
        f"The same users began {counted(transactions, 'transaction')} in these statistics."
        if transactions
        else "The same users began no transaction in these statistics.",
    ]
    nodes = readers.nodes(reader)
    if nodes and not nodes - readers.nodes(reads.writer):
        says.append("All servers of the reader are writers as well, so this relieves no server.")
    query = context.statistics.queries[reads.digest]
    return Suggestion(
        Kind.READS,
        f"a read on {context.called(reads.writer)} could go to {context.called(reader)}",
        {
            "writer_hostgroup": reads.writer,
            "reader_hostgroup": reader,
            "calls": reads.calls,
            "sum_time_us": reads.sum_time,
            "share": context.share(reads.sum_time),
            "calls_elsewhere": query.calls - reads.calls,
            "transactions_begun": transactions,
        },
        tuple(says),
        reads.digest,
        reads.text,
        () if rule is None else (rule,),
        proof="" if rule else "No rule moves only this digest.",
    )


def _rule(context: Context, reads: _Reads, reader: int) -> Cells | None:
    """Return a rule that moves these reads, and no other query of the digest. Changes: rule_ids."""

    def is_right(verdict: Verdict) -> bool:
        if _hostgroups(verdict.before) != {reads.writer}:
            return not verdict.is_changed and not verdict.is_open
        # Where a rule may answer it by its text, it does so before and after.
        is_sure = bool(verdict.certain) or any(one.answer for one in verdict.before)
        kinds = verdict.certain | verdict.possible
        return is_sure and kinds == {Change.HOSTGROUP} and _hostgroups(verdict.after) == {reader}

    found = context.placed_rule(
        context.statistics.by_digest[reads.digest],
        [(cells, _places(context, reads)) for cells in _criteria(reads, reader)],
        is_right,
    )
    if found is not None:
        rule_id = int(found["rule_id"] or 0)
        first = context.read_rules.get(reads.digest, rule_id)
        context.read_rules[reads.digest] = min(rule_id, first)
    return found


def _hostgroups(outcomes: Iterable[Outcome]) -> set[int | None]:
    """Return the hostgroups where a query may go, if no rule answers it."""
    return {one.hostgroup for one in outcomes if one.answer is None}


def _criteria(reads: _Reads, reader: int) -> Iterator[Cells]:
    """Yield rules, the widest first: the same digest may run elsewhere, too."""
    route_cells: Cells = {
        "destination_hostgroup": reader,
        "apply": 1,
        "comment": "digest suggest: read",
    }
    yield {"digest": reads.digest, **route_cells}
    users = {seen.username for seen in reads.rows}
    schemas = {seen.schemaname for seen in reads.rows}
    narrow: dict[str, str] = {}
    if len(schemas) == 1 and "" not in schemas:
        narrow["schemaname"] = next(iter(schemas))
        yield {"digest": reads.digest, **narrow, **route_cells}
    if len(users) == 1:
        narrow["username"] = next(iter(users))
        yield {"digest": reads.digest, **narrow, **route_cells}


def _places(context: Context, reads: _Reads) -> list[int | None]:
    """Return where a rule may stand: right before the rule that decides now, else behind all."""
    ids = context.rule_ids
    if deciding := context.deciding_rules(reads.rows):
        return [ids.before(min(deciding))]
    if any(True for _ in context.configuration.rows(_FAST)):
        # A last rule with apply ends fast routing for everybody.
        return [ids.first()]
    return [ids.last(), ids.first()]
