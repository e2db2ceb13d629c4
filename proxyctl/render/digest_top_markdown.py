"""A top list of digests as a table in markdown, to be pasted into a ticket."""

from __future__ import annotations

import re

from proxyctl.digests.top import Group, Top, TopRow
from proxyctl.render.digest_top_text import (
    EMPTY,
    HEADS,
    NOTHING_LEFT,
    caught_text,
    figures_of,
    group_value,
    head_text,
    summary_text,
)
from proxyctl.render.style import printable, shown

WIDEST_TEXT = 300


def digest_top_markdown(top: Top) -> str:
    """Return the list. What came from the server stands in code spans and cannot be markup."""
    lines = [f"**Digests** of {_code(head_text(top))}", ""]
    lines += [f"Note: {_code(note)}\n" for note in top.notes()]
    if not top.total.entries:
        return "\n".join([*lines, EMPTY]) + "\n"
    lines += [f"{summary_text(top)}.", ""]
    if not top.rows:
        return "\n".join([*lines, NOTHING_LEFT]) + "\n"
    heads = [*HEADS, *top.options.groups]
    has_text, has_rules = Group.DIGEST in top.options.groups, any(r.caught for r in top.rows)
    heads += ["text"] * has_text + ["rules"] * has_rules
    lines.append(_line(heads))
    lines.append(_line(["---:"] * len(HEADS) + ["---"] * (len(heads) - len(HEADS))))
    for number, row in enumerate(top.rows, 1):
        cells = [*figures_of(number, row)]
        cells += [_code(group_value(group, value)) for group, value in row.group.items()]
        cells += [_text(row)] * has_text
        cells += [_code(caught_text(row.caught)) if row.caught else ""] * has_rules
        lines.append(_line(cells))
    return "\n".join(lines) + "\n"


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _text(row: TopRow) -> str:
    text = _code(shown(row.digest_text, limit=WIDEST_TEXT))
    return f"{text} (cut)" if row.is_cut else text


def _code(text: str) -> str:
    """Return a code span that also a table cell takes, which a pipe would end."""
    safe = printable(text).replace("|", "\\|")
    longest = max((len(run) for run in re.findall(r"`+", safe)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if safe.startswith("`") or safe.endswith("`") else ""
    return f"{fence}{pad}{safe}{pad}{fence}"
