"""Pending edits: what somebody left in MEMORY that a LOAD or SAVE of ours would publish or lose.

LOAD and SAVE move whole admin modules, while the files own rows. A MEMORY row is pending if its
runtime image differs from RUNTIME (before a LOAD) or it differs from DISK (before a SAVE), and it
is not what the files say. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from proxyctl.compare import Difference
from proxyctl.plan import ModulePlan, Refusal
from proxyctl.state import KEEP, Key, Layer
from proxyctl.survey import TableSurvey

DISCARD, INCLUDE = "--discard-pending", "--include-pending"


@dataclass(frozen=True)
class Pending:
    """One pending edit: in a row (or columns) of ours, or in somebody else's."""

    table: str
    key: Key
    layer: Layer
    columns: tuple[str, ...]
    is_ours: bool

    def text(self) -> str:
        """Return the edit in a few words."""
        what = ", ".join(self.columns) if self.columns else "row"
        key = ":".join(str(part) for part in self.key)
        verb = "not loaded to RUNTIME" if self.layer is Layer.RUNTIME else "not saved to DISK"
        return f"{self.table} {key}: {what} edited in MEMORY, {verb}"


def pending_edits(module: ModulePlan) -> list[Pending]:
    """Return the pending edits that this module's steps would publish, persist or overwrite.

    Shape: sorted by table, in the order of the rows; a row is listed once, for the first layer.
    """
    found: dict[tuple[str, Key, bool], Pending] = {}
    for name in sorted(module.surveys):
        survey = module.surveys[name]
        edits: list[Pending] = []
        if module.load or module.stages:
            edits += [e for d in survey.unpublished for e in _edits(survey, d, Layer.RUNTIME)]
        if not module.load:
            # Writing MEMORY loses an edit of our rows; without a LOAD it publishes nothing.
            edits = [edit for edit in edits if edit.is_ours]
        if module.save:
            edits += [e for d in survey.unsaved for e in _edits(survey, d, Layer.DISK)]
        for edit in edits:
            found.setdefault((edit.table, edit.key, edit.is_ours), edit)
    return list(found.values())


def _edits(survey: TableSurvey, difference: Difference, layer: Layer) -> Iterator[Pending]:
    """Yield the edit of a managed part, and the edit of an unmanaged part, of one row."""
    layout, desired, key = survey.layout, survey.desired, difference.key
    names = tuple(layout.names[position] for position in difference.columns)
    if desired is None or not desired.owns(key):
        yield Pending(layout.name, key, layer, names, is_ours=False)
        return
    wanted = desired.rows.get(key)
    memory, target = survey.memory.get(key), survey.target.get(key)
    if wanted is None or difference.current is None or difference.desired is None:
        if memory != target:
            yield Pending(layout.name, key, layer, (), is_ours=True)
        return
    kept = {
        position
        for position in difference.columns
        if wanted[position] is KEEP or layout.names[position] in desired.keep_on_update
    }
    ours = tuple(
        layout.names[position]
        for position in difference.columns
        if position not in kept
        and (memory is None or target is None or memory[position] != target[position])
    )
    if ours:
        yield Pending(layout.name, key, layer, ours, is_ours=True)
    if kept:
        others = tuple(layout.names[position] for position in sorted(kept))
        yield Pending(layout.name, key, layer, others, is_ours=False)


def refusals(
    module: ModulePlan, *, discard: bool, include: bool, leftovers: frozenset[str]
) -> Iterator[Refusal]:
    """Yield the refusals for the pending edits of a module.

    `leftovers`: admin modules named in the lock of a proxyctl that died: its edits are ours.
    """
    if module.name in leftovers:
        return
    for edit in pending_edits(module):
        if edit.is_ours and not discard:
            yield Refusal("pending_edit", f"{edit.text()}; the files say otherwise", DISCARD)
        elif not edit.is_ours and not include:
            yield Refusal("pending_unmanaged", f"{edit.text()}; not in the files", INCLUDE)
