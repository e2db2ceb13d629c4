"""Reads on a writer that a reader could answer, apparently outside of transactions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from proxyctl.catalog import Value
from proxyctl.proxysql.configuration import Configuration
from proxyctl.routing.servers import HostgroupServers, NamedRole, role_in_name
from proxyctl.rows.row import ColumnValues
from proxyctl.stats.model import SeenDigest
from proxyctl.stats.replay.comparison import DifferenceKind, QueryTreatment, ReplayVerdict
from proxyctl.stats.suggest.context import SuggestContext, Suggestion
from proxyctl.stats.suggest.kind import SuggestionKind
from proxyctl.stats.suggest.texts import begins_transaction, is_plain_read
from proxyctl.text import counted

LEAST_CALLS = 100
"""Calls on the writer that make a rule worthwhile."""


def find_readers(configuration: Configuration) -> dict[int, int]:
    """Return the reader hostgroup of each writer hostgroup.

    A hostgroup family names both, or two names differ only in a word such as writer and reader.
    """
    readers: dict[int, int] = {}
    members: set[Value] = set()
    for family in HostgroupServers(configuration).topology.families:
        members |= family.hostgroups
        if isinstance(family.writer, int) and isinstance(family.reader, int):
            readers[family.writer] = family.reader
    names = {n: text for n, text in configuration.hostgroup_names.items() if n not in members}
    roles = {role_in_name(text): n for n, text in names.items()}
    for (role, other_words), writer in roles.items():
        reader = roles.get((NamedRole.READER, other_words))
        if role is NamedRole.WRITER and reader is not None:
            readers[writer] = reader
    return readers


def find_reads(context: SuggestContext) -> Iterator[Suggestion]:
    """Yield the reads, each with a rule if a rule can move that read and nothing else."""
    readers = find_readers(context.configuration)
    if not readers:
        context.notes.append(
            "reads: no reader hostgroup is known. Define a hostgroup family, or name hostgroups in"
            " the files writer and reader."
        )
    for reader in sorted(set(readers.values())):
        if not _is_served(context.configuration, reader):
            context.notes.append(f"reads: {context.called(reader)} has no server that is up")
            readers = {writer: other for writer, other in readers.items() if other != reader}
    candidates = sorted(
        _candidates(context, readers).items(),
        key=lambda item: (-sum(seen.sum_time for seen in item[1]), item[0]),
    )
    begins = (query for query in context.queries if begins_transaction(query.text))
    begun = sum(query.load.count_star for query in begins)
    if candidates and begun:
        context.notes.append(
            f"reads: {counted(begun, 'transaction')} began; some may contain a read"
        )
    for (_, writer), rows in context.listed(SuggestionKind.READS, candidates):
        yield _suggestion(context, rows, writer, readers[writer])


def _is_served(configuration: Configuration, reader: int) -> bool:
    """Return whether the reader has a server, or may get one from the monitor of a family."""
    held = configuration.tables.get("mysql_servers")
    if held is None or not held.is_whole:
        return True
    backends = HostgroupServers(configuration).destination(reader, is_placed=False).backends
    return not all(backend.is_out_of_service for backend in backends)


def _candidates(
    context: SuggestContext, readers: dict[int, int]
) -> dict[tuple[str, int], list[SeenDigest]]:
    """Return reads that the rules send to a writer, by digest and writer."""
    frequent = {
        (query.digest, writer)
        for query in context.queries
        for writer, calls in query.calls.items()
        if writer in readers and calls >= LEAST_CALLS
    }
    without_persistence = _users_without_persistence(context.configuration)
    reads: dict[tuple[str, int], list[SeenDigest]] = {}
    for seen in context.followed:
        key = seen.digest, seen.hostgroup
        if (
            key in frequent
            and seen.username not in without_persistence
            and is_plain_read(seen.digest_text)
            and not context.asks_temporary_table(seen.digest_text)
            and not context.is_vague(seen)
            # If the rules choose another hostgroup, the query probably ran in a transaction.
            and _hostgroups(context.outcomes(seen)) == {seen.hostgroup}
        ):
            reads.setdefault(key, []).append(seen)
    return {
        key: rows
        for key, rows in reads.items()
        if sum(seen.count_star for seen in rows) >= LEAST_CALLS
    }


def _users_without_persistence(configuration: Configuration) -> frozenset[str]:
    """Return the users with transaction_persistent 0: rules may split their transactions."""
    held = configuration.tables.get("mysql_users")
    if held is None:
        return frozenset()
    index = held.layout.index
    return frozenset(
        str(row[index["username"]])
        for row in held.rows.values()
        if row[index["transaction_persistent"]] == 0 and row[index["frontend"]] != 0
    )


def _suggestion(
    context: SuggestContext, rows: list[SeenDigest], writer: int, reader: int
) -> Suggestion:
    calls = sum(seen.count_star for seen in rows)
    sum_time = sum(seen.sum_time for seen in rows)
    return Suggestion(
        SuggestionKind.READS,
        rows[0].digest,
        rows[0].digest_text,
        {
            "writer_hostgroup": writer,
            "reader_hostgroup": reader,
            "calls": calls,
            "sum_time_us": sum_time,
            "share": context.share(sum_time),
        },
        f"{counted(calls, 'query')} went to {context.called(writer)}; {context.called(reader)}"
        " could answer them.",
        _rule(context, rows, writer, reader),
    )


def _rule(
    context: SuggestContext, rows: list[SeenDigest], writer: int, reader: int
) -> ColumnValues | None:
    """Return a rule that moves these reads and no other query of the digest."""

    def is_right(verdict: ReplayVerdict) -> bool:
        if _hostgroups(verdict.before) != {writer}:
            return not verdict.is_changed and not verdict.is_open
        # A rule that may answer the query by its text does so before and after.
        is_sure = bool(verdict.certain) or any(outcome.answer for outcome in verdict.before)
        kinds = verdict.certain | verdict.possible
        return (
            is_sure
            and kinds == {DifferenceKind.HOSTGROUP}
            and _hostgroups(verdict.after) == {reader}
        )

    cells: ColumnValues = {
        "digest": rows[0].digest,
        "destination_hostgroup": reader,
        "apply": 1,
        "comment": "digest suggest: read",
    }
    attempts = [cells]
    schemas = {seen.schemaname for seen in rows}
    if len(schemas) == 1 and "" not in schemas:
        # The rules may send the same digest of another schema elsewhere.
        attempts.append({**cells, "schemaname": schemas.pop()})
    return context.placed_rule(rows[0].digest, attempts, is_right)


def _hostgroups(outcomes: Iterable[QueryTreatment]) -> set[int | None]:
    """Return the hostgroups that a query may go to, without outcomes where a rule answers."""
    return {outcome.hostgroup for outcome in outcomes if outcome.answer is None}
