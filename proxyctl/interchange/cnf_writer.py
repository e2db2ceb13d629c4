"""Rows -> the text of a proxysql.cnf, by rules that keep every value as it is.

ProxySQL loses a whole row for a quote in the wrong place, and its SAVE CONFIG writes files that it
reads back as other values. Rows and variables that a .cnf cannot hold are left out, with a note.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from proxyctl.catalog import MAX_INT, Column, Layout, Value
from proxyctl.catalog.variables import is_secret_variable
from proxyctl.interchange.cnf_sections import (
    SECTION_OF_TABLE,
    SECTIONS,
    SINGLE_CHECK_TYPES,
    VARIABLE_SECTIONS,
    CnfSection,
)
from proxyctl.interchange.libconfig import MIN_INT
from proxyctl.rows.row import KEEP, DesiredRow, listed_rows, named_rows, row_name
from proxyctl.text import CONTROL, printable


def write_cnf(
    tables: Mapping[str, tuple[Layout, Sequence[DesiredRow]]],
    variables: Mapping[str, str],
    *,
    header: Sequence[str] = (),
) -> tuple[str, list[str]]:
    """Return the file, and notes on everything left out, which its comments repeat.

    A column that the file does not set gets ProxySQL's default. A user whose password is KEEP is
    left out: anybody could log in as that user. Shape: `tables` by catalogue name.
    """
    writer = _CnfWriter([])
    body = [*writer.variables(variables)]
    for section in SECTIONS.values():
        if section.table in tables and tables[section.table][0].version.has(section.since):
            body += writer.section(section, *tables[section.table])
    for name, (layout, rows) in tables.items():
        place = SECTION_OF_TABLE.get(name)
        if rows and (place is None or not layout.version.has(place.since)):
            names = named_rows(name, (layout.key_of(row) for row in rows))
            writer.notes.append(f"{name}: {names}: a .cnf cannot hold this table")
    notes = [f"not in this file: {note}" for note in writer.notes]
    comments = [f"# {printable(line)}".rstrip() for line in (*header, *notes)]
    return "\n".join([*comments, *body]) + "\n", writer.notes


@dataclass
class _CnfWriter:
    notes: list[str]

    def variables(self, variables: Mapping[str, str]) -> Iterator[str]:
        """Yield the lines of both groups of variables. Changes: self.notes."""
        for section, prefix in VARIABLE_SECTIONS.items():
            lines = []
            for name, value in variables.items():
                if name.startswith(prefix) and self._can_hold(name, value):
                    lines.append(f"    {name[len(prefix) :]}={_scalar(value)}")
            if lines:
                yield from ("", f"{section}=", "{", *lines, "}")
        for name in variables:
            if not name.startswith(tuple(VARIABLE_SECTIONS.values())):
                self.notes.append(f"{name}: a .cnf cannot hold this variable")

    def _can_hold(self, name: str, value: str) -> bool:
        if name == "admin-version" or value == "(null)":
            return False
        if '"' in value or "\0" in value:
            shown = "" if is_secret_variable(name) else f" {value!r}:"
            self.notes.append(f"{name}:{shown} ProxySQL would lose it because of a double quote")
            return False
        return True

    def section(
        self, section: CnfSection, layout: Layout, rows: Sequence[DesiredRow]
    ) -> Iterator[str]:
        """Yield the lines of one table. Changes: self.notes."""
        secrets = [n for n, column in enumerate(layout.columns) if column.secret]
        entries, unset = [], []
        for row in rows:
            if any(row[position] is KEEP for position in secrets):
                unset.append(row_name(layout.name, layout.key_of(row)))
            elif entry := self._entry(section, layout, row):
                entries.append(f"    {{ {entry} }}")
        if unset:
            names = listed_rows(list(dict.fromkeys(unset)))
            text = f"{names}: no password is set here, and without one anyone could log in"
            self.notes.append(text)
        if entries:
            yield from ("", f"{section.name}=", "(", ",\n".join(entries), ")")

    def _entry(self, section: CnfSection, layout: Layout, row: DesiredRow) -> str | None:
        """Return the settings of a row; None if a .cnf cannot hold the row."""
        place = row_name(layout.name, layout.key_of(row))
        settings: list[str] = []
        for column, cell in zip(layout.columns, row, strict=True):
            value = column.default if cell is KEEP else cell
            if column.name in section.unread:
                if value != section.default_of(column):
                    self.notes.append(f"{place}: {column.name} {value}: a .cnf cannot hold it")
                    return None
                continue
            reason = _why_not(section, column, value)
            if reason and column.name == "comment":
                self.notes.append(f"{place}: the comment: {reason}")
                continue
            if reason:
                self.notes.append(f"{place}: {column.name}: {reason}")
                return None
            if column.name == "re_modifiers" and value is None:
                # An absent key would become CASELESS; RUNTIME treats '' like NULL.
                value = ""
            is_needed = column.name in section.mandatory
            if value is not None and (is_needed or value != section.default_of(column)):
                settings.append(f"{column.name}={_scalar(value)}")
        return " ; ".join(settings)


def _why_not(section: CnfSection, column: Column, value: Value) -> str | None:
    """Return why ProxySQL would lose or change this value, or None."""
    if value is None:
        return None
    if isinstance(value, int):
        is_rule = section.name.endswith("_query_rules") and column.name != "rule_id"
        if is_rule and value < 0:
            return "a negative number is ignored"
        return None if MIN_INT <= value <= MAX_INT else "a number beyond 32 bits is ignored"
    if column.is_numeric or isinstance(value, float):
        return "only an integer is read here" if column.is_numeric else "only text is read here"
    quote = section.quote_of(column.name)
    if quote is not None and quote in value:
        return f"a {'double' if quote == chr(34) else 'single'} quote makes ProxySQL lose the row"
    if "\0" in value:
        return "a NUL character ends the text"
    if column.name == "check_type" and value.lower() not in SINGLE_CHECK_TYPES:
        return "ProxySQL would treat a combined check as read_only"
    return None


_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_SPECIAL = re.compile(rf'[\\"{CONTROL}\udc80-\udcff]')


def _scalar(value: Value) -> str:
    """Return a value as libconfig reads it: backslashes doubled, odd bytes as hexadecimal."""
    if not isinstance(value, str):
        return str(value)

    def escaped(special: re.Match[str]) -> str:
        if special[0] in _ESCAPES:
            return _ESCAPES[special[0]]
        return "".join(f"\\x{byte:02x}" for byte in special[0].encode("utf-8", "surrogateescape"))

    return '"' + _SPECIAL.sub(escaped, value) + '"'
