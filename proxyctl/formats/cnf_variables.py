"""One variable of a proxysql.cnf -> the value that ProxySQL runs with, or why it ignores the line.

ProxySQL inserts whatever stands in the group and judges it when it loads the variables: unknown
names vanish, values out of range fall back to what was there before. All without a word.
"""

from __future__ import annotations

from typing import NamedTuple

from proxyctl.catalog import Version
from proxyctl.catalog.variable_rules import NO_VALUE, TEXT_RULES, canonical, taken
from proxyctl.catalog.variables import READ_ONLY, VARIABLES, Variable, VariableKind
from proxyctl.formats.cnf_notes import Notes
from proxyctl.formats.libconfig import Setting, Type


class Reading(NamedTuple):
    """A value, a note, or both. None: the variable keeps its default."""

    value: str | None
    note: str | None = None


def read_variable(name: str, setting: Setting, version: Version, notes: Notes) -> Reading:
    """Return what ProxySQL makes of one line. `name` is the key of the file behind its prefix.

    `notes` know which name may have been meant.
    """
    if name in READ_ONLY:
        return Reading(None, f"{name} belongs to the program and cannot be set")
    known = VARIABLES.get(name)
    if known is None or not known.exists_in(version):
        return Reading(None, _unknown(name, version, notes))
    text = _text(setting)
    if text == NO_VALUE:
        return Reading(None, f"{name}: (null) stands for no value")
    if '"' in text:
        return Reading(None, f"{name}: ProxySQL cannot read a double quote in a variable")
    reading = _READERS[known.kind](known, text)
    if setting.type not in _TYPES:
        taken = reading.value or "an empty text" if reading.value is not None else "nothing"
        return Reading(reading.value, f"{name}: ProxySQL takes {setting.type} for {taken} here")
    return reading


_TYPES = (Type.BOOL, Type.INT, Type.TEXT)


def _text(setting: Setting) -> str:
    """Return the text that ProxySQL inserts; of types that it does not know an empty one."""
    if setting.type is Type.BOOL:
        return "true" if setting.value else "false"
    return str(setting.value) if setting.type in _TYPES else ""


def _unknown(name: str, version: Version, notes: Notes) -> str:
    prefix, _, rest = name.partition("-")
    if rest.startswith(("mysql-", "admin-")):
        return f"{rest}: the group adds the prefix once more: ProxySQL ignores the line"
    known = VARIABLES.get(name)
    if known is not None and known.until is not None:
        return f"{name}: gone, ProxySQL {known.until} was the last to have it"
    if known is not None:
        return f"{name}: ProxySQL {version} does not have it yet"
    elsewhere = [n for n in VARIABLES if n.partition("-")[2] == rest]
    if elsewhere:
        return f"{name}: ProxySQL does not know this variable; {elsewhere[0]} is one"
    names = [n.partition("-")[2] for n in VARIABLES if n.startswith(prefix)]
    return f"{name}: ProxySQL does not know this variable{notes.like(rest, names)}"


def _number(variable: Variable, text: str) -> Reading:
    shown = taken(variable.name, text)
    if shown is None:
        default = "its default" if variable.default is None else variable.default
        return Reading(None, f"{variable.name}: {text!r} is out of range: it stays at {default}")
    if text.strip() != shown:
        return Reading(shown, f"{variable.name}: ProxySQL takes {text!r} for {shown}")
    return Reading(shown)


def _switch(variable: Variable, text: str) -> Reading:
    shown = taken(variable.name, text)
    if shown is None:
        note = f"{text!r} is neither true nor false: it stays at {variable.default}"
        return Reading(None, f"{variable.name}: {note}")
    return Reading(shown)


def _words(variable: Variable, text: str) -> Reading:
    name = variable.name
    shown = taken(name, text)
    if shown is None and not text:
        return Reading(None, f"{name}: may not be empty: it stays at its default")
    if shown is None:
        expected = TEXT_RULES[name].expected
        return Reading(None, f"{name}: {text!r} is not {expected}: it stays at its default")
    if name == "mysql-server_version":
        if shown != text:
            return Reading(shown, f"{name}: ProxySQL takes {text!r} for {shown}")
        if not text[:1].isdigit():
            return Reading(
                text, f"{name}: some clients refuse a version that begins with no number"
            )
    return Reading(canonical(name, text))


_READERS = {
    VariableKind.INT: _number,
    VariableKind.BOOL: _switch,
    VariableKind.TEXT: _words,
}
