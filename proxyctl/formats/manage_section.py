"""What the files own -> the `manage` section of a file of ours.

Without it, rendered rows that are a part of a table would own all of it, and delete the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from proxyctl.formats.yaml_writer import quoted
from proxyctl.state import DesiredTable, Glob, Span, Term


def manage_section(owned: Mapping[str, DesiredTable]) -> str:
    """Return the section; nothing where the files own whole tables."""
    lines = [*_scopes(owned), *_ignored(owned)]
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


def _ignored(owned: Mapping[str, DesiredTable]) -> Iterator[str]:
    ignored = {name: table.keep_on_update for name, table in owned.items() if table.keep_on_update}
    if ignored:
        yield "  ignore:"
    for name, columns in ignored.items():
        yield f"    {name}: [{', '.join(sorted(columns))}]"


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
