"""Adds up groups of digests of many instances, without holding more than a few hundred of each.

Equal digests are equal texts, so the sums of a digest are exact. Every instance sends its groups in
the order of their first digits, and all answers are read side by side.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from heapq import merge
from itertools import groupby
from operator import itemgetter
from typing import Any

from proxyctl.catalog import Version
from proxyctl.instance.client import AdminClient
from proxyctl.stats.model import Group, Load
from proxyctl.stats.read import (
    DIGESTS,
    digest_column,
    incomplete,
    json_list,
    read_digest_variables,
)
from proxyctl.stats.top.model import FIGURES, CountedInstance, GroupSums, TopOptions
from proxyctl.stats.top.read import grouped

DIGITS = 3
"""The digits of a digest that groups are sent together by: digests are spread evenly, so a million
groups make 4,096 parts of 244."""

GroupPart = tuple[bytes, bytes]
"""The first digits of some groups, and these groups as a JSON list: see `groups_statement`."""


@contextmanager
def streamed_groups(
    client: AdminClient, options: TopOptions
) -> Iterator[tuple[CountedInstance, Iterator[GroupPart]]]:
    """Yield an instance with its load, and its groups as they arrive, by their first digits.

    Raises: InstanceError; the groups raise it too, also when ProxySQL sends too few.
    """
    variables = read_digest_variables(client)
    with client.stream(groups_statement(options, client.version)) as records:
        _, whole = next(records, (None, None))
        if whole is None:
            raise incomplete(client)
        taken_at, began_at, entries, count_star, sum_time = json_list(whole)
        instance = CountedInstance(
            name=client.name,
            address=client.address,
            version=client.version_text,
            taken_at=int(taken_at),
            began_at=int(began_at or taken_at),
            total=Load(int(entries or 0), int(count_star or 0), int(sum_time or 0)),
            variables=variables,
        )
        yield instance, _whole_parts(client, records)


def _whole_parts(
    client: AdminClient, records: Iterable[tuple[bytes | None, ...]]
) -> Iterator[GroupPart]:
    is_whole = False
    for digits, groups in records:
        if groups is None:
            is_whole = True
        elif digits is not None:
            yield digits, groups
    if not is_whole:
        raise incomplete(client)


def groups_statement(options: TopOptions, version: Version) -> str:
    """Return the statement that sends all groups of an instance, whatever their number.

    Shape of the answer: as a JSON list the clock, the first moment and the load of the whole table;
    for each value of the first digits of a digest, in order, these digits and its groups, as JSON
    lists of the grouping columns, the digest text and the figures of `GroupSums`; a last row with
    NULL, which proves that the answer is whole: when a running SELECT fails, ProxySQL answers OK
    with a part of the rows.
    """
    columns = tuple(group for group in options.groups if group is not Group.INSTANCE)
    own = replace(options, groups=columns, min_count=0, min_avg_us=0)
    names = [digest_column(version) if name is Group.DIGEST else str(name) for name in columns]
    digits, text = "''", "NULL"
    if Group.DIGEST in columns:
        digits = f"substr({digest_column(version)},3,{DIGITS})"
        text = f"(SELECT digest_text FROM {DIGESTS} AS one WHERE one.rowid = a_row)"
    cells = ",".join([*names, text, *FIGURES])
    return (
        f"WITH grouped AS ({grouped(own)})"
        " SELECT '' AS digits, json_array(strftime('%s','now'), min(first_seen), count(*),"
        f" sum(count_star), sum(sum_time)) AS held FROM {DIGESTS}"
        f" UNION ALL SELECT * FROM (SELECT {digits} AS digits,"
        f" json_group_array(json_array({cells})) FROM grouped WHERE entries > 0"
        " GROUP BY digits ORDER BY digits)"
        " UNION ALL SELECT NULL, NULL"
    )


# Adding them up ----------------------------------------------------------------------------------
_Sums = list[Any]
"""The fields of `GroupSums` after the key; the last is a bit for each instance."""


def added(
    instances: Sequence[tuple[str, Iterable[GroupPart]]], groups: Sequence[Group]
) -> Iterator[GroupSums]:
    """Yield the groups of all instances, each once, with the sums of all.

    `instances`: the name of each, and its groups in the order of their first digits.
    """
    names = [name for name, _ in instances]
    width = len([group for group in groups if group is not Group.INSTANCE])
    place = groups.index(Group.INSTANCE) if Group.INSTANCE in groups else None
    numbered = [_numbered(number, parts) for number, (_, parts) in enumerate(instances)]
    for _, parts in groupby(merge(*numbered, key=itemgetter(0)), key=itemgetter(0)):
        sums: dict[tuple[str | int, ...], _Sums] = {}
        for _, number, text in parts:
            bit = 1 << number
            for row in json_list(text):
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


def _numbered(number: int, parts: Iterable[GroupPart]) -> Iterator[tuple[bytes, int, bytes]]:
    for digits, text in parts:
        yield digits, number, text


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
