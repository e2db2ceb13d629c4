"""Rows of an instance, or of a proxysql.cnf, as rows of a file that `validate` accepts.

Both hold more than our files can say. A cell is written as ProxySQL reads it. A row or a variable
that is refused all the same stands in the file as a comment. Each of them is a warning, so that
taking over never stops, and nothing is lost without a word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from proxyctl.catalog import MAX_INT, Column, Kind, Layout, Value
from proxyctl.errors import Mistake
from proxyctl.formats.yaml_writer import places_in, row_lines, write_document
from proxyctl.state.cells import MAX_LATENCY_MS, MODIFIERS, as_read
from proxyctl.state.fold import Exported
from proxyctl.state.row import KEEP, DesiredRow, Key

Check = Callable[[str], Sequence[Mistake]]
"""What is wrong with a file of this text."""

Tables = Mapping[str, tuple[Layout, list[DesiredRow]]]

_SHOWN_KEYS = 5
_SHOWN_TEXT = 40

_DIGEST = re.compile(r"0[xX](?=0*[1-9A-Fa-f])[0-9A-Fa-f]{1,16}\Z")
"""A digest as the files take it."""

_SURROGATE = re.compile("[\ud800-\udfff]")

_MODIFIERS = re.compile(rf"(?:(?:{'|'.join(MODIFIERS)})(?:,(?!\Z)|\Z))*\Z", re.IGNORECASE)
"""A list of modifiers as the files take it."""


def key_of(layout: Layout, row: DesiredRow) -> Key:
    """Return the key of a row; the files always say it."""
    return layout.key_of(cast("tuple[Value, ...]", row))


@dataclass
class Announcements:
    """Warnings about rows, the same one for many rows said once."""

    exported: Exported
    _found: dict[tuple[str, str], list[Key]] = field(default_factory=dict)

    def add(self, table: str, key: Key, text: str) -> None:
        """Note one row. Changes: self."""
        self._found.setdefault((table, text), []).append(key)

    def say(self) -> None:
        """Make them warnings: in a file that was imported each with its place.

        Changes: self.exported.warnings.
        """
        for (table, text), keys in self._found.items():
            placed = [self.exported.places.get((table, key)) for key in keys]
            if any(placed):
                for place, key in zip(placed, keys, strict=True):
                    self.exported.warnings.append(f"{place}: {table} {_words([key])}: {text}")
            else:
                self.exported.warnings.append(f"{table} {_words(keys)}: {text}")


def _words(keys: Sequence[Key]) -> str:
    words = [":".join(map(str, key)) for key in keys[:_SHOWN_KEYS]]
    more = f" and {len(keys) - _SHOWN_KEYS} more" if len(keys) > _SHOWN_KEYS else ""
    return ", ".join(words) + more


# Cells ------------------------------------------------------------------------------------------


def as_proxysql_reads(exported: Exported, tables: Tables) -> Tables:
    """Return the rows with the cells that our files refuse as ProxySQL reads them.

    A plan compares cells by what ProxySQL reads, so it finds no difference there. Keys stay as they
    are. Changes: exported.warnings, exported.left_out.
    """
    found = Announcements(exported)
    read: dict[str, tuple[Layout, list[DesiredRow]]] = {}
    for name, (layout, rows) in tables.items():
        reader = _Reader(exported, layout, found)
        read[name] = (layout, list(map(reader.row, rows)))
    found.say()
    return read


class _Reader:
    """Reads the rows of one table as ProxySQL does.

    `_numbers`: with the largest number that ProxySQL takes as it is. `_texts`: with the form that
    the files take. `_unlisted`: columns that only the instance knows.
    """

    def __init__(self, exported: Exported, layout: Layout, found: Announcements) -> None:
        self._exported, self._layout, self._found = exported, layout, found
        self._left_out = exported.left_out.setdefault(layout.name, {})
        is_rules = layout.name.endswith("_query_rules")
        forms = (("digest", _DIGEST), ("re_modifiers", _MODIFIERS)) if is_rules else ()
        columns = list(enumerate(layout.columns))
        self._numbers = [
            (position, MAX_LATENCY_MS if column.name == "max_latency_ms" else MAX_INT)
            for position, column in columns
            if column.is_numeric and column.is_listed and position not in layout.key_index
        ]
        self._texts = [(layout.index[name], form) for name, form in forms]
        self._unlisted = [position for position, column in columns if not column.is_listed]
        self._jsons = [position for position, column in columns if column.kind is Kind.JSON]

    def row(self, row: DesiredRow) -> DesiredRow:
        """Return a row as it is written. Changes: what was given to the constructor."""
        if self._left_out and key_of(self._layout, row) in self._left_out:
            return row
        changes: dict[int, Any] = {}
        for position in self._odd(row):
            self._read(row, position, changes)
        for position in self._jsons:
            cell = row[position]
            if isinstance(cell, str) and not cell.isascii() and _SURROGATE.search(cell):
                reason = f"{self._layout.names[position]}: JSON in a file is UTF-8, and this is not"
                self._exported.leave_out(
                    self._layout.name, {key_of(self._layout, row): reason}, runs=True
                )
        for position in self._unlisted:
            column = self._layout.columns[position]
            if row[position] not in (KEEP, column.default):
                self._found.add(self._layout.name, key_of(self._layout, row), _only_there(column))
        if not changes:
            return row
        return tuple(changes.get(position, cell) for position, cell in enumerate(row))

    def _odd(self, row: DesiredRow) -> Iterator[int]:
        """Yield where a file may not be able to say the cell."""
        for position, largest in self._numbers:
            cell = row[position]
            if cell.__class__ is not int or not 0 <= cell <= largest:
                yield position
        for position, form in self._texts:
            cell = row[position]
            if isinstance(cell, str) and form.match(cell) is None:
                yield position

    def _read(self, row: DesiredRow, position: int, changes: dict[int, Any]) -> None:
        cell, column = row[position], self._layout.columns[position]
        if cell is None or cell is KEEP:
            return
        read = as_read(self._layout.table, column, cell)
        low, _ = column.bounds
        is_refused = isinstance(read, int) and low is not None and read < low
        if is_refused or (read == cell and type(read) is type(cell)):
            return
        changes[position] = read
        if read is None and cell in ("", -1):
            # ProxySQL's own ways to say nothing.
            return
        text = f"{column.name} {_shown(cell)} is written as {_shown(read)}"
        text += ", which is what ProxySQL makes of it"
        self._found.add(self._layout.name, key_of(self._layout, row), text)


def _only_there(column: Column) -> str:
    return (
        f"{column.name}: proxyctl does not know this column; plan and apply take it at an instance"
        " that has it, validate refuses it"
    )


def _shown(value: Value) -> str:
    if isinstance(value, str) and len(value) > _SHOWN_TEXT:
        return repr(value[:_SHOWN_TEXT] + "...")
    return "null" if value is None else repr(value)


# Rows -------------------------------------------------------------------------------------------


def leave_out_refused(exported: Exported, tables: Tables, check: Check) -> None:
    """Note the rows and variables that `validate` refuses.

    Each check sees only what is left, since one row may be refused because of another. Changes:
    exported.left_out, exported.refused, exported.warnings.
    """
    suspects = {
        name: (layout, seen)
        for name, (layout, rows) in tables.items()
        if (seen := _suspects(exported, layout, rows))
    }
    while True:
        sections = without_left_out(exported, suspects)
        variables = {n: v for n, v in exported.variables.items() if n not in exported.refused}
        text = write_document(sections, variables)
        mistakes = check(text)
        if not mistakes:
            return
        places = places_in(text)
        found = [(places.get(one.line), one) for one in mistakes]
        if not any(place for place, _ in found):
            for one in mistakes:
                said = "; ".join(map(str.strip, one.lines()))
                exported.warnings.append(f"the file will be refused: {said}")
            return
        for place, mistake in found:
            section, item = place or ("", 0)
            if isinstance(item, str):
                exported.refused.setdefault(item, _reason(mistake))
            elif section:
                layout, written = sections[section]
                key = key_of(layout, written[item])
                exported.leave_out(section, {key: _reason(mistake)}, runs=True)


def _reason(mistake: Mistake) -> str:
    """Return what is wrong, after the name of the column if it is about one."""
    _, _, column = mistake.key.rpartition("].")
    return f"{column}: {mistake.message}" if column and column != mistake.key else mistake.message


def _kept(exported: Exported, layout: Layout, rows: Iterable[DesiredRow]) -> list[DesiredRow]:
    left_out = exported.left_out.get(layout.name)
    if not left_out:
        return list(rows)
    return [row for row in rows if key_of(layout, row) not in left_out]


_BULK = ("_query_rules_fast_routing", "_users")


def _suspects(exported: Exported, layout: Layout, rows: list[DesiredRow]) -> list[DesiredRow]:
    """Return the rows that a check has to see.

    Tables of hundreds of thousands of rows are looked at here first: a row of plain numbers within
    their limits and plain text is accepted, and reading it as YAML takes half of an export's time.
    """
    names_logins = any(name.endswith("_credentials") for name in exported.variables)
    if not layout.name.endswith(_BULK) or names_logins:
        return rows
    limits = [_limits(column) for column in layout.columns]
    return [row for row in rows if not all(map(_is_plain, row, limits))]


def _limits(column: Column) -> tuple[int, int] | str | None:
    """Return the limits of a number; of text whether NULL may stand there, as "NULL" or ""."""
    if column.name in ("backend", "frontend"):
        return (1, 1)
    if column.kind is Kind.BOOL:
        return (0, 1)
    if column.is_numeric:
        low, high = column.bounds
        return (low or 0, MAX_INT if high is None else high)
    if column.kind is Kind.JSON or column.check:
        return None
    return "" if column.notnull else "NULL"


def _is_plain(cell: object, limits: tuple[int, int] | str | None) -> bool:
    if isinstance(limits, tuple):
        return cell.__class__ is int and limits[0] <= cell <= limits[1]
    if cell is None:
        return limits == "NULL"
    if limits is None:
        return cell == ""
    return cell is KEEP or (cell.__class__ is str and "\0" not in cell)


def without_left_out(
    exported: Exported, tables: Tables
) -> dict[str, tuple[Layout, list[DesiredRow]]]:
    """Return the tables as the file has them.

    A table of which nothing is left stands in no file: an empty section would delete its rows.
    """
    kept = {
        name: (layout, _kept(exported, layout, rows)) for name, (layout, rows) in tables.items()
    }
    return {name: found for name, found in kept.items() if found[1] or not tables[name][1]}


def remarks_on(exported: Exported, tables: Tables) -> dict[str, list[str]]:
    """Return the rows that are left out as lines of comment, by section, after their reasons."""
    found: dict[str, dict[str, list[DesiredRow]]] = {}
    for name, row, reason in _left_out_rows(exported, tables):
        found.setdefault(name, {}).setdefault(reason, []).append(row)
    return {
        name: [
            line
            for reason, rows in reasons.items()
            for line in (f"left out: {reason}", *row_lines(tables[name][0], rows))
        ]
        for name, reasons in found.items()
    }


def _left_out_rows(exported: Exported, tables: Tables) -> Iterator[tuple[str, DesiredRow, str]]:
    for name, (layout, rows) in tables.items():
        left_out = exported.left_out.get(name, {})
        for row in rows:
            found = left_out.get(key_of(layout, row)) if left_out else None
            if found is not None:
                yield name, row, found.reason


def announce(exported: Exported, tables: Tables, sections: Mapping[str, object]) -> None:
    """Say what is left out, and what a plan makes of that. Changes: exported.warnings."""
    found = Announcements(exported)
    for name, row, reason in _left_out_rows(exported, tables):
        key = key_of(tables[name][0], row)
        text = f"left out, a comment in the file shows it: {reason}"
        if not exported.places and name in sections:
            layers = "" if exported.left_out[name][key].runs else " from MEMORY and DISK"
            text += f"; a plan of this file deletes it{layers}"
        found.add(name, key, text)
    found.say()
    for name, reason in exported.refused.items():
        place = exported.places.get(("variables", (name,)))
        start = f"{place}: " if place else ""
        text = f"{start}{name}: left out, a comment in the file shows it: {reason}"
        exported.warnings.append(text)
