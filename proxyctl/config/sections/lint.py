"""The `lint` section: findings that a user accepts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from proxyctl.catalog import TABLES
from proxyctl.config.context import Compilation, FileSection, SectionPath
from proxyctl.config.validation import check

if TYPE_CHECKING:
    from proxyctl.config.models import IgnoredFindings, Lint
    from proxyctl.lint.run import Ignore


def compile_lint(parts: Iterable[FileSection], context: Compilation) -> tuple[Ignore, ...]:
    """Return the ignored findings of all files, in their order. Changes: context.mistakes."""
    ignores: list[Ignore | None] = []
    for part in parts:
        section: Lint | None = check(part, context)
        for position, entry in enumerate(section.ignore if section else ()):
            ignores.append(_ignore(part, ("ignore", position), entry, context))
    return tuple(filter(None, ignores))


def _ignore(
    part: FileSection, keys: SectionPath, entry: IgnoredFindings, context: Compilation
) -> Ignore | None:
    """Return the ignored findings of an entry; None after a mistake. Changes: context."""
    # Imported here: the checks import the engines, and most files have no `lint` section.
    from proxyctl.lint.check import UnknownCode, codes_of
    from proxyctl.lint.run import Ignore

    table, key = entry.table, entry.key
    cells = key if isinstance(key, list) else [] if key is None else [key]
    columns = TABLES[table].key if table in TABLES else ()
    try:
        codes = codes_of(entry.code)
    except UnknownCode as unknown:
        code_keys = (*keys, "code") if isinstance(part.at(keys), dict) else keys
        context.note(part, code_keys, str(unknown), unknown.fix(context.mistakes.did_you_mean))
        return None
    if table is not None and not columns:
        fix = context.mistakes.did_you_mean(table, TABLES)
        context.note(part, (*keys, "table"), "no such table", fix)
    elif key is not None and table is None:
        context.note(part, (*keys, "key"), "a key needs a table", "add `table:`")
    elif key is not None and not 0 < len(cells) <= len(columns):
        message = f"the key of {table} is {', '.join(columns)}"
        context.note(part, (*keys, "key"), message)
    else:
        text = " ".join(str(word) for word in (entry.code, table, *cells) if word is not None)
        return Ignore(codes, text, part.where(*keys), table, tuple(cells) or None)
    return None
