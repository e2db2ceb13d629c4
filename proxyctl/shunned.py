"""Servers that somebody wrote SHUNNED: only two kinds of monitors bring such a one back. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from proxyctl.catalog import Layout
from proxyctl.families import Family, place_of
from proxyctl.state import DesiredRow, Key, Rows


def is_shunned(layout: Layout, row: DesiredRow) -> bool:
    """Return whether the status of a row of servers is SHUNNED."""
    return str(row[layout.index["status"]]).upper() == "SHUNNED"


def shunned_by_hand(
    layout: Layout, keys: Iterable[Key], memory: Rows, families: Iterable[Family]
) -> set[Key]:
    """Return which of these servers stay SHUNNED if they are so: MEMORY has them SHUNNED.

    The monitor may have moved a node of a family out of the hostgroup that MEMORY has.
    """
    families = tuple(families)
    staying = {key: row for key, row in memory.items() if not ends_shunning(families, key)}
    return set(of_shunned(layout, keys, staying, place_of(families)))


def of_shunned(
    layout: Layout, keys: Iterable[Key], rows: Rows, place: Callable[[Key], Key]
) -> Iterator[Key]:
    """Yield the keys whose row is SHUNNED; where there is none, a row of the node in its family."""
    places = {place(key) for key, row in rows.items() if is_shunned(layout, row)}
    for key in keys if places else ():
        row = rows.get(key)
        if place(key) in places and (row is None or is_shunned(layout, row)):
            yield key


def ends_shunning(families: Iterable[Family], key: Key) -> bool:
    """Return whether the monitor of this hostgroup ends a SHUNNED that was loaded."""
    return any(key[0] in family.hostgroups for family in families if family.ends_shunning)
