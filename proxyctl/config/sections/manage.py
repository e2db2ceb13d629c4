"""The `manage` section: which part of a table is ours, and which columns count only at INSERT."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from proxyctl.catalog import Column
from proxyctl.config.context import Context, Keys, Part
from proxyctl.config.mistakes import Refusal, shown
from proxyctl.config.rows import key_words
from proxyctl.config.validation import check_items
from proxyctl.state.row import DesiredTable, Glob, Scope, Span, Term, Where

_RANGE = re.compile(r"([0-9]{1,10})\s*-\s*([0-9]{1,10})\Z")
_GLOB = re.compile(r"[*?\[]")


@dataclass
class Management:
    """What `manage` says. Shape: all by table name."""

    scopes: dict[str, Scope] = field(default_factory=dict)
    places: dict[str, Where] = field(default_factory=dict)
    ignored: dict[str, frozenset[str]] = field(default_factory=dict)


def compile_manage(parts: list[Part], context: Context) -> Management:
    """Return the scopes and ignored columns of all files. Changes: context."""
    result = Management()
    for part in parts:
        for name, value in check_items(part, context).items():
            where = part.where(name, of_key=True)
            if name == "ignore":
                for table, columns in value.items():
                    result.ignored[table] = result.ignored.get(table, frozenset()) | set(columns)
            elif name in result.places:
                message = f"duplicate scope of this table (first defined at {result.places[name]})"
                context.note(part, (name,), message, of_key=True)
            elif name not in context.layouts:
                context.warnings.append(f"{where}: this ProxySQL has no {name}")
            else:
                result.places[name] = where
                scope = _scope(part, name, value, context)
                if scope is not None:
                    result.scopes[name] = scope
    return result


def _scope(part: Part, table: str, value: Mapping[str, Any], context: Context) -> Scope | None:
    """Return the scope of a table; None after a mistake. Changes: context.mistakes."""
    layout = context.layouts[table]
    count = len(context.mistakes)
    if not value:
        fix = f"name one of {', '.join(layout.table.key)}, or remove the scope to manage all of it"
        context.note(part, (table,), "no key column", fix)
    terms: dict[str, Sequence[Term]] = {}
    texts: list[str] = []
    for name, found in value.items():
        keys = (table, name)
        items = found if isinstance(found, list) else [found]
        if not items:
            context.note(part, keys, "the list is empty, so no row would be managed")
        column = layout.column(name)
        terms[name] = [term for item in items for term in _terms(column, item, part, keys, context)]
        texts.append(f"{name} {', '.join(map(str, items))}")
    if len(context.mistakes) > count:
        return None
    return Scope.of(layout.table.key, terms, " and ".join(texts))


def _terms(column: Column, item: int | str, part: Part, keys: Keys, context: Context) -> list[Term]:
    """Return the terms of one entry, such as `1,5,10-20`, `writer` or `app_*`.

    Changes: context.mistakes.
    """
    if column.is_numeric:
        if isinstance(item, int):
            return [item]
        return [_number(column, word.strip(), part, keys, context) for word in item.split(",")]
    if isinstance(item, int):
        context.note(part, keys, "expected text or a pattern, got an integer", "quote it")
        return []
    return [Glob(item) if _GLOB.search(item) else item]


def _number(column: Column, word: str, part: Part, keys: Keys, context: Context) -> Term:
    if found := _RANGE.match(word):
        low, high = int(found[1]), int(found[2])
        if low > high:
            context.note(part, keys, f"{word} runs backwards")
        return Span(low, high)
    if word.isascii() and word.isdigit():
        return int(word)
    message = f"{shown(word)} is neither a number nor a range"
    fix: str | None = 'write numbers and ranges: "1,5,10-20"'
    if column.hostgroup:
        try:
            return context.hostgroup(word)
        except Refusal as refusal:
            message, fix = refusal.message, refusal.fix
    context.note(part, keys, message, fix)
    return None


def apply_manage(
    tables: Mapping[str, DesiredTable], management: Management, context: Context
) -> dict[str, DesiredTable]:
    """Return the tables with their scopes. A row outside its scope is a mistake.

    Changes: context.
    """
    result = dict(tables)
    for name in dict.fromkeys((*management.scopes, *management.ignored)):
        table = result.get(name)
        if table is None:
            context.warnings.append(
                f"manage: no section has {name}, so none of its rows are managed"
            )
            continue
        scope = management.scopes.get(name)
        ignored = management.ignored.get(name, frozenset())
        result[name] = replace(table, scope=scope, keep_on_update=ignored)
        if scope is None:
            continue
        for key in table.rows:
            if not scope.owns(key):
                message = f"{key_words(table.layout, key)} is outside manage: {scope.text}"
                fix = f"the scope is set at {management.places[name]}"
                context.mistakes.add(table.where[key], name, message, fix)
    return result
