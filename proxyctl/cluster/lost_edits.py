"""Edits of others at a member that are gone when it takes over what is loaded at another one.

A member overwrites its MEMORY with what it takes over, and loads the whole admin module. Only the
variables that each has itself stay as they stand there, and go to RUNTIME with that.
Source: ProxySQL 2.7.1, run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from proxyctl.catalog import Role
from proxyctl.catalog.variables import MEMBERS_OWN
from proxyctl.change import sorted_keys
from proxyctl.cluster.travelling import ACTIVE_ONLY
from proxyctl.compare import Difference, differing, fold_users
from proxyctl.errors import counted
from proxyctl.pending import DISCARD
from proxyctl.plan import ModulePlan, Refusal
from proxyctl.runtime_image import runtime_image
from proxyctl.state import FILES, KEEP, DesiredRow, DesiredTable, Key, Source
from proxyctl.survey import TableSurvey

EDITS_LOST = "edits_lost"
EDITS_PUBLISHED = "edits_published"
_LISTED = 3
"""So many rows are named."""


@dataclass(frozen=True)
class Waiting:
    """What stands in MEMORY of a peer, as surveyed there, where no row is ours.

    Shape: `surveys` of the tables of one admin module. `is_left_over`: whether an apply of ours
    died there and had begun to write the module.
    """

    surveys: Mapping[str, TableSurvey]
    is_left_over: bool = False


def lost_at_peer(
    module: ModulePlan,
    held: Waiting,
    peer: str,
    *,
    source: Source = FILES,
    discards: bool = False,
) -> Iterator[Refusal]:
    """Yield which edits a peer would lose, or publish, that takes over what a plan loads.

    What the plan makes of the row as well is not lost. `peer`: its name. `discards`: whether edits
    of rows that the `source` of the plan manages may be lost.
    """
    ours: list[str] = []
    others: list[str] = []
    published: list[str] = []
    for table, found in held.surveys.items():
        here = module.surveys.get(table)
        desired = here.desired if here is not None else None
        waiting = {one.key: one for one in _waiting(module, found, desired)}
        for key in sorted_keys(waiting):
            is_ours = here is not None and _is_of_files(here, waiting[key])
            row = f"{table} {':'.join(map(str, key))}"
            if is_ours and held.is_left_over:
                continue  # whichever of our applies it is
            if _is_members_own(found, key):
                published.append(row)
            elif is_ours:
                ours.append(row)
            elif not (held.is_left_over and _is_placed(found, key)):
                others.append(row)
    takes = "it takes the module over from here"
    of_others = f"of others in MEMORY of {peer} would"
    if others:
        yield Refusal(
            EDITS_LOST,
            f"{module.name}: {counted(len(others), 'edit')} {of_others} be lost"
            f" ({_named(others)}): {takes}; apply at that one before, or undo them",
        )
    if ours and not discards:
        yield Refusal(
            EDITS_LOST,
            f"{module.name}: {counted(len(ours), 'edit')} in MEMORY of {peer} would be lost"
            f" ({_named(ours)}): {takes}; {source.says} otherwise",
            DISCARD,
        )
    if published:
        yield Refusal(
            EDITS_PUBLISHED,
            f"{module.name}: {counted(len(published), 'edit')} {of_others} go to RUNTIME there"
            f" ({_named(published)}): {takes}",
        )


def dropped_at_peer(module: ModulePlan, held: Waiting) -> str:
    """Return what of others is not active at a peer and saved there, and goes all the same.

    A peer that takes rules or users over has the active ones then, also on DISK. What the files
    manage is theirs, and what is not saved is refused by `lost_at_peer`.
    """
    named: list[str] = []
    for table, found in held.surveys.items():
        if table not in ACTIVE_ONLY:
            continue
        here = module.surveys.get(table)
        desired = here.desired if here is not None else None
        layout = found.layout
        active = layout.index["active"]
        rows = {key: row for key, row in found.memory.items() if row[active] == 0}
        idle = fold_users(layout, rows) if layout.table.role is Role.USERS else rows
        unsaved = {one.key for one in found.unsaved}
        named += [
            f"{table} {':'.join(map(str, key))}"
            for key in sorted_keys(idle)
            if key not in unsaved and not (desired is not None and desired.owns(key))
        ]
    return _named(named) if named else ""


def _is_of_files(here: TableSurvey, one: Difference) -> bool:
    """Return whether all of an edit is in what the files say, not in columns that they leave."""
    desired, place = here.desired, here.place
    if desired is None or not desired.owns(one.key):
        return False
    rows = [desired.rows[one.key]] if one.key in desired.rows else []
    if not rows and place is not None:
        rows = [row for key, row in desired.rows.items() if place(key) == place(one.key)]
    names = desired.layout.names
    return not any(
        row[position] is KEEP or names[position] in desired.keep_on_update
        for row in rows
        for position in one.columns
    )


def _waiting(
    module: ModulePlan, found: TableSurvey, desired: DesiredTable | None
) -> Iterator[Difference]:
    """Yield the rows of a table that wait at a peer, and that this plan does not make so."""
    layout = found.layout
    if not (found.unpublished or found.unsaved):
        return
    rows = dict(module.final.get(layout.name, {}))
    image: Mapping[Key, DesiredRow] = runtime_image(layout, rows)
    seen = set()
    for one in found.unpublished:
        seen.add(one.key)
        comes = not _is_members_own(found, one.key) or (
            desired is not None and desired.owns(one.key)
        )
        if not (comes and _is_same(found, image.get(one.key), one.desired)):
            yield one
    if layout.name not in ACTIVE_ONLY:
        return
    active = layout.index["active"]
    written = fold_users(layout, rows) if layout.table.role is Role.USERS else rows
    for one in found.unsaved:
        if one.desired is None or one.desired[active] != 0 or one.key in seen:
            continue
        # The files may say just that, and it is written there in its turn.
        is_ours = desired is not None and desired.owns(one.key)
        if not (is_ours and _is_same(found, written.get(one.key), one.desired)):
            yield one


def _is_members_own(found: TableSurvey, key: Key) -> bool:
    return found.layout.table.prefix is not None and key[0] in MEMBERS_OWN


def _is_same(found: TableSurvey, one: DesiredRow | None, other: DesiredRow | None) -> bool:
    if one is None or other is None:
        return one is other
    return not differing(found.layout, other, one)  # type: ignore[arg-type]


def _is_placed(found: TableSurvey, key: Key) -> bool:
    """Return whether an apply of ours may have written the row where the monitor had placed it."""
    placed = {hostgroup for family in found.families for hostgroup in family.hostgroups}
    return found.is_of_servers and key[0] in placed


def _named(rows: Collection[str]) -> str:
    shown = ", ".join([*rows][:_LISTED])
    more = len(rows) - _LISTED
    return f"{shown} and {more} more" if more > 0 else shown
