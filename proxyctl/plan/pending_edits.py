"""Pending edits: changes that somebody left in MEMORY and that our LOAD or SAVE would publish.

LOAD and SAVE move whole admin modules, while the files own rows. A row of MEMORY is pending if it
is not what the files say, and RUNTIME does not show it (before a LOAD) or DISK does not hold it
(before a SAVE). Pending edits refuse an apply. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from proxyctl.catalog import Layout, Role
from proxyctl.errors import counted
from proxyctl.plan.diff import TableDiff, staged
from proxyctl.plan.plan import Discarded, ModulePlan, Refusal
from proxyctl.state.compare import Difference, differing, fold_users
from proxyctl.state.row import FILES, KEEP, Key, Layer, Rows, Source, row_name
from proxyctl.state.runtime import is_copied, runtime_image
from proxyctl.state.sql import MASK, for_clients, transition

DISCARD = "--discard-pending"


MOST_LISTED = 20
"""Rows of one admin module that are listed; the rest is counted."""


@dataclass(frozen=True)
class Pending:
    """One row that somebody edited in MEMORY.

    Shape: `layers` lack the edit; `difference` has the row of the first of them as `current`,
    MEMORY's as `desired`, and no columns if the row was added or deleted. `is_ours`: the files
    manage the row and say otherwise; else the row, or the edited columns, are not managed.
    """

    layout: Layout
    layers: tuple[Layer, ...]
    difference: Difference
    is_ours: bool

    @property
    def key(self) -> Key:
        """The primary key of the row."""
        return self.difference.key

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that were edited; none for a whole row."""
        return tuple(self.layout.names[position] for position in self.difference.columns)

    def text(self) -> str:
        """Return a short description."""
        is_variable = self.layout.table.prefix is not None
        what = "" if is_variable else f"{', '.join(self.columns) or 'row'} "
        name = row_name(self.layout.name, self.key)
        if Layer.RUNTIME not in self.layers:
            return f"{name}: {what}differs between MEMORY and DISK"
        how = "edited"
        if not self.columns:
            how = "added" if self.difference.current is None else "deleted"
        return f"{name}: {what}{how} in MEMORY, not loaded to RUNTIME"


def pending_edits(module: ModulePlan, *, saves: bool = True) -> list[Pending]:
    """Return the pending edits that this module's steps would publish, persist or overwrite.

    Shape: sorted by table; a row may come twice, for its managed and its unmanaged columns.
    """
    found: dict[tuple[str, Key, bool], Pending] = {}
    for name in sorted(module.diffs):
        diff = module.diffs[name]
        edits: list[Pending] = []
        if module.load or module.stages:
            edits += [e for d in _unpublished(diff) for e in _edits(diff, d, Layer.RUNTIME)]
        if not module.load:
            # Writing MEMORY loses an edit of our rows; without a LOAD it publishes nothing.
            edits = [edit for edit in edits if edit.is_ours]
        if module.save and saves:
            edits += [e for d in diff.unsaved for e in _edits(diff, d, Layer.DISK)]
        else:
            edits += [e for d in _hidden(diff) for e in _edits(diff, d, Layer.DISK)]
        for edit in edits:
            which = (name, edit.key, edit.is_ours)
            known = found.get(which)
            found[which] = replace(known, layers=(*known.layers, *edit.layers)) if known else edit
    return list(found.values())


def _unpublished(diff: TableDiff) -> Iterator[Difference]:
    """Yield the differences between MEMORY and RUNTIME.

    A MEMORY row that RUNTIME would lose (inactive, OFFLINE_HARD) counts as edited in those columns.
    RUNTIME may have a node of a family in other hostgroups than MEMORY.
    """
    layout, place = diff.layout, diff.place or (lambda key: key)
    gone = [one for one in diff.unpublished if one.desired is None]
    held = {place(key): key for key in diff.memory} if gone else {}
    for one in diff.unpublished:
        key = held.get(place(one.key))
        if one.desired is not None or one.current is None or key is None:
            yield one
            continue
        row = diff.memory[key]
        columns = differing(layout, one.current, row)
        columns = tuple(position for position in columns if position not in layout.key_index)
        yield Difference(key, one.current, row, columns)


def _hidden(diff: TableDiff) -> Iterator[Difference]:
    """Yield edits of rows that RUNTIME never shows, for an apply without SAVE.

    Only DISK tells whether somebody edited an inactive rule.
    """
    if not diff.unsaved or is_copied(diff.layout):
        return
    written = {one.key for one in diff.changes.get(Layer.MEMORY, ())}
    shown = {key for rows in (diff.memory, diff.disk) for key in runtime_image(diff.layout, rows)}
    for one in diff.unsaved:
        if one.desired is not None and one.key in written and one.key not in shown:
            yield one


def _edits(diff: TableDiff, difference: Difference, layer: Layer) -> Iterator[Pending]:
    """Yield the edits of the managed and of the unmanaged columns of one row."""
    layout, desired, key = diff.layout, diff.desired, difference.key
    if desired is None or not desired.owns(key):
        yield Pending(layout, (layer,), difference, is_ours=False)
        return
    wanted = desired.rows.get(key)
    memory, target = diff.memory.get(key), diff.target.get(key)
    if wanted is None or difference.current is None or difference.desired is None:
        if memory != target:
            yield Pending(layout, (layer,), difference, is_ours=True)
        return
    kept = {
        position
        for position in difference.columns
        if wanted[position] is KEEP or layout.names[position] in desired.keep_on_update
    }
    ours = tuple(
        position
        for position in difference.columns
        if position not in kept
        and (memory is None or target is None or memory[position] != target[position])
    )
    if ours:
        yield Pending(layout, (layer,), difference._replace(columns=ours), is_ours=True)
    if kept:
        others = difference._replace(columns=tuple(sorted(kept)))
        yield Pending(layout, (layer,), others, is_ours=False)


def refusals(
    pending: Iterable[tuple[ModulePlan, Sequence[Pending]]],
    *,
    discard: bool = False,
    source: Source = FILES,
) -> Iterator[Refusal]:
    """Yield the refusals for the pending edits of the modules.

    Managed rows of all modules have one, as one option discards them. Unmanaged rows have one a
    module, with the statements that publish them, and those that take exactly these back.
    """
    ours: dict[str, list[Pending]] = {}
    unmanaged: list[Refusal] = []
    for module, edits in pending:
        if mine := [edit for edit in edits if edit.is_ours]:
            ours[module.name] = mine
        if others := [edit for edit in edits if not edit.is_ours]:
            unmanaged.append(_of_unmanaged(module, others, source))
    if ours and not discard:
        count = counted(sum(map(len, ours.values())), "pending edit")
        message = f"{', '.join(ours)}: {count} would be discarded; {source.says} otherwise"
        rows = tuple(line for edits in ours.values() for line in _listed(edits))
        yield Refusal("pending_edit", message, DISCARD, rows)
    yield from unmanaged


def _of_unmanaged(module: ModulePlan, edits: Sequence[Pending], source: Source) -> Refusal:
    message = f"{module.name}: {counted(len(edits), 'pending edit')} not {source.place}"
    details = (
        *_listed(edits),
        f"publish:    {_publishing(module, edits)}",
        *_undo_statements(module, edits),
    )
    them = "it" if len(edits) == 1 else "them"
    fix = f"publish {them}, or take {them} back, with these statements"
    return Refusal("pending_unmanaged", message, None, details, fix)


def discarded(module: ModulePlan, edits: Iterable[Pending]) -> Iterator[Discarded]:
    """Yield the edits of managed rows that an apply with DISCARD overwrites, if there are any."""
    ours = [edit for edit in edits if edit.is_ours]
    if ours:
        yield Discarded(module.name, len(ours), (*_listed(ours),))


def _listed(edits: Sequence[Pending]) -> Iterator[str]:
    yield from (edit.text() for edit in edits[:MOST_LISTED])
    if len(edits) > MOST_LISTED:
        yield f"... and {counted(len(edits) - MOST_LISTED, 'more row')}"


def _publishing(module: ModulePlan, edits: Iterable[Pending]) -> str:
    layers = {layer for edit in edits for layer in edit.layers}
    load = [f"{module.module.load};"] if Layer.RUNTIME in layers else []
    return " ".join([*load, f"{module.module.save};"])


def _undo_statements(module: ModulePlan, edits: Iterable[Pending]) -> Iterator[str]:
    """Yield the statements that remove exactly these edits from MEMORY."""
    by_table: dict[str, list[Pending]] = {name: [] for name in module.diffs}
    for edit in edits:
        by_table[edit.layout.name].append(edit)
    without = {name: _without(module.diffs[name], found) for name, found in by_table.items()}
    if all(_is_disk(diff, without[name], by_table[name]) for name, diff in module.diffs.items()):
        yield f"take back:  LOAD {module.name} FROM DISK;"
        return
    for name, diff in module.diffs.items():
        for statement in transition(diff.layout, diff.memory, without[name]):
            is_masked = statement.masked != statement.sql
            secret = f"  -- with the secret in the place of {MASK}" if is_masked else ""
            yield f"take back:  {for_clients(statement.masked)};{secret}"


def _without(diff: TableDiff, edits: Iterable[Pending]) -> Rows:
    """Return MEMORY without these edits.

    Rows come from DISK where it differs, since that is the configured row, else from RUNTIME.
    """
    layout = diff.layout
    folded = fold_users(layout, diff.memory) if layout.table.role is Role.USERS else diff.memory
    unsaved = {one.key for one in diff.unsaved}
    changes: list[Difference] = []
    for edit in edits:
        before, columns = edit.difference.current, edit.difference.columns
        if not columns:
            before = diff.disk.get(edit.key, before) if edit.key in unsaved else before
            columns = tuple(range(len(layout.names)))
        changes.append(Difference(edit.key, folded.get(edit.key), before, columns))
    return staged(layout, diff.memory, folded, changes)


def _is_disk(diff: TableDiff, rows: Rows, edits: Sequence[Pending]) -> bool:
    """Return whether MEMORY without these edits, `rows`, is what DISK holds.

    A monitored node that is edited where the monitor placed it, as SAVE ... TO MEMORY leaves it,
    counts as edited in all its rows: statements for the edited columns would leave it there.
    """
    if not diff.unsaved:
        return rows == diff.memory
    place = diff.place or (lambda key: key)
    edited = {place(edit.key) for edit in edits} - {edit.key for edit in edits}
    keys = {key for key in rows.keys() | diff.disk.keys() if rows.get(key) != diff.disk.get(key)}
    return all(place(key) in edited for key in keys)
