"""What a key of the files means, as text for a terminal."""

from __future__ import annotations

import textwrap

from proxyctl.config.keys import KeyDoc, TableDoc

_WIDTH = 80
"""Units: characters."""


def key_text(key: KeyDoc | TableDoc) -> str:
    """Return what a table, a column or a variable does, which values it takes, and its page."""
    lines = [key.name]
    if key.sentence:
        lines += ["", *textwrap.wrap(key.sentence, _WIDTH, break_on_hyphens=False)]
    if key.facts:
        lines += ["", *textwrap.wrap("; ".join(key.facts), _WIDTH, break_on_hyphens=False)]
    if isinstance(key, TableDoc) and key.columns:
        lines += ["", *_columns(key)]
    if key.manual:
        lines += ["", key.manual]
    return "\n".join(lines) + "\n"


def _columns(table: TableDoc) -> list[str]:
    width = max(map(len, table.columns)) + 2
    lines = []
    for name, column in table.columns.items():
        text = column.sentence or "; ".join(column.facts)
        lines += textwrap.wrap(
            text,
            _WIDTH,
            initial_indent=name.ljust(width),
            subsequent_indent=" " * width,
            break_on_hyphens=False,
            break_long_words=False,
        )
    return lines
