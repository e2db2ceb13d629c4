"""The text of a proxysql.cnf -> the rows and variables that ProxySQL makes of it, and notes.

ProxySQL skips what it does not understand without a word: unknown keys, values of another type,
entries that a quote or a CHECK breaks. The rows here are those of a ProxySQL that was started with
this file, so that importing the file of a running one plans to nothing; everything that it skips is
a note. Only what keeps ProxySQL from starting is an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from proxyctl.catalog import REFERENCE, TABLES, Layout, Version, layout_of
from proxyctl.catalog.variables import VARIABLES
from proxyctl.errors import ConfigError, Mistake
from proxyctl.formats.cnf_entries import read_section
from proxyctl.formats.cnf_notes import Note, Notes
from proxyctl.formats.cnf_sections import SECTIONS, STARTUP_KEYS, VARIABLE_SECTIONS
from proxyctl.formats.cnf_variables import read_variable
from proxyctl.formats.libconfig import Include, Place, Setting, parse
from proxyctl.state.row import Key, Row

__all__ = ["Imported", "Note", "read_cnf"]


@dataclass(frozen=True)
class Imported:
    """What a file holds.

    Shape: `tables` by catalogue name, only those with a row. `places`: of a row by its table and
    key, of a variable by "variables" and its name.
    """

    tables: Mapping[str, tuple[Layout, list[Row]]]
    variables: Mapping[str, str]
    notes: tuple[Note, ...]
    places: Mapping[tuple[str, Key], Place]


def read_cnf(
    text: str,
    path: str,
    *,
    version: Version = REFERENCE,
    include: Include | None = None,
) -> Imported:
    """Return what ProxySQL makes of the file. Bytes that are not UTF-8 come as surrogate escapes.

    Passwords stand in the result as they stand in the file, and in no note and no error. `include`
    gives the text of a file that @include names.
    Raises: ConfigError for a file with which ProxySQL does not start.
    """
    root = parse(text, path, include)
    notes = Notes()
    tables: dict[str, tuple[Layout, list[Row]]] = {}
    variables: dict[str, str] = {}
    places: dict[tuple[str, Key], Place] = {}
    for name, setting in (root.members or {}).items():
        section = SECTIONS.get(name)
        if name in VARIABLE_SECTIONS:
            variables |= _variables(name, setting, version, notes)
            for key, item in (setting.members or {}).items():
                places["variables", (VARIABLE_SECTIONS[name] + key,)] = item.place
        elif section is not None and TABLES[section.table].exists_in(version):
            layout = layout_of(TABLES[section.table], version)
            rows = read_section(section, layout, setting, notes)
            if rows:
                tables[layout.name] = (layout, list(rows.values()))
            for place, row in rows.items():
                places[layout.name, layout.key_of(row)] = place
        else:
            notes.add(setting.place, f"{name}: {_why_unread(name, setting, notes)}")
    _note_admin_names(tables, variables, places, notes)
    return Imported(tables, variables, tuple(notes.found), places)


def _variables(section: str, setting: Setting, version: Version, notes: Notes) -> dict[str, str]:
    if setting.members is None:
        message = f"{setting.type}, where ProxySQL needs a group {{ }}: it does not start"
        raise ConfigError([Mistake(*setting.place, section, message)])
    values: dict[str, str] = {}
    for key, item in setting.members.items():
        name = VARIABLE_SECTIONS[section] + key
        reading = read_variable(name, item, version, notes)
        if reading.value is not None:
            values[name] = reading.value
        if reading.note is not None:
            notes.add(item.place, reading.note)
    return values


def _why_unread(name: str, setting: Setting, notes: Notes) -> str:
    if name in STARTUP_KEYS:
        return "read from the .cnf at every start, and stays there"
    if setting.children():
        hint = notes.like(name, [*SECTIONS, *VARIABLE_SECTIONS])
        return f"ProxySQL reads no such section from a .cnf{hint}"
    return f"ProxySQL does not know this key{notes.like(name, STARTUP_KEYS)}"


def _note_admin_names(
    tables: Mapping[str, tuple[Layout, list[Row]]],
    variables: Mapping[str, str],
    places: Mapping[tuple[str, Key], Place],
    notes: Notes,
) -> None:
    """Note users who would take the place of an account of the admin interface. Changes: notes."""
    if "mysql_users" not in tables:
        return
    accounts: set[str] = set()
    for name in ("admin-admin_credentials", "admin-stats_credentials"):
        credentials = variables.get(name) or VARIABLES[name].default or ""
        accounts |= {entry.partition(":")[0] for entry in credentials.split(";")}
    layout, rows = tables["mysql_users"]
    for row in rows:
        user = row[layout.index["username"]]
        if user in accounts:
            text = f"mysql_users: {user} is an administrator too: that login stops working"
            notes.add(places["mysql_users", layout.key_of(row)], text)
