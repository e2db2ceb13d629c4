"""The text of a proxysql.cnf -> the rows and variables that ProxySQL makes of it, and notes.

ProxySQL silently skips unknown keys, values of another type, and rows that a quote breaks. A note
reports everything that is left out or changed here. `validate` refuses rows that fail a CHECK of
their table.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from proxyctl.catalog import (
    REFERENCE,
    TABLES,
    Column,
    Layout,
    Value,
    VariableKind,
    Version,
    layout_of,
    parse_version,
)
from proxyctl.catalog.releases import CNF_BINDS_VALUES
from proxyctl.catalog.variable_rules import NO_VALUE, canonical, runtime_text
from proxyctl.catalog.variables import MISNAMED, READ_ONLY, VARIABLES, is_secret_variable
from proxyctl.errors import ConfigError, Mistake
from proxyctl.interchange.cnf_sections import (
    SECTIONS,
    STARTUP_KEYS,
    VARIABLE_SECTIONS,
    WORDS,
    CnfSection,
)
from proxyctl.interchange.content import FileContent
from proxyctl.interchange.libconfig import WHOLE_FILE, CnfPlace, Offset, Setting, Type, parse
from proxyctl.interchange.not_a_cnf import explained, refuse_placeholders, shell_placeholders
from proxyctl.rows.row import Key, Row
from proxyctl.text import Nearest

_NEAR = 0.85
"""The least similarity of a suggested word."""


class CnfContent(NamedTuple):
    """What ProxySQL makes of a proxysql.cnf."""

    content: FileContent
    """Its warnings report everything that ProxySQL leaves out or changes."""
    stays: tuple[str, ...]
    """The keys that ProxySQL reads from the file at every start."""
    placeholders: tuple[str, ...]
    """A warning for each text with a `${NAME}`, which ProxySQL takes as it is."""


def read_cnf(
    text: str, path: str, *, version: Version | None = None, offset: Offset | None = WHOLE_FILE
) -> CnfContent:
    """Return the configuration that ProxySQL makes of the file.

    Bytes that are not UTF-8 are surrogate escapes. Tables and variables hold passwords as the file
    does; warnings and errors hold none. `version`: of the ProxySQL that reads the file, by default
    of the ProxySQL that wrote it, if the file has its version. `offset`: of a text inside of a
    file; None if its lines are not lines of the file. Raises: ConfigError for a file that keeps
    ProxySQL from starting, and for another file, such as a template.
    """
    try:
        return _read(text, path, version, offset or WHOLE_FILE)
    except ConfigError as error:
        raise explained(error, text, offset) from error


def _read(text: str, path: str, version: Version | None, offset: Offset) -> CnfContent:
    root = parse(text, path, offset)
    refuse_placeholders(root, text)
    named = version or _writer(root)
    reader = _CnfReader(FileContent(named or REFERENCE, is_for_version=named is not None))
    for name, setting in (root.members or {}).items():
        reader.read(name, setting)
    placeholders = (
        f"{_line(place)}: {key}: it contains a `${{NAME}}`, which ProxySQL takes literally: import"
        " the file into which a script has put the value"
        for place, key in shell_placeholders(root)
    )
    return CnfContent(reader.content, tuple(reader.stays), tuple(placeholders))


def _writer(root: Setting) -> Version | None:
    """Return the version that SAVE CONFIG TO FILE wrote as an admin variable, or None."""
    variables = (root.members or {}).get("admin_variables")
    version = (variables.members or {}).get("version") if variables else None
    try:
        return None if version is None else parse_version(str(version.value))
    except ValueError:
        return None


def _line(place: CnfPlace) -> str:
    return f"{place[0]}:{place[1]}"


class _CnfReader:
    def __init__(self, content: FileContent) -> None:
        self.content = content
        self.stays: list[str] = []
        self._version = content.version
        self._binds_values = content.version.has(CNF_BINDS_VALUES)
        self._nearest = Nearest(_NEAR)

    def _note(self, place: CnfPlace, name: str, text: str) -> None:
        self.content.warnings.append(f"{_line(place)}: {name}: {text}")

    def _like(self, word: str, known: Collection[str]) -> str:
        """Return `; did you mean threads?`, or an empty text."""
        near = self._nearest.of(word, sorted(known))
        return f"; did you mean {near}?" if near else ""

    def read(self, name: str, setting: Setting) -> None:
        """Read a setting of the top level. Changes: self."""
        section = SECTIONS.get(name)
        if section is not None and not self._version.has(section.since):
            section = None
        table = TABLES.get(section.table if section else name)
        is_read = section is not None or name in VARIABLE_SECTIONS
        if name in STARTUP_KEYS:
            self.stays.append(name)
        elif is_read and table is not None and not table.exists_in(self._version):
            first = parse_version(table.since)
            if first[:2] == REFERENCE[:2]:  # which began with an alpha and a beta
                first = max(first, REFERENCE)
            fix = f"import it with `--proxysql-version {first}` or a newer one"
            text = f"ProxySQL {self._version} has no such section; {fix}"
            self._note(setting.place, name, text)
        elif name in VARIABLE_SECTIONS:
            self._variables(name, setting)
        elif section is not None and setting.type in (Type.LIST, Type.GROUP):
            self._section(section, setting)
        elif section is not None:
            self._note(setting.place, name, f"expected a list ( ), got {setting.type}")
        elif table is not None:
            text = "many versions of ProxySQL do not read this table from a .cnf: left out"
            self._note(setting.place, name, text)
        else:
            fix = self._like(name, [*SECTIONS, *VARIABLE_SECTIONS, *STARTUP_KEYS])
            self._note(setting.place, name, f"ProxySQL has no such key{fix}")

    # Variables ----------------------------------------------------------------------------------

    def _variables(self, section: str, setting: Setting) -> None:
        prefix = VARIABLE_SECTIONS[section]
        if setting.members is None:
            message = f"expected a group {{ }}, got {setting.type}: ProxySQL does not start with it"
            raise ConfigError([Mistake(*setting.place, section, message)])
        for key, item in setting.members.items():
            name = prefix + (key.removeprefix(prefix) if self._binds_values else key)
            self.content.places["variables", (name,)] = _line(item.place)
            value = self._variable(name, item)
            if value is not None:
                self.content.variables[name] = value

    def _variable(self, name: str, setting: Setting) -> str | None:
        """Return the value that ProxySQL uses; None if it keeps its default."""
        known = VARIABLES.get(name)
        if known is None or name in READ_ONLY or not known.exists_in(self._version):
            self._note(setting.place, *self._why_unread(name))
            return None
        is_odd = setting.type not in _INSERTED
        text = "" if is_odd else str(setting.value)
        text = text.lower() if setting.type is Type.BOOL else text
        if text == NO_VALUE:
            self._note(setting.place, name, "(null) means that it has no value")
            return None
        if '"' in text and not self._binds_values:
            self._note(setting.place, name, "ProxySQL cannot read a double quote in a variable")
            return None
        value = runtime_text(name, text, self._version)
        shown = setting.type if is_odd else "this" if is_secret_variable(name) else repr(text)
        if value is None:
            if text != known.default:
                self._note(setting.place, name, f"ProxySQL refuses {shown} and keeps its default")
            return None
        is_changed = value.lower() != text.strip().lower() and known.kind is not VariableKind.BOOL
        if is_odd or is_changed:
            self._note(setting.place, name, f"ProxySQL reads {shown} as {value or repr(value)}")
        return canonical(name, value)

    def _why_unread(self, name: str) -> tuple[str, str]:
        """Return the name of a variable that ProxySQL ignores, and the reason."""
        bare = name.partition("-")[2]
        if name in READ_ONLY:
            return name, "read-only: it cannot be set"
        if name in VARIABLES:
            return name, f"ProxySQL {self._version} has no such variable"
        if bare.startswith(tuple(VARIABLE_SECTIONS.values())):
            return bare, "the group adds the prefix again, so ProxySQL ignores the line"
        names = {known.partition("-")[2]: known for known in VARIABLES}
        meant = MISNAMED.get(name) or names.get(bare)
        near = f"; did you mean {meant}?" if meant else self._like(bare, names)
        return name, f"ProxySQL has no such variable{near}"

    # Tables -------------------------------------------------------------------------------------

    def _section(self, section: CnfSection, setting: Setting) -> None:
        """Read the entries of a table; the last entry with a key wins. Changes: self."""
        layout = layout_of(TABLES[section.table], self._version)
        rows: dict[Key, Row] = {}
        holders: dict[tuple[tuple[str, ...], Row], Key] = {}
        for entry in setting.children():
            cells = self._cells(section, layout, entry)
            if cells is None:
                continue
            row = tuple(cells.values())
            key = layout.key_of(row)
            words = ", ".join(f"{name} {cells[name]}" for name in section.mandatory)
            if lost := self._lost_column(section, cells):
                text = f"ProxySQL before {CNF_BINDS_VALUES} loses or changes a row with a quote"
                self._note(entry.place, section.name, f"{words}: {lost}: {text} there")
                self.content.places[layout.name, key] = _line(entry.place)
                continue
            for unique in (layout.table.key, *layout.table.unique):
                claim = (unique, tuple(cells[name] for name in unique))
                other = holders.get(claim)
                if other in rows:
                    first = self.content.places[layout.name, other]
                    self._note(entry.place, section.name, f"{words}: replaces the entry at {first}")
                    del rows[other]
                holders[claim] = key
            rows[key] = row
            self.content.places[layout.name, key] = _line(entry.place)
        if rows:
            self.content.layouts[layout.name] = layout
            self.content.tables[layout.name] = list(rows.values())

    def _lost_column(self, section: CnfSection, cells: Mapping[str, Value]) -> str | None:
        """Return the column whose quote breaks the row: ProxySQL pastes text between quotes."""
        for name, value in () if self._binds_values else cells.items():
            quote = section.quote_of(name)
            if isinstance(value, str) and quote is not None and quote in value:
                return name
        return None

    def _cells(
        self, section: CnfSection, layout: Layout, entry: Setting
    ) -> dict[str, Value] | None:
        """Return the cells of an entry by column; None if ProxySQL skips the entry."""
        if entry.members is None:
            text = f"expected an entry {{ }}, got {entry.type}: skipped"
            self._note(entry.place, section.name, text)
            return None
        cells: dict[str, Value] = {}
        missing, known = [], set(section.unread)
        for column in layout.columns:
            keys = section.keys_of(column.name)
            known |= {*keys}
            setting = self._setting(section, column, entry.members)
            if setting is None:
                cells[column.name] = section.default_of(column)
                missing += [" or ".join(keys)] if column.name in section.mandatory else []
                continue
            words, other = WORDS.get(column.name, (None, ""))
            cells[column.name] = value = setting.value
            if words is not None and str(value).lower() not in words:
                text = f"{column.name}: ProxySQL reads {value!r} as {other}"
                self._note(setting.place, section.name, text)
                cells[column.name] = other
        for key, setting in entry.members.items():
            if key not in known:
                text = f"{key}: ProxySQL has no such key{self._like(key, known)}"
                self._note(setting.place, section.name, text)
            elif key in section.unread and setting.value != cells[key]:
                text = f"{key}: ProxySQL does not read it from a .cnf: it stays {cells[key]}"
                self._note(setting.place, section.name, text)
        if missing:
            text = f"an entry without {', '.join(missing)}: ProxySQL skips it"
            self._note(entry.place, section.name, text)
        return None if missing else cells

    def _setting(
        self, section: CnfSection, column: Column, members: Mapping[str, Setting]
    ) -> Setting | None:
        """Return the setting that ProxySQL reads for a column: the first of the right type."""
        expected = Type.INT if column.is_numeric else Type.TEXT
        for key in () if column.name in section.unread else section.keys_of(column.name):
            setting = members.get(key)
            if setting is not None and setting.type is expected:
                return setting
            if setting is not None:
                text = f"{key}: expected {expected}, got {setting.type}: ignored"
                self._note(setting.place, section.name, text)
        return None


_INSERTED = (Type.BOOL, Type.INT, Type.TEXT)
