"""Pending edits: changes that somebody left in MEMORY and that our LOAD or SAVE would publish.

LOAD and SAVE move whole admin modules, while the files manage rows. A row of MEMORY is a pending
edit if it differs from the files, and also from RUNTIME (before a LOAD) or DISK (before a SAVE).
Pending edits refuse an apply. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from proxyctl.catalog import Layout
from proxyctl.plan.diff import TableDiff, staged
from proxyctl.plan.plan import Discarded, ModulePlan, Refusal
from proxyctl.proxysql.compare import Difference, differing
from proxyctl.proxysql.load_image import is_copied, runtime_image
from proxyctl.proxysql.user_halves import fold_users
from proxyctl.rows.desired import FILES, SourceWords
from proxyctl.rows.row import KEEP, DesiredRow, Key, Layer, Rows, row_name
from proxyctl.rows.sql import MASK, for_clients, transition
from proxyctl.text import counted

DISCARD = "--discard-pending"


MOST_LISTED = 20
"""The most rows of one admin module that are listed; further ones are counted."""


@dataclass(frozen=True)
class Pending:
    """One row that somebody edited in MEMORY."""

    layout: Layout
    """The layout of the table."""
    layers: tuple[Layer, ...]
    """The layers without the edit."""
    difference: Difference
    """The row of the first of these layers as `current`, and the row of MEMORY as `desired`. It has
    no columns if the row was added or deleted."""
    is_managed: bool
    """Whether the files manage the row and its edited columns."""

    @property
    def key(self) -> Key:
        """The primary key of the row."""
        return self.difference.key

    @property
    def columns(self) -> tuple[str, ...]:
        """The edited columns; none for a whole row."""
        return tuple(self.layout.names[position] for position in self.difference.columns)

    def text(self) -> str:
        """Return a short description."""
        is_variable = self.layout.table.prefix is not None
        subject = "" if is_variable else f"{', '.join(self.columns) or 'row'} "
        name = row_name(self.layout.name, self.key)
        if Layer.RUNTIME not in self.layers:
            return f"{name}: {subject}differs between MEMORY and DISK"
        verb = "edited"
        if not self.columns:
            verb = "added" if self.difference.current is None else "deleted"
        return f"{name}: {subject}{verb} in MEMORY, not loaded to RUNTIME"


def pending_edits(module: ModulePlan, *, saves: bool = True) -> list[Pending]:
    """Return the pending edits that this module's steps would publish, persist or overwrite.

    Shape: sorted by table; a row may appear twice, for its managed and its unmanaged columns.
    """
    merged: dict[tuple[str, Key, bool], Pending] = {}
    for name in sorted(module.diffs):
        diff = module.diffs[name]
        edits: list[Pending] = []
        if module.load or module.stages:
            edits += [e for d in _unpublished(diff) for e in _edits_of_row(diff, d, Layer.RUNTIME)]
        if not module.load:
            # Without a LOAD, an apply only overwrites the managed rows in MEMORY.
            edits = [edit for edit in edits if edit.is_managed]
        if module.save and saves:
            edits += [e for d in diff.unsaved for e in _edits_of_row(diff, d, Layer.DISK)]
        else:
            edits += [e for d in _hidden(diff) for e in _edits_of_row(diff, d, Layer.DISK)]
        for edit in edits:
            identity = (name, edit.key, edit.is_managed)
            known = merged.get(identity)
            merged[identity] = (
                replace(known, layers=(*known.layers, *edit.layers)) if known else edit
            )
    return list(merged.values())


def _unpublished(diff: TableDiff) -> Iterator[Difference]:
    """Yield the differences between MEMORY and RUNTIME.

    A MEMORY row that RUNTIME would lose (inactive, OFFLINE_HARD) is an edit of those columns.
    RUNTIME may have a node of a family in other hostgroups than MEMORY.
    """
    layout, identity = diff.layout, diff.identity
    removed = [difference for difference in diff.unpublished if difference.desired is None]
    keys = {identity(key): key for key in diff.memory} if removed else {}
    for difference in diff.unpublished:
        key = keys.get(identity(difference.key))
        if difference.desired is not None or difference.current is None or key is None:
            yield difference
            continue
        row = diff.memory[key]
        columns = differing(layout, difference.current, row)
        columns = tuple(position for position in columns if position not in layout.key_index)
        yield Difference(key, difference.current, row, columns)


def _hidden(diff: TableDiff) -> Iterator[Difference]:
    """Yield edits of rows that RUNTIME never shows, for an apply without SAVE.

    Only a comparison with DISK shows whether somebody edited an inactive rule.
    """
    if not diff.unsaved or is_copied(diff.layout):
        return
    written = {difference.key for difference in diff.changes.get(Layer.MEMORY, ())}
    shown = {key for rows in (diff.memory, diff.disk) for key in runtime_image(diff.layout, rows)}
    for difference in diff.unsaved:
        is_hidden = difference.key in written and difference.key not in shown
        if difference.desired is not None and is_hidden:
            yield difference


def _edits_of_row(diff: TableDiff, difference: Difference, layer: Layer) -> Iterator[Pending]:
    """Yield the edits of the managed and of the unmanaged columns of one row."""
    layout, desired, key = diff.layout, diff.desired, difference.key
    if desired is None or not desired.owns(key):
        yield Pending(layout, (layer,), difference, is_managed=False)
        return
    wanted = desired.rows.get(key)
    memory, target = diff.memory.get(key), diff.target.get(key)
    if wanted is None or difference.current is None or difference.desired is None:
        if memory != target:
            yield Pending(layout, (layer,), difference, is_managed=True)
        return
    unmanaged = {
        position
        for position in difference.columns
        if wanted[position] is KEEP or layout.names[position] in desired.keep_on_update
    }
    managed = tuple(
        position
        for position in difference.columns
        if position not in unmanaged
        and not _is_reserved(layout, position, difference.desired)
        and (memory is None or target is None or memory[position] != target[position])
    )
    if managed:
        yield Pending(layout, (layer,), difference._replace(columns=managed), is_managed=True)
    if unmanaged:
        unmanaged_part = difference._replace(columns=tuple(sorted(unmanaged)))
        yield Pending(layout, (layer,), unmanaged_part, is_managed=False)


def _is_reserved(layout: Layout, position: int, row: DesiredRow) -> bool:
    """Return whether MEMORY holds a word that no file may set: to overwrite it loses nothing.

    RUNTIME may have left a SHUNNED since its LOAD.
    """
    return str(row[position]).upper() in layout.columns[position].reserved


def refusals(
    pending: Iterable[tuple[ModulePlan, Sequence[Pending]]],
    *,
    discard: bool = False,
    source: SourceWords = FILES,
) -> Iterator[Refusal]:
    """Yield the refusals for the pending edits of the modules.

    The managed rows of all modules share a refusal, as one option discards them. The unmanaged rows
    of each module have a refusal, with the statements that publish or revert exactly these edits.
    """
    managed: dict[str, list[Pending]] = {}
    unmanaged: list[Refusal] = []
    for module, edits in pending:
        if of_managed_rows := [edit for edit in edits if edit.is_managed]:
            managed[module.name] = of_managed_rows
        if of_unmanaged_rows := [edit for edit in edits if not edit.is_managed]:
            unmanaged.append(_unmanaged_refusal(module, of_unmanaged_rows, source))
    if managed and not discard:
        number = sum(map(len, managed.values()))
        count = counted(number, "pending edit")
        message = f"{', '.join(managed)}: {count} would be discarded; {source.says} otherwise"
        rows = tuple(line for edits in managed.values() for line in _listed(edits))
        them = "it" if number == 1 else "them"
        fix = f"ask who made {them}, and put into the files what is to stay"
        yield Refusal("pending_edit", message, DISCARD, rows, fix=fix)
    yield from unmanaged


def _unmanaged_refusal(
    module: ModulePlan, edits: Sequence[Pending], source: SourceWords
) -> Refusal:
    message = f"{module.name}: {counted(len(edits), 'pending edit')} not {source.place}"
    details = (
        *_listed(edits),
        f"publish:    {_publishing(module, edits)}",
        *_undo_statements(module, edits),
    )
    pronoun = "it" if len(edits) == 1 else "them"
    fix = f"publish {pronoun}, or take {pronoun} back, with these statements"
    return Refusal("pending_unmanaged", message, None, details, fix=fix)


def discarded(module: ModulePlan, edits: Iterable[Pending]) -> Iterator[Discarded]:
    """Yield the edits of managed rows that an apply with DISCARD overwrites."""
    managed = [edit for edit in edits if edit.is_managed]
    if managed:
        yield Discarded(module.name, len(managed), (*_listed(managed),))


def _listed(edits: Sequence[Pending]) -> Iterator[str]:
    yield from (edit.text() for edit in edits[:MOST_LISTED])
    if len(edits) > MOST_LISTED:
        yield f"... and {counted(len(edits) - MOST_LISTED, 'more row')}"


def _publishing(module: ModulePlan, edits: Iterable[Pending]) -> str:
    layers = {layer for edit in edits for layer in edit.layers}
    load = [f"{module.module.load};"] if Layer.RUNTIME in layers else []
    return " ".join([*load, f"{module.module.save};"])


def _undo_statements(module: ModulePlan, edits: Iterable[Pending]) -> Iterator[str]:
    """Yield the statements that revert exactly these edits in MEMORY."""
    by_table: dict[str, list[Pending]] = {name: [] for name in module.diffs}
    for edit in edits:
        by_table[edit.layout.name].append(edit)
    diffs = module.diffs
    reverted = {name: _without_edits(diffs[name], edits) for name, edits in by_table.items()}
    if all(_equals_disk(diff, reverted[name], by_table[name]) for name, diff in diffs.items()):
        yield f"take back:  LOAD {module.name} FROM DISK;"
        return
    for name, diff in diffs.items():
        for statement in transition(diff.layout, diff.memory, reverted[name]):
            is_masked = statement.masked != statement.sql
            secret = f"  -- with the secret in place of {MASK}" if is_masked else ""
            yield f"take back:  {for_clients(statement.masked)};{secret}"


def _without_edits(diff: TableDiff, edits: Iterable[Pending]) -> Rows:
    """Return MEMORY without these edits.

    The earlier row comes from DISK where DISK differs from MEMORY, otherwise from RUNTIME.
    """
    layout = diff.layout
    folded = fold_users(layout, diff.memory)
    unsaved = {difference.key for difference in diff.unsaved}
    changes: list[Difference] = []
    for edit in edits:
        earlier, columns = edit.difference.current, edit.difference.columns
        if not columns:
            earlier = diff.disk.get(edit.key, earlier) if edit.key in unsaved else earlier
            columns = tuple(range(len(layout.names)))
        changes.append(Difference(edit.key, folded.get(edit.key), earlier, columns))
    return staged(layout, diff.memory, folded, changes)


def _equals_disk(diff: TableDiff, rows: Rows, edits: Sequence[Pending]) -> bool:
    """Return whether `rows`, MEMORY without these edits, equal DISK.

    A monitored node that was edited where the monitor had placed it (after SAVE ... TO MEMORY) is
    edited in all its rows: statements for the edited columns would leave it in that hostgroup.
    """
    if not diff.unsaved:
        return rows == diff.memory
    identity = diff.identity
    edited = {identity(edit.key) for edit in edits} - {edit.key for edit in edits}
    keys = {key for key in rows.keys() | diff.disk.keys() if rows.get(key) != diff.disk.get(key)}
    return all(identity(key) in edited for key in keys)
