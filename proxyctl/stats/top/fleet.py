"""The digests that cost most on many instances: each groups its own rows, and the sums are added.

Equal digests are equal texts, so the sums of a digest are exact. Every instance sends its groups in
the order of their first digits, and all answers are read side by side: no more than a few hundred
groups of each are held, however many there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from heapq import merge
from itertools import groupby
from operator import itemgetter
from typing import Any

from proxyctl.catalog import Version
from proxyctl.errors import ExitCode, ProxyctlError
from proxyctl.fleet.outcome import Failed, worst
from proxyctl.fleet.targets import Target, at_all
from proxyctl.stats.apart import apart_notes, with_names
from proxyctl.stats.model import Group, Load
from proxyctl.stats.read import (
    DIGESTS,
    digest_column,
    incomplete,
    json_list,
    read_digest_variables,
)
from proxyctl.stats.top.model import CountedInstance, Ranking, TopOptions, counting_notes
from proxyctl.stats.top.rank import GroupSums, ranked
from proxyctl.stats.top.read import grouped

_DIGITS = 3
"""The digits of a digest that groups are sent together by: digests are spread evenly, so a million
groups make 4,096 parts of 244."""
_CUTS = "mysql-query_digests_max_digest_length"


@dataclass(frozen=True, kw_only=True)
class TopOfFleet(Ranking):
    """The list of many instances."""

    failed: Sequence[Failed] = ()
    """The instances that could not be read."""

    def notes(self) -> list[str]:
        """Return the remarks that belong above the list."""
        notes = (
            (one.name, note)
            for one in self.instances
            for note in counting_notes(one.variables, self.options, one.total)
        )
        return [*with_names(notes), *apart_notes(self.instances)]

    @property
    def exit_code(self) -> ExitCode:
        """The worst code of the instances that could not be read."""
        return worst([failure.error.exit_code for failure in self.failed])


# Reading them ------------------------------------------------------------------------------------
def read_top_of_fleet(
    targets: Sequence[Target],
    options: TopOptions,
    *,
    workers: int,
    done: Callable[[int], None] = lambda _count: None,
) -> TopOfFleet:
    """Return the list of all instances that can be read. Sends only SELECTs.

    An instance that is lost while its groups arrive is left out, and the others are read again.
    """
    lost: dict[str, Failed] = {}
    while True:
        reading = [target for target in targets if target.login.address not in lost]
        with ExitStack() as stack:
            answers, unread = at_all(
                reading, lambda target: _Answer(target, options), workers=workers, done=done
            )
            for answer in answers:
                stack.callback(answer.close)
            instances = [answer.instance for answer in answers]
            try:
                ranking = ranked(
                    _added(answers, options.groups),
                    options,
                    total=_total(instances),
                    longest=max((_longest(one.variables) for one in instances), default=0),
                )
            except _LostAnswerError as error:
                lost[error.failed.address] = error.failed
                continue
        by_address = {failure.address: failure for failure in [*unread, *lost.values()]}
        places = [target.login.address for target in targets]
        failed = [by_address[place] for place in places if place in by_address]
        return TopOfFleet(**{**vars(ranking), "instances": instances}, failed=failed)


def _total(instances: Sequence[CountedInstance]) -> Load:
    total = Load()
    for one in instances:
        total += one.total
    return total


def _longest(variables: Mapping[str, str]) -> int:
    """Return the bytes at which an instance cuts texts; 0 if unknown."""
    text = variables.get(_CUTS, "")
    return int(text) if text.isdecimal() else 0


class _LostAnswerError(Exception):
    """An instance was lost while its groups arrived."""

    def __init__(self, failed: Failed) -> None:
        super().__init__(failed.name)
        self.failed = failed


class _Answer:
    """The groups of an instance, which arrive as they are read, and its load.

    Raises: InstanceError, ConfigError.
    """

    def __init__(self, target: Target, options: TopOptions) -> None:
        self._target = target
        self._stack = ExitStack()
        try:
            self._client = client = self._stack.enter_context(target.connect())
            variables = read_digest_variables(client)
            statement = groups_statement(options, client.version)
            self._records = self._stack.enter_context(client.stream(statement))
            _, whole = next(self._records, (None, None))
            if whole is None:
                raise incomplete(client)
            taken_at, entries, count_star, sum_time = json_list(whole)
        except BaseException:
            self._stack.close()
            raise
        total = Load(int(entries or 0), int(count_star or 0), int(sum_time or 0))
        self.instance = CountedInstance(
            client.name, client.address, client.version_text, int(taken_at), total, variables
        )

    def close(self) -> None:
        """Close the connection."""
        self._stack.close()

    def parts(self) -> Iterator[tuple[bytes, list[list[Any]]]]:
        """Yield the groups with the same first digits, in the order of the digits.

        Raises: _LostAnswerError.
        """
        is_whole = False
        try:
            for digits, groups in self._records:
                if groups is None:
                    is_whole = True
                elif digits is not None:
                    yield digits, json_list(groups)
            if not is_whole:
                raise incomplete(self._client)
        except ProxyctlError as error:
            failed = Failed(self._target.name, self._target.login.address, error)
            raise _LostAnswerError(failed) from error


def groups_statement(options: TopOptions, version: Version) -> str:
    """Return the statement that sends all groups of an instance, whatever their number.

    Shape of the answer: the clock and the load of the whole table as a JSON list; for each value of
    the first digits of a digest, in order, these digits and its groups, as JSON lists of the
    grouping columns, the digest text and the figures of `GroupSums`; a last row with NULL, which
    proves that the answer is whole: when a running SELECT fails, ProxySQL answers OK with a part of
    the rows.
    """
    columns = tuple(group for group in options.groups if group is not Group.INSTANCE)
    own = replace(options, groups=columns, min_count=0, min_avg_us=0)
    names = [digest_column(version) if name is Group.DIGEST else str(name) for name in columns]
    digits, text = "''", "NULL"
    if Group.DIGEST in columns:
        digits = f"substr({digest_column(version)},3,{_DIGITS})"
        text = f"(SELECT digest_text FROM {DIGESTS} AS one WHERE one.rowid = a_row)"
    cells = ",".join([*names, text, *GroupSums._fields[2:-1]])
    return (
        f"WITH grouped AS ({grouped(own)})"
        " SELECT '' AS digits, json_array(strftime('%s','now'), count(*), sum(count_star),"
        f" sum(sum_time)) AS held FROM {DIGESTS}"
        f" UNION ALL SELECT * FROM (SELECT {digits} AS digits,"
        f" json_group_array(json_array({cells})) FROM grouped WHERE entries > 0"
        " GROUP BY digits ORDER BY digits)"
        " UNION ALL SELECT NULL, NULL"
    )


# Adding them up ----------------------------------------------------------------------------------
_Sums = list[Any]
"""The fields of `GroupSums` after the key; the last is a bit for each instance."""


def _added(answers: Sequence[_Answer], groups: Sequence[Group]) -> Iterator[GroupSums]:
    """Yield the groups of all answers, each once, with the sums of all instances."""
    names = [answer.instance.name for answer in answers]
    width = len([group for group in groups if group is not Group.INSTANCE])
    place = groups.index(Group.INSTANCE) if Group.INSTANCE in groups else None
    numbered = [_numbered(number, answer) for number, answer in enumerate(answers)]
    for _, parts in groupby(merge(*numbered, key=itemgetter(0)), key=itemgetter(0)):
        sums: dict[tuple[str | int, ...], _Sums] = {}
        for _, number, rows in parts:
            bit = 1 << number
            for row in rows:
                key = tuple(row[:width])
                if place is not None:
                    key = (*key[:place], names[number], *key[place:])
                if (held := sums.get(key)) is None:
                    sums[key] = [*row[width:], bit]
                else:
                    _add(held, row[width:], bit)
        for key, held in sums.items():
            *figures, bits = held
            yield GroupSums._make((key, *figures, _seen_on(bits, names)))


def _numbered(number: int, answer: _Answer) -> Iterator[tuple[bytes, int, list[list[Any]]]]:
    for digits, rows in answer.parts():
        yield digits, number, rows


def _add(held: _Sums, more: Sequence[Any], bit: int) -> None:
    """Add the figures of another instance. Changes: held."""
    text, entries, count_star, first, last, sum_time, shortest, longest, affected, sent = more
    held[0] = held[0] or text
    held[1] += entries
    held[2] += count_star
    held[3] = min(held[3], first)
    held[4] = max(held[4], last)
    held[5] += sum_time
    held[6] = min(held[6], shortest) if held[6] and shortest else held[6] or shortest
    held[7] = max(held[7], longest)
    held[8] += affected
    held[9] += sent
    held[10] |= bit


def _seen_on(bits: int, names: Sequence[str]) -> tuple[str, ...]:
    return tuple([name for number, name in enumerate(names) if bits >> number & 1])
