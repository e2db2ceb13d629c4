"""Renders the hits of query rules, and a rule on one line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from proxyctl.catalog import Value
from proxyctl.render.encode import INSTANCE, Shape
from proxyctl.render.style import PLAIN, WIDTH, Style, instance_text, moment, shown, wrapped
from proxyctl.render.table import GAP, TableColumn, aligned
from proxyctl.stats.rule_hits import RuleHits, RuleReport
from proxyctl.stats.units import number_text, share_text
from proxyctl.text import counted

_WIDEST = 60
"""The most characters of a pattern or another value to show."""
_CRITERIA = (
    "flagIN",
    "username",
    "schemaname",
    "client_addr",
    "proxy_addr",
    "proxy_port",
    "digest",
    "match_digest",
    "match_pattern",
)
_EFFECTS = (
    "destination_hostgroup",
    "replace_pattern",
    "cache_ttl",
    "mirror_hostgroup",
    "OK_msg",
    "error_msg",
    "flagOUT",
    "timeout",
    "delay",
)


def rules_text(report: RuleReport, style: Style = PLAIN, *, width: int = WIDTH) -> str:
    """Render the report: one line per rule, in the order in which ProxySQL tries the rules."""
    lines = [style("bold", instance_text(report))]
    if not report.rules:
        return "\n".join([*lines, "No query rules at RUNTIME."]) + "\n"
    since = "since the rules were last loaded"
    if report.loaded_at is not None:
        since += f", {moment(report.loaded_at)}"
    hits = counted(report.total, "hit")
    lines += wrapped(f"{hits} {since}; a query can hit several rules", width)
    if report.was_reloaded:
        reloaded = (
            "rules were loaded between the readings: hits started at 0 again, so there are no rates"
        )
        lines += wrapped(f"note: {reloaded}", width)
    lines += ["", *_table(report, style)]
    if report.never_hit:
        ids = ", ".join(map(str, report.never_hit))
        lines += ["", *wrapped(f"never hit {since.partition(',')[0]}: {ids}", width)]
    return "\n".join(lines) + "\n"


def _table(report: RuleReport, style: Style) -> Iterator[str]:
    has_rates = report.interval_s is not None and not report.was_reloaded
    columns = [column for column in _COLUMNS if has_rates or column is not _RATE]
    head, *lines = aligned(columns, report.rules)
    yield style("dim", head)
    indent = " " * (len(head) + GAP)  # the last column has no title
    for rule, line in zip(report.rules, lines, strict=True):
        for part in style.lines(rule_text(rule.cells), first=line[: len(indent)], then=indent):
            yield part if rule.hits else style("change", part)


_RATE: TableColumn[RuleHits] = TableColumn(
    "hits/s", lambda rule: number_text(round(rule.per_s or 0, 2))
)
_COLUMNS: tuple[TableColumn[RuleHits], ...] = (
    TableColumn("rule", lambda rule: str(rule.rule_id)),
    TableColumn("hits", lambda rule: f"{rule.hits:,}"),
    _RATE,
    TableColumn("share", lambda rule: share_text(rule.share) if rule.share else "-"),
    TableColumn("", lambda rule: rule_text(rule.cells), is_number=False),
)


def rule_text(cells: Mapping[str, Value]) -> str:
    """Return a rule on one line: `match_digest ^SELECT -> hostgroup 30, cache_ttl 5000, apply`."""
    criteria = [name for name in _CRITERIA if cells.get(name) is not None and cells[name] != 0]
    effects = [name for name in _EFFECTS if cells.get(name) is not None]
    matches = [f"{name} {shown(cells[name], limit=_WIDEST)}" for name in criteria]
    does = [f"{name} {shown(cells[name], limit=_WIDEST)}" for name in effects]
    if cells.get("negate_match_pattern") == 1:
        matches.append("negated")
    if cells.get("apply") == 1:
        does.append("apply")
    does = [text.removeprefix("destination_") for text in does]
    return f"{', '.join(matches) or 'every query'} -> {', '.join(does) or 'nothing'}"


RULES: Shape[RuleReport] = Shape(
    "rules",
    f"{INSTANCE} loaded_at interval_s was_reloaded hits never_hit rules",
    hits=lambda report: report.total,
    rules=lambda report: RULE.each(report.rules),
)
RULE: Shape[RuleHits] = Shape(
    "rule with its hits",
    "rule_id hits share hits_per_s rule",
    share=lambda hits: round(hits.share, 6),
    hits_per_s=lambda hits: None if hits.per_s is None else round(hits.per_s, 3),
    rule=lambda hits: {name: cell for name, cell in hits.cells.items() if cell is not None},
)
