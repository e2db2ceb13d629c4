"""Compares a window of a store with the time before it, digest by digest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from proxyctl.stats.diff import Diff, DiffSort, list_differences
from proxyctl.stats.differing_digests import apart_notes
from proxyctl.stats.model import Group
from proxyctl.stats.store.grown import compared_instances, grown_keys
from proxyctl.stats.store.window import StoreWindow
from proxyctl.stats.store.window_pair import opened_pair


@dataclass(kw_only=True)
class DiffOfStore(Diff):
    """The result of a comparison of two times in a store; the tables of instances have no rows."""

    window: StoreWindow
    """The later time."""
    earlier: StoreWindow
    """The time before it."""


def compare_times(
    window: StoreWindow,
    against_s: int,
    by: Sequence[Group],
    *,
    sort: DiffSort = DiffSort.CHANGE,
    limit: int = 20,
) -> DiffOfStore:
    """Compare a window with the `against_s` seconds before it; list the first `limit` entries.

    Raises: as `opened_pair`.
    """
    with opened_pair(window, against_s) as pair:
        compared = compared_instances(pair)
        diff = DiffOfStore(
            by=tuple(by),
            instances=[*compared.values()],
            notes=[*pair.notes(), *apart_notes([after for _, after in pair.instances])],
            window=window,
            earlier=pair.before.window,
        )
        list_differences(diff, grown_keys(pair, compared, by), sort, limit)
    return diff
