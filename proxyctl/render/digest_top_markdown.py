"""A top list of digests as a table in markdown, to be pasted into a ticket."""

from __future__ import annotations

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
from proxyctl.render.markdown_code import code_span
from proxyctl.render.style import shown
from proxyctl.stats.model import Group
from proxyctl.stats.top.listing import Top, TopRow

WIDEST_TEXT = 300


def digest_top_markdown(top: Top) -> str:
    """Return the list. What came from the server stands in code spans and cannot be markup."""
    lines = [f"**Digests** of {code_span(head_text(top))}", ""]
    lines += [f"Note: {code_span(note)}\n" for note in top.notes()]
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
        cells += [
            code_span(group_value(group, value, top.hostgroup_names))
            for group, value in row.group.items()
        ]
        cells += [_text(row)] * has_text
        caught = caught_text(row.caught, top.hostgroup_names)
        cells += [code_span(caught) if row.caught else ""] * has_rules
        lines.append(_line(cells))
    return "\n".join(lines) + "\n"


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _text(row: TopRow) -> str:
    text = code_span(shown(row.digest_text, limit=WIDEST_TEXT))
    return f"{text} (cut)" if row.is_cut else text
