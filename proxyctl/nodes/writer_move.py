"""The weights that move a writer, and how rows are told that hold them from those that are edited.

While the monitor moves the writer, others may edit MEMORY. In a ProxySQL Cluster a peer whose
monitor moves it first may send what was loaded back, placed as its monitor did, into all layers.
What equals the rows that were loaded is ours; whatever else differs is an edit. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from proxyctl.catalog import Value
from proxyctl.families import Family, Node, ServerColumns
from proxyctl.placement import without_shunning
from proxyctl.state import Key, Row, Rows

_Place = tuple[Family | None, Key | Node]
"""A node in a family, wherever it is placed there; else the key of a row."""


@dataclass(frozen=True)
class WriterMove:
    """A LOAD of weights. `before`: the rows that MEMORY is meant to hold; `image`: those loaded."""

    columns: ServerColumns
    families: tuple[Family, ...]
    before: Rows
    image: Rows

    def undone(self, rows: Rows) -> tuple[Rows, list[Key]]:
        """Return rows of a layer without the move, and the keys of those that are edited, sorted.

        An edited row stays, but for a weight that is ours. Rows of a node in a family that differ
        from those loaded by their hostgroup and status only are placed by a monitor.
        """
        old, ours, now = map(self._by_place, (self.before, self.image, rows))
        result, edited = Rows(), list[Key]()
        for place in {**old, **now}:
            was, loaded, found = (one.get(place, {}) for one in (old, ours, now))
            if found == was or self._is_ours(place, was, loaded, found):
                result |= was
                continue
            result |= {key: self._weighed(was, loaded, key, row) for key, row in found.items()}
            edited += [key for key in {**was, **found} if found.get(key) != was.get(key)]
        return result, sorted(edited, key=str)

    def edits(self, rows: Rows) -> list[Key]:
        """Return the keys whose rows are not exactly as they were before, sorted."""
        before = self.before
        return sorted(
            (key for key in {**before, **rows} if rows.get(key) != before.get(key)), key=str
        )

    def as_loaded(self, runtime: Rows) -> Rows:
        """Return rows that publish no more than RUNTIME holds, without the move."""
        configured = {
            key: without_shunning(self.columns, row)
            for key, row in runtime.items()
            if not self._is_off(row)
        }
        return self.undone(configured)[0]

    def has_weights(self, rows: Rows) -> bool:
        """Return whether a layer holds weights of the move."""
        at, meant = self.columns.weight, self.undone(rows)[0]
        return any(meant.get(key, row)[at] != row[at] for key, row in rows.items())

    def _by_place(self, rows: Rows) -> dict[_Place, Rows]:
        found: dict[_Place, Rows] = {}
        for key, row in rows.items():
            hostgroup = row[self.columns.hostgroup]
            family = next((one for one in self.families if hostgroup in one.hostgroups), None)
            place = (family, self.columns.node(row) if family else key)
            found.setdefault(place, {})[key] = row
        return found

    def _is_ours(self, place: _Place, was: Rows, loaded: Rows, found: Rows) -> bool:
        """Return whether rows of one place are what was loaded, as a peer sends it."""
        live = [row for row in found.values() if not self._is_off(row)]
        if not live:
            # RUNTIME does not show what is OFFLINE_HARD.
            return not any(not self._is_off(row) for row in (loaded or was).values())
        if place[0] is None or not place[0].is_galera:
            # No monitor of Galera places them: nothing but what was loaded is sent back.
            known = [row for row in loaded.values() if not self._is_off(row)]
            return {*map(self._shown, live)} == {*map(self._shown, known)}
        attributes = {self._attributes(row) for row in (*was.values(), *loaded.values())}
        places = {"ONLINE", "SHUNNED", *map(self._status, loaded.values())}
        return all(
            self._attributes(row) in attributes and self._status(row) in places for row in live
        )

    def _weighed(self, was: Rows, loaded: Rows, key: Key, row: Row) -> Row:
        """Return an edited row with the weight of before where it has the one that was loaded."""
        at = self.columns.weight
        before = [was[key][at]] if key in was else _cells(was.values(), at)
        if not before or row[at] in before or row[at] not in _cells(loaded.values(), at):
            return row
        return (*row[:at], before[0], *row[at + 1 :])

    def _is_off(self, row: Row) -> bool:
        return self._status(row) == "OFFLINE_HARD"

    def _status(self, row: Row) -> str:
        return str(row[self.columns.status]).upper()

    def _shown(self, row: Row) -> Row:
        return without_shunning(self.columns, row)

    def _attributes(self, row: Row) -> Row:
        placed = (self.columns.hostgroup, self.columns.status)
        return tuple(cell for at, cell in enumerate(row) if at not in placed)


def _cells(rows: Iterable[Row], at: int) -> list[Value]:
    return [row[at] for row in rows]
