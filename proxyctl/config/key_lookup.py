"""The key of the files that a name stands for."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.catalog import TABLES
from proxyctl.catalog.variables import VARIABLES
from proxyctl.config.context import SPECIAL
from proxyctl.config.keys import KeyDoc, TableDoc, table_doc, variable_doc
from proxyctl.config.section_keys import section_doc, section_keys
from proxyctl.config.section_sentences import SENTENCES

_SECTIONS = {name: table for name, table in TABLES.items() if table.prefix is None}


def explain_key(name: str) -> KeyDoc | TableDoc | None:
    """Return what is known about a key; None if there is no key of this name."""
    if name in VARIABLES:
        return variable_doc(VARIABLES[name])
    section, _, key = name.partition(".")
    if section in _SECTIONS:
        doc = table_doc(_SECTIONS[section])
    elif section in SPECIAL:
        doc = section_doc(section)
    else:
        return None
    return doc.columns.get(key) if key else doc


def known_keys(like: str = "") -> Iterator[str]:
    """Yield the names of all keys; if `like` begins with a section, only those of its keys."""
    section = like.partition(".")[0]
    if section in _SECTIONS:
        yield from _columns(section)
    elif section in SPECIAL:
        yield from section_keys(section)
    else:
        yield from VARIABLES
        yield from SPECIAL
        yield from SENTENCES
        for name in _SECTIONS:
            yield name
            yield from _columns(name)


def _columns(table: str) -> Iterator[str]:
    return (f"{table}.{column.name}" for column in TABLES[table].columns)
