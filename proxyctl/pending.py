"""Pending edits: what somebody left in MEMORY that a LOAD or SAVE of ours would publish or lose.

LOAD and SAVE move whole admin modules, while the files own rows. A MEMORY row is pending if its
runtime image differs from RUNTIME (before a LOAD) or it differs from DISK (before a SAVE), and it
is not what the files say. Of a row that RUNTIME does not show, such as an inactive rule, only DISK
tells whether somebody edited it; that counts wherever MEMORY is written. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from proxyctl.catalog import Layout, Role
from proxyctl.change import Change
from proxyctl.compare import Difference, differing
from proxyctl.families import Family
from proxyctl.plan import ModulePlan, Refusal
from proxyctl.runtime_image import ignored_rows, is_copied, runtime_image
from proxyctl.state import FILES, KEEP, Key, Layer, Row, Source
from proxyctl.survey import TableSurvey, is_offline_hard, to_be_taken_off

DISCARD, INCLUDE = "--discard-pending", "--include-pending"

_HIDING = frozenset({"active", "status"})
"""Columns that decide whether RUNTIME shows a row."""


@dataclass(frozen=True)
class Pending:
    """One pending edit: in a row (or columns) of ours, or in somebody else's.

    `layers`: where it is not yet. `difference`: the first layer's row, and MEMORY's as it would
    arrive there. `kept`: that of DISK, where DISK keeps a row that RUNTIME loses. `is_loaded`:
    RUNTIME holds what MEMORY does, so that it may as well be DISK that was edited. `why_gone`: why
    the row does not arrive, in words.
    """

    layout: Layout
    layers: tuple[Layer, ...]
    difference: Difference
    is_ours: bool
    is_loaded: bool = False
    kept: Difference | None = None
    why_gone: str = ""

    @property
    def table(self) -> str:
        """The table's name in the catalogue."""
        return self.layout.name

    @property
    def key(self) -> Key:
        """The primary key of the row."""
        return self.difference.key

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that were edited; none for a whole row."""
        return tuple(self.layout.names[position] for position in self.difference.columns)

    @property
    def changes(self) -> list[Change]:
        """The edit as changes of the layers, which a LOAD and a SAVE of the module make."""
        layers = self.layers if self.kept is None else (Layer.RUNTIME,)
        found = Change(self.layout, self.key, layers, self.difference, {}, why_gone=self.why_gone)
        if self.kept is None:
            return [found]
        return [
            found,
            Change(self.layout, self.key, (Layer.DISK,), self.kept, {}),
        ]

    def text(self) -> str:
        """Return the edit in a few words."""
        what = ", ".join(self.columns) if self.columns else "row"
        key = ":".join(str(part) for part in self.key)
        if Layer.RUNTIME in self.layers:
            how = "edited in MEMORY, not loaded to RUNTIME"
        elif self.is_loaded:
            how = "not saved to DISK, or edited there"
        else:
            how = "edited in MEMORY, not saved to DISK"
        return f"{self.table} {key}: {what} {how}{self._status()}"

    def _status(self) -> str:
        """Return what would become of a server's status, in brackets."""
        current, desired = self.difference.current, self.difference.desired
        if not self.is_status or current is None:
            return ""
        position = self.layout.index["status"]
        after = "OFFLINE_HARD" if desired is None else desired[position]
        return f" ({current[position]} -> {after})"

    @property
    def is_status(self) -> bool:
        """Whether it is an edit of the status of a server."""
        return self.layout.table.role is Role.SERVERS and "status" in self.columns


def pending_edits(module: ModulePlan, *, saves: bool = True) -> list[Pending]:
    """Return the pending edits that this module's steps would publish, persist or overwrite.

    Shape: sorted by table, in the order of the rows; a row is listed once.
    """
    found: dict[tuple[str, Key, bool], Pending] = {}
    for name in sorted(module.surveys):
        survey = module.surveys[name]
        edits: list[Pending] = []
        if module.load or module.stages:
            edits += [e for d in _unpublished(survey) for e in _edits(survey, d, Layer.RUNTIME)]
        if not module.load:
            # Writing MEMORY loses an edit of our rows; without a LOAD it publishes nothing.
            edits = [edit for edit in edits if edit.is_ours]
        if module.save and saves:
            edits += _unsaved(survey)
        else:
            edits += _unseen(survey)
        for edit in edits:
            which = (edit.table, edit.key, edit.is_ours)
            known = found.get(which)
            if known is None:
                found[which] = edit
                continue
            is_kept = known.difference.desired is None and edit.difference.desired is not None
            kept = edit.difference if is_kept else None
            found[which] = replace(known, layers=(*known.layers, *edit.layers), kept=kept)
    return list(found.values())


def not_left_by_us(edits: Iterable[Pending], families: Iterable[Family]) -> list[Pending]:
    """Return the edits that an apply of ours which died cannot have left in MEMORY.

    It wrote our own rows, and nodes of monitored families where the monitor had placed them.
    """
    placed = {hostgroup for family in families for hostgroup in family.hostgroups}
    return [
        edit
        for edit in edits
        if not edit.is_ours
        and not (edit.layout.table.role is Role.SERVERS and edit.key[0] in placed)
    ]


def _unsaved(survey: TableSurvey) -> Iterator[Pending]:
    """Yield the edits that a SAVE would keep, or that it would overwrite on DISK."""
    not_loaded = {one.key for one in _unpublished(survey)} if survey.unsaved else set()
    for difference in survey.unsaved:
        for edit in _edits(survey, difference, Layer.DISK):
            yield replace(edit, is_loaded=difference.key not in not_loaded)


def _unseen(survey: TableSurvey) -> Iterator[Pending]:
    """Yield the edits that writing MEMORY would lose and that RUNTIME cannot show: of our rows."""
    written = {one.key for one in survey.changes.get(Layer.MEMORY, ())}
    found = [one for one in survey.unsaved if one.key in written]
    if not found or survey.disk is None or is_copied(survey.layout):
        return
    not_loaded = {one.key for one in _unpublished(survey)}
    memory, disk = (runtime_image(survey.layout, rows) for rows in (survey.memory, survey.disk))
    for one in found:
        if one.key in memory or one.key in not_loaded:
            continue
        if one.desired is None and survey.is_cluster_member:
            # What a peer sends is its RUNTIME: rows that it does not show are gone from MEMORY.
            continue
        if one.key in disk:
            # That RUNTIME lacks the row was loaded. The rest of the row may be newer.
            rest = tuple(at for at in one.columns if survey.layout.names[at] not in _HIDING)
            if one.desired is None or not rest:
                continue
            one = replace(one, columns=rest)
        yield from (edit for edit in _edits(survey, one, Layer.DISK) if edit.is_ours)


def _unpublished(survey: TableSurvey) -> list[Difference]:
    """Return where MEMORY differs from RUNTIME; a server set OFFLINE_HARD has its row of MEMORY.

    RUNTIME loses it with the next LOAD, with all rows of its node in a family. It is one edit, of
    its status.
    """
    off = to_be_taken_off(survey)
    if not off:
        return survey.unpublished
    place = survey.place or (lambda key: key)
    places = set(map(place, off))
    found = [
        one for one in survey.unpublished if one.desired is not None or place(one.key) not in places
    ]
    for key, current in off.items():
        held = survey.memory[key]
        found.append(Difference(key, current, held, differing(survey.layout, current, held)))
    return found


def _edits(survey: TableSurvey, difference: Difference, layer: Layer) -> Iterator[Pending]:
    """Yield the edit of a managed part, and the edit of an unmanaged part, of one row."""
    layout, desired, key = survey.layout, survey.desired, difference.key
    if desired is None or not desired.owns(key):
        held = survey.memory.get(key)
        why_gone = ""
        if difference.desired is None:
            columns = () if held is None else _switches_off(layout, held)
            difference = replace(difference, columns=columns)
            why_gone = _why_gone(survey, key)
        yield Pending(layout, (layer,), difference, is_ours=False, why_gone=why_gone)
        return
    wanted = desired.rows.get(key)
    memory, target = survey.memory.get(key), survey.target.get(key)
    if wanted is None or difference.current is None or difference.desired is None:
        if memory != target:
            yield Pending(layout, (layer,), replace(difference, columns=()), is_ours=True)
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
        yield Pending(layout, (layer,), replace(difference, columns=ours), is_ours=True)
    if kept:
        others = replace(difference, columns=tuple(sorted(kept)))
        is_server = layout.table.role is Role.SERVERS
        if layer is Layer.RUNTIME and is_server and is_offline_hard(layout, difference.desired):
            others = replace(others, desired=None)
        yield Pending(layout, (layer,), others, is_ours=False)


def _switches_off(layout: Layout, held: Row) -> tuple[int, ...]:
    """Return the column by which a row of MEMORY is not at RUNTIME; none where it is another."""
    if layout.table.role is Role.SERVERS:
        return (layout.index["status"],) if is_offline_hard(layout, held) else ()
    position = layout.index.get("active")
    return () if position is None or held[position] == 1 else (position,)


def _why_gone(survey: TableSurvey, key: Key) -> str:
    """Return why a row of MEMORY, or one that was there, does not arrive in another layer."""
    layout, held = survey.layout, survey.memory.get(key)
    if held is None:
        return "not in MEMORY"
    if _switches_off(layout, held):
        is_server = layout.table.role is Role.SERVERS
        return f"{'OFFLINE_HARD' if is_server else 'inactive'} in MEMORY"
    # Rows of families stand in each other's way; there are few. Of other tables one row is enough.
    rows = survey.memory if "writer_hostgroup" in layout.index else {key: held}
    return ignored_rows(layout, rows).get(key, "")


def refusals(
    edits: Iterable[Pending], *, discard: bool, include: bool, source: Source = FILES
) -> Iterator[Refusal]:
    """Yield the refusals for pending edits."""
    for edit in edits:
        if edit.is_ours and not discard:
            yield Refusal("pending_edit", f"{edit.text()}; {source.says} otherwise", DISCARD)
        elif not edit.is_ours and not include:
            yield Refusal("pending_unmanaged", f"{edit.text()}; not {source.place}", INCLUDE)
