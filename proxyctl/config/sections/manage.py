"""The `manage` section: the part of a table that files own, and columns set only at INSERT."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from proxyctl.config.context import Compilation, FileSection
from proxyctl.config.rows import key_words
from proxyctl.config.validation import check_items
from proxyctl.rows.desired import DesiredTable, Scope
from proxyctl.rows.row import Where


def apply_manage(
    tables: dict[str, DesiredTable], parts: list[FileSection], context: Compilation
) -> dict[str, DesiredTable]:
    """Return the tables with the scopes of `manage`. A row outside its scope is a mistake.

    Changes: context.
    """
    scopes: dict[str, tuple[Scope, Where]] = {}
    ignored: dict[str, frozenset[str]] = {}
    for part in parts:
        for name, value in check_items(part, context).items():
            where = part.where(name, of_key=True)
            if name == "ignore":
                for table, columns in value.items():
                    ignored[table] = ignored.get(table, frozenset()) | set(columns)
            elif name in scopes:
                message = f"duplicate scope of this table (first defined at {scopes[name][1]})"
                context.note(part, (name,), message, of_key=True)
            elif name not in context.layouts:
                context.warnings.append(f"{where}: this ProxySQL has no {name}")
            elif scope := _scope(part, name, value, context):
                scopes[name] = scope, where
    result = dict(tables)
    for name in dict.fromkeys((*scopes, *ignored)):
        if name not in tables:
            text = f"manage: no section has {name}, so none of its rows are managed"
            context.warnings.append(text)
            continue
        scope, place = scopes.get(name, (None, None))
        kept = ignored.get(name, frozenset())
        table = result[name] = replace(tables[name], scope=scope, keep_on_update=kept)
        for key in table.rows:
            if scope is not None and not scope.owns(key):
                message = f"{key_words(table.layout, key)} is outside manage: {scope.text}"
                context.mistakes.add(
                    table.where[key],
                    name,
                    message,
                    f"remove the row, or widen the scope at {place}",
                )
    return result


def _scope(
    part: FileSection, table: str, value: Mapping[str, Any], context: Compilation
) -> Scope | None:
    """Return the scope of a table; None after a mistake. Changes: context.mistakes."""
    key = context.layouts[table].table.key
    if not value:
        fix = f"name one of {', '.join(key)}, or remove the scope to manage all of it"
        context.note(part, (table,), "no key column", fix)
        return None
    terms = {name: [term for item in items for term in item] for name, items in value.items()}
    texts = [f"{name} {', '.join(map(str, allowed))}" for name, allowed in terms.items()]
    return Scope.of(key, terms, " and ".join(texts))
