"""One section of a proxysql.cnf -> the rows that ProxySQL inserts for it.

Each entry is put through the table's own constraints in an SQLite of ours, with INSERT OR REPLACE
as ProxySQL does it, so that what a CHECK refuses there is refused here.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping
from contextlib import closing

from proxyctl.catalog import Column, Layout, Value
from proxyctl.catalog.ddl import create_table
from proxyctl.formats.cnf_notes import Notes
from proxyctl.formats.cnf_sections import SINGLE_CHECK_TYPES, STATUSES, CnfSection
from proxyctl.formats.libconfig import Place, Setting, Type
from proxyctl.state.row import Row

Values = dict[str, Value]


def read_section(
    section: CnfSection, layout: Layout, setting: Setting, notes: Notes
) -> dict[Place, Row]:
    """Return the rows of a section by the place of their entry, in the order of ProxySQL's table.

    Changes: notes.
    """
    if setting.type not in (Type.LIST, Type.GROUP):
        notes.add(setting.place, f"{section.name}: {setting.type}, where a list ( ) is needed")
        return {}
    reader = _SectionReader(section, layout, notes)
    with closing(reader.table):
        for entry in setting.children():
            reader.read(entry)
        return reader.table.rows()


class _SectionReader:
    def __init__(self, section: CnfSection, layout: Layout, notes: Notes) -> None:
        self.section = section
        self.layout = layout
        self.table = _Table(layout)
        self._notes = notes
        self._known = {key for name in layout.names for key in section.keys_of(name)}

    def _note(self, place: Place, text: str) -> None:
        self._notes.add(place, f"{self.section.name}: {text}")

    def read(self, entry: Setting) -> None:
        """Read one entry into the table, or note why not. Changes: self."""
        if entry.members is None:
            self._note(entry.place, f"{entry.type}, where an entry {{ }} is needed: skipped")
            return
        found = {
            column.name: self._find(column, entry.members)
            for column in self.layout.columns
            if column.name not in self.section.unread
        }
        values = {
            column.name: self._value(column, found.get(column.name))
            for column in self.layout.columns
        }
        self._note_unread(entry.members, values)
        missing = [name for name in self.section.mandatory if found[name] is None]
        if missing:
            keys = ", ".join(" or ".join(self.section.keys_of(name)) for name in missing)
            self._note(entry.place, f"an entry without {keys}: ProxySQL skips it")
            return
        refusal = (
            self._unquote(values) or _negative(values) or self.table.insert(values, entry.place)
        )
        shown = ", ".join(f"{name} {values[name]}" for name in self.section.mandatory)
        if refusal:
            self._note(entry.place, f"{shown}: lost, {refusal}")
            return
        line = self.table.first_line(values, entry.place)
        if line:
            self._note(entry.place, f"{shown}: takes the place of the entry at line {line}")

    def _find(self, column: Column, members: Mapping[str, Setting]) -> Setting | None:
        """Return the setting that the column is taken from: the first key of the right type."""
        wanted = Type.INT if column.is_numeric else Type.TEXT
        for key in self.section.keys_of(column.name):
            setting = members.get(key)
            if setting is None:
                continue
            if setting.type is wanted:
                return setting
            self._note(setting.place, f"{key}: {setting.type} is ignored, where {wanted} is needed")
        return None

    def _value(self, column: Column, setting: Setting | None) -> Value:
        """Return what ProxySQL takes the setting for. An absent one is the section's default."""
        if setting is None:
            return self.section.default_of(column)
        value = setting.value
        if isinstance(value, str):
            return self._text(column, value, setting.place)
        if self.section.name != "mysql_query_rules" or column.name in ("rule_id", "active"):
            return value
        if column.name in ("negate_match_pattern", "apply"):
            return int(value != 0)
        if value < 0:
            self._note(setting.place, f"{column.name}: a negative number is ignored")
            return column.default
        return value

    def _text(self, column: Column, value: str, place: Place) -> str:
        taken = value
        if column.name == "status" and value.upper() not in STATUSES:
            taken = "ONLINE"
        elif column.name == "check_type" and value.lower() not in SINGLE_CHECK_TYPES:
            taken = "read_only"
        if taken != value:
            self._note(place, f"{column.name}: ProxySQL takes {value!r} for {taken}")
        return taken

    def _note_unread(self, members: Mapping[str, Setting], values: Values) -> None:
        for key, setting in members.items():
            if key in self.section.unread:
                if setting.value != values[key]:
                    text = f"{key}: ProxySQL does not read it from a .cnf: it is {values[key]}"
                    self._note(setting.place, text)
            elif key not in self._known:
                hint = self._notes.like(key, self._known)
                self._note(setting.place, f"{key}: ProxySQL does not know this key{hint}")

    def _unquote(self, values: Values) -> str | None:
        """Take doubled quotes for one, as SQLite does; return why a row is lost by a single one."""
        for name, value in values.items():
            quote = self.section.quote_of(name)
            if quote is None or not isinstance(value, str) or quote not in value:
                continue
            if quote in value.replace(quote * 2, ""):
                word = "double" if quote == '"' else "single"
                return f"ProxySQL cannot read a {word} quote in {name}"
            values[name] = value.replace(quote * 2, quote)
        return None


def _negative(values: Values) -> str | None:
    for name, value in values.items():
        if isinstance(value, int) and value < 0:
            return f"{name} is negative"
    return None


_MARK = "\U0010fffd"
"""SQLite takes no surrogate escapes: while a row is inside, this character and the byte stand for
one, and this one twice for itself."""

_IN = {0xDC00 + byte: f"{_MARK}{chr(byte)}" for byte in range(0x80, 0x100)} | {
    ord(_MARK): _MARK * 2
}
_STAND_IN = re.compile(f"{_MARK}(.)", re.DOTALL)


def _out(text: str) -> str:
    """Return a text of SQLite with the surrogate escapes that it had."""
    return _STAND_IN.sub(
        lambda found: _MARK if found[1] == _MARK else chr(0xDC00 + ord(found[1])), text
    )


class _Table:
    """The rows of one section behind the table's constraints."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._db = sqlite3.connect(":memory:")
        self._db.execute(create_table(layout, "t"))
        marks = ",".join("?" * len(layout.names))
        # The names are counted off: the columns stand in the order of the layout.
        self._insert = f"INSERT OR REPLACE INTO t VALUES ({marks})"
        self._places: dict[tuple[tuple[str, ...], Row], Place] = {}
        self._entries: dict[int, Place] = {}

    def insert(self, values: Values, place: Place) -> str | None:
        """Insert a row; return why the table refuses it, or None. Changes: self."""
        row = [
            value.translate(_IN) if isinstance(value, str) else value for value in values.values()
        ]
        try:
            cursor = self._db.execute(self._insert, row)
        except sqlite3.IntegrityError as error:
            return str(error)
        self._entries[cursor.lastrowid or 0] = place
        return None

    def first_line(self, values: Values, place: Place) -> int | None:
        """Return the line of an entry whose place this one takes, or None. Changes: self."""
        line = None
        for unique in (self._layout.table.key, *self._layout.table.unique):
            key = (unique, tuple(values[name] for name in unique))
            if key in self._places:
                line = line or self._places[key][1]
            self._places[key] = place
        return line

    def close(self) -> None:
        """Close the database. Changes: self."""
        self._db.close()

    def rows(self) -> dict[Place, Row]:
        """Return the rows by the place of their entry, oldest first."""
        cursor = self._db.execute("SELECT rowid, * FROM t ORDER BY rowid")
        return {
            self._entries[number]: tuple(_out(v) if isinstance(v, str) else v for v in row)
            for number, *row in cursor
        }
