"""A top list of digests for a terminal: two lines a digest, figures above its text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from proxyctl.render.style import PLAIN, Style, hostgroup, seen_hostgroup, shown
from proxyctl.render.wrapped import wrapped
from proxyctl.stats.model import CACHE, Group
from proxyctl.stats.top.listing import Caught, Fate, Top, TopRow
from proxyctl.stats.units import count_text, number_text, share_text, time_text
from proxyctl.text import printable

WIDTH = 100
"""Of a line, unless told."""
_INDENT = 4
HEADS = ("#", "share", "cum.", "total", "queries", "avg", "max", "rows/q", "time/row")
_MOST_FATES = 3
LEGEND = "? stands for a literal. ProxySQL keeps sums, minimum and maximum: no percentiles."
EMPTY = "No digests: nothing was counted since ProxySQL started, or since somebody reset them."
NOTHING_LEFT = "Nothing is left by the filters."


def digest_top_text(
    top: Top, style: Style = PLAIN, *, width: int = WIDTH, has_whole_texts: bool = False
) -> str:
    """Return the whole list, in lines of `width`. `has_whole_texts`: texts are not shortened."""
    lines = [style("bold", head_text(top))]
    lines += [line for note in top.notes() for line in wrapped(f"note: {note}", width)]
    if not top.total.entries:
        return "\n".join([*lines, EMPTY]) + "\n"
    for text in summary_text(top).splitlines():
        lines += wrapped(text, width)
    lines.append("")
    if not top.rows:
        return "\n".join([*lines, NOTHING_LEFT if top.groups == 0 else ""]).rstrip() + "\n"
    figures = [HEADS, *(figures_of(number, row) for number, row in enumerate(top.rows, 1))]
    widths = [max(map(len, column)) for column in zip(*figures, strict=True)]
    lines.append(style("dim", _aligned(HEADS, widths)))
    for row, cells in zip(top.rows, figures[1:], strict=True):
        aside = "  ".join(_group_texts(row, top.hostgroup_names))
        lines += _beside(_aligned(cells, widths), aside, width)
        longest = None if has_whole_texts else width - _INDENT
        lines += [" " * _INDENT + text for text in _texts(row, longest)]
        if top.options.with_rules:
            lines += wrapped(
                f"-> {caught_text(row.caught, top.hostgroup_names)}",
                width,
                first=" " * _INDENT,
                then=" " * (_INDENT + 3),
            )
    if top.groups > len(top.rows):
        lines.append(f"... and {top.groups - len(top.rows):,} more (--limit lists more)")
    lines += ["", style("dim", LEGEND)]
    return "\n".join(lines) + "\n"


def head_text(top: Top) -> str:
    """Return which instance it is."""
    name = f"{printable(top.name)}  " if top.name != top.address else ""
    return f"{name}{printable(top.address)}  ProxySQL {printable(top.version)}"


def summary_text(top: Top) -> str:
    """Return how much is listed, and of how much."""
    total, selected = top.total, top.selected
    whole = (
        f"{count_text(total.entries, 'entry')}, {count_text(total.count_star, 'query')},"
        f" {time_text(total.sum_time)} of query time"
    )
    how = f"by {', '.join(top.options.groups)}, first by {top.options.sort}"
    if not top.options.is_filtered:
        return f"{whole}; {how}"
    part = share_text(selected.sum_time / total.sum_time) if total.sum_time else share_text(0)
    left = f"the filters leave {count_text(selected.count_star, 'query')} with {part} of that time"
    return f"{whole};\n{left}; {how}"


def figures_of(number: int, row: TopRow) -> tuple[str, ...]:
    """Return the cells of a row, in the order of HEADS."""
    per_row = row.time_per_row
    return (
        str(number),
        share_text(row.share),
        share_text(row.cumulative_share),
        time_text(row.sum_time),
        f"{row.count_star:,}",
        time_text(row.avg_time),
        time_text(row.max_time),
        number_text(row.rows_per_query),
        "-" if per_row is None else time_text(per_row),
    )


def group_value(group: Group, value: str | int, names: Mapping[int, str]) -> str:
    """Return the value of a group column for people."""
    return seen_hostgroup(int(value), names) if group is Group.HOSTGROUP else shown(value)


def caught_text(caught: Sequence[Caught], names: Mapping[int, str]) -> str:
    """Return what the rules do with a group, the biggest part first."""
    if not caught:
        return "not looked up: others of the list have too many entries"
    parts = []
    total = sum(one.load.count_star for one in caught)
    for one in caught[:_MOST_FATES]:
        fates = [fate_text(fate, names) for fate in one.fates[:_MOST_FATES]]
        text = " or ".join(fates) or "cannot be told"
        if len(one.fates) > _MOST_FATES:
            text += f" or {count_text(len(one.fates) - _MOST_FATES, 'other')}"
        share = share_text(one.load.count_star / total) if total and len(caught) > 1 else ""
        parts.append(f"{text} ({share} of the queries)" if share else text)
    if len(caught) > _MOST_FATES:
        parts.append(f"and {count_text(len(caught) - _MOST_FATES, 'other way')}")
    return "; ".join(parts)


def fate_text(fate: Fate, names: Mapping[int, str]) -> str:
    """Return one of them: `hostgroup 30 (reader) by rule 5010, cached 5000 ms`."""
    if fate.answer is not None:
        by = "" if fate.rule_id is None else f" of rule {fate.rule_id}"
        return f"answered by {printable(fate.answer)}{by}"
    if fate.hostgroup is None and fate.source == "nothing":
        return "no rule, and no such user in mysql_users"
    where = "nowhere" if fate.hostgroup is None else f"hostgroup {hostgroup(fate.hostgroup, names)}"
    by_rule = fate.source == "rule" and fate.rule_id is not None
    text = f"{where} by {f'rule {fate.rule_id}' if by_rule else fate.source}"
    if fate.rule_id is not None and not by_rule:
        text += f", past rule {fate.rule_id}"
    if fate.cache_ttl is not None:
        text += f", cached {fate.cache_ttl} ms"
    return f"{text}, rewritten" if fate.is_rewritten else text


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True))


def _group_texts(row: TopRow, names: Mapping[int, str]) -> Iterator[str]:
    for group, value in row.group.items():
        text = group_value(group, value, names)
        speaks_for_itself = group is Group.DIGEST or value == CACHE
        yield text if speaks_for_itself else f"{group} {text}"


def _beside(figures: str, aside: str, width: int) -> list[str]:
    """Return figures and what they are of: on one line, or below where there is no room."""
    if len(figures) + 2 + len(aside) <= width:
        return [f"{figures}  {aside}".rstrip()]
    return [figures, " " * _INDENT + aside]


def _texts(row: TopRow, longest: int | None) -> Iterator[str]:
    if row.digest_text is not None:
        text = row.digest_text
        yield printable(text) if longest is None else shown(text, limit=longest)
        if row.is_cut:
            yield "(cut by mysql-query_digests_max_digest_length)"
