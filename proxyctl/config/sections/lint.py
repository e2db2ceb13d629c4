"""The `lint` section: findings that are meant to be."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from proxyctl.catalog import TABLES
from proxyctl.config.context import Context, Keys, Part
from proxyctl.config.validation import check
from proxyctl.state.row import Key

if TYPE_CHECKING:
    from proxyctl.config.models import IgnoredFindings, Lint
    from proxyctl.lint.run import Ignore


def compile_lint(parts: Iterable[Part], context: Context) -> tuple[Ignore, ...]:
    """Return what the sections of all files ignore, in their order. Changes: context.mistakes."""
    found: list[Ignore] = []
    for part in parts:
        section: Lint | None
        section = check(part, context)
        for position, entry in enumerate(section.ignore if section else ()):
            made = _entry(part, position, entry, context)
            found += [] if made is None else [made]
    return tuple(found)


def _entry(
    part: Part, position: int, entry: str | IgnoredFindings, context: Context
) -> Ignore | None:
    # Only here: with the checks come the engines, and most files have no such section.
    from proxyctl.lint.check import UnknownCode, codes_of
    from proxyctl.lint.run import Ignore

    keys: Keys = ("ignore", position)
    code = entry if isinstance(entry, str) else entry.code
    try:
        codes = codes_of(code)
    except UnknownCode as unknown:
        at = keys if isinstance(entry, str) else (*keys, "code")
        fix = unknown.fix(context.mistakes.did_you_mean)
        context.note(part, at, str(unknown), fix)
        return None
    where = part.where(*keys)
    if isinstance(entry, str):
        return Ignore(codes, code, where)
    row = _row(part, keys, entry, context)
    if row is None:
        return None
    table, key = row
    return Ignore(codes, _text(code, table, key), where, table, key)


def _row(
    part: Part, keys: Keys, entry: IgnoredFindings, context: Context
) -> tuple[str | None, Key | None] | None:
    """Return the table and the key of an entry; None after a mistake. Changes: context.mistakes."""
    if entry.table is not None and entry.table not in TABLES:
        fix = context.mistakes.did_you_mean(entry.table, TABLES)
        context.note(part, (*keys, "table"), "no such table", fix)
        return None
    if entry.key is None:
        return entry.table, None
    if entry.table is None:
        context.note(part, (*keys, "key"), "of which table?", "add `table:`")
        return None
    key: Key = tuple(entry.key) if isinstance(entry.key, list) else (entry.key,)
    columns = TABLES[entry.table].key
    if not 0 < len(key) <= len(columns):
        message = f"the key of {entry.table} is {', '.join(columns)}"
        context.note(part, (*keys, "key"), message)
        return None
    return entry.table, key


def _text(code: str, table: str | None, key: Key | None) -> str:
    words = [code, *([table] if table else []), *map(str, key or ())]
    return " ".join(words)
