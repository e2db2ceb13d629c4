"""What the files own -> the `manage` section of a file of ours.

Without it, rendered rows that are a part of a table would own all of it, and delete the rest; and a
column that the file does not say would get its default.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from proxyctl.catalog import Layout
from proxyctl.formats.yaml_writer import quoted
from proxyctl.state.row import KEEP, DesiredRow, DesiredTable, Glob, Span, Term


def manage_section(
    owned: Mapping[str, DesiredTable], tables: Mapping[str, tuple[Layout, Sequence[DesiredRow]]]
) -> str:
    """Return the section; nothing where the files own whole tables and say all of them.

    `tables`: the rows that are written, by catalogue name.
    """
    lines = [*_scopes(owned), *_ignored(owned, tables)]
    return "\n".join(["", "manage:", *lines, ""]) if lines else ""


def owned_words(owned: Mapping[str, DesiredTable]) -> list[str]:
    """Return a line for every table of which the files own a part, for forms that cannot say it."""
    return [
        f"{name}: the files own {table.scope.text} and nothing else of it"
        for name, table in owned.items()
        if table.scope is not None and table.scope.terms
    ]


def _scopes(owned: Mapping[str, DesiredTable]) -> Iterator[str]:
    for name, table in owned.items():
        if table.scope is not None and table.scope.terms:
            columns = (
                f"{column}: [{', '.join(map(_term, terms))}]"
                for column, terms in table.scope.terms.items()
            )
            yield f"  {name}: {{{', '.join(columns)}}}"


def _ignored(
    owned: Mapping[str, DesiredTable], tables: Mapping[str, tuple[Layout, Sequence[DesiredRow]]]
) -> Iterator[str]:
    ignored = {name: table.keep_on_update for name, table in owned.items() if table.keep_on_update}
    for name, (layout, rows) in tables.items():
        if unsaid := _unsaid(layout, rows):
            ignored[name] = ignored.get(name, frozenset()) | unsaid
    if ignored:
        yield "  ignore:"
    for name, columns in ignored.items():
        yield f"    {name}: [{', '.join(sorted(columns))}]"


def _unsaid(layout: Layout, rows: Sequence[DesiredRow]) -> frozenset[str]:
    """Return the columns that a row does not say, and that are not left alone for that."""
    columns = [(n, c.name) for n, c in enumerate(layout.columns) if not c.kept]
    return frozenset(
        name for position, name in columns if any(row[position] is KEEP for row in rows)
    )


def _term(term: Term) -> str:
    match term:
        case Span(low, high):
            return f"'{low}-{high}'"
        case Glob(pattern):
            return quoted(pattern)
        case str():
            return quoted(term)
        case _:
            return str(term)
