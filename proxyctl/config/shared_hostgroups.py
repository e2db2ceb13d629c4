"""Hostgroups that two families share across tables: two monitors then fight over their servers.

ProxySQL compares the rows of one table, and loads all of these. Source: ProxySQL 2.7.1, run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from proxyctl.config.tables import key_words
from proxyctl.state.row import DesiredTable, Where


class _Family(NamedTuple):
    where: Where
    table: str
    words: str
    hostgroups: frozenset[object]


def shared_hostgroups(tables: Iterable[DesiredTable]) -> list[str]:
    """Return a warning for every two active families of different tables that share a hostgroup.

    Shape: in the order of the files; the place is that of the row which stands later.
    """
    warnings: list[str] = []
    earlier: dict[object, list[_Family]] = {}
    for family in sorted(family for table in tables for family in _families(table)):
        found = (other for hostgroup in family.hostgroups for other in earlier.get(hostgroup, ()))
        others = sorted({other for other in found if other.table != family.table})
        warnings += [_warning(other, family) for other in others]
        for hostgroup in family.hostgroups:
            earlier.setdefault(hostgroup, []).append(family)
    return warnings


def _families(table: DesiredTable) -> Iterator[_Family]:
    layout = table.layout
    roles = [n for n, column in enumerate(layout.columns) if column.hostgroup]
    active = layout.index.get("active")
    for key, row in table.rows.items():
        if active is None or row[active] != 0:
            words = f"{layout.name} {key_words(layout, key)}"
            hostgroups = frozenset(row[position] for position in roles)
            yield _Family(table.where[key], layout.name, words, hostgroups)


def _warning(first: _Family, second: _Family) -> str:
    shared = sorted(first.hostgroups & second.hostgroups, key=str)
    text = " and ".join(map(str, shared))
    return (
        f"{second.where}: {second.words}: shares hostgroup{'s' * (len(shared) > 1)} {text} with"
        f" {first.words}, at {first.where}; ProxySQL loads both, and two monitors move the same"
        " servers, each its own way"
    )
