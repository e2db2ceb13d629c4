"""What stands about a table, a column or a variable in the pages, the schema and `schema --key`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from proxyctl.catalog import Column, Table, Variable, VariableKind
from proxyctl.catalog.releases import OLDEST
from proxyctl.catalog.sentences import (
    column_sentence,
    manual,
    table_sentence,
    variable_sentence,
)
from proxyctl.catalog.variables import (
    CHOICES,
    READ_ONLY,
    RESTART_TO_TAKE_EFFECT,
    STEPS,
)
from proxyctl.config.columns import expected

_FILE_DEFAULTS = {
    "active": "default `1`",
    "status": "left alone if not given",
    "password": "left alone if not given",
}
"""Columns whose default in a file is not ProxySQL's."""


@dataclass(frozen=True)
class KeyDoc:
    """A column, another key of a section, or a variable."""

    name: str
    """The name: of what is not a variable with its section before it."""
    sentence: str
    """What it does; empty if nobody knows."""
    facts: tuple[str, ...]
    """The values it takes, its default, its releases, and what else is to be known of it."""
    manual: str | None
    """The address of its page in ProxySQL's manual."""


@dataclass(frozen=True)
class TableDoc:
    """A table, or another section."""

    name: str
    """The name."""
    sentence: str
    """What it holds; empty if nobody knows."""
    facts: tuple[str, ...]
    """Of a table its admin module, its key and its releases."""
    manual: str | None
    """The address of its page in ProxySQL's manual."""
    columns: dict[str, KeyDoc]
    """The columns of all releases, each in its newest form; or the keys of the section."""


def table_doc(table: Table) -> TableDoc:
    """Return what is known about a table."""
    names = dict.fromkeys(column.name for column in table.columns)
    facts = (
        f"admin module {table.admin_module}",
        f"key {', '.join(f'`{column}`' for column in table.key)}",
        *_versions(table.since, table.until),
    )
    return TableDoc(
        table.name,
        table_sentence(table.name) or "",
        facts,
        manual(table.name),
        {name: _column_doc(table, name) for name in names},
    )


def _column_doc(table: Table, name: str) -> KeyDoc:
    forms = [column for column in table.columns if column.name == name]
    return KeyDoc(
        f"{table.name}.{name}",
        column_sentence(table.name, name) or "",
        (
            expected(forms[-1]),
            _column_default(forms[-1]),
            *_versions(forms[0].since, forms[-1].until, table.since),
        ),
        manual(table.name),
    )


def _column_default(column: Column) -> str:
    if column.is_required:
        return "required"
    if column.name in _FILE_DEFAULTS:
        return _FILE_DEFAULTS[column.name]
    if column.default is None:
        return "default `''`" if column.notnull else "default NULL"
    return f"default `{column.default!r}`"


def variable_doc(variable: Variable) -> KeyDoc:
    """Return what is known about a variable."""
    facts = [_variable_values(variable)]
    if variable.default is not None:
        facts.append(f"default `{variable.default or repr('')}`")
    facts += _versions(variable.since, variable.until)
    if variable.name in RESTART_TO_TAKE_EFFECT:
        facts.append("takes effect at a restart")
    if variable.name in READ_ONLY:
        facts.append("read only")
    if variable.secret:
        facts.append("secret")
    side = variable.name.partition("-")[0]
    sentence = variable_sentence(variable.name) or ""
    return KeyDoc(variable.name, sentence, tuple(facts), manual(f"{side}_variables"))


def _variable_values(variable: Variable) -> str:
    choices = STEPS.get(variable.name) or CHOICES.get(variable.name)
    if choices:
        return "one of " + ", ".join(map(str, choices))
    match variable.kind:
        case VariableKind.BOOL:
            return "true or false"
        case VariableKind.INT if variable.maximum is None:
            return f"an integer from {variable.minimum or 0}"
        case VariableKind.INT:
            return f"an integer from {variable.minimum or 0} to {variable.maximum}"
        case _:
            return "text"


def _versions(since: str, until: str | None, outer: str = str(OLDEST)) -> Iterator[str]:
    """Yield the first and the last release; `outer`: the first one of the table."""
    if since not in (str(OLDEST), outer):
        yield f"since {since}"
    if until is not None:
        yield f"until {until}"
