"""Hits of query rules for a terminal and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from proxyctl.catalog import Value
from proxyctl.render.style import PLAIN, Style, shown
from proxyctl.render.wrapped import wrapped
from proxyctl.stats.rule_hits import RuleHits, RuleReport
from proxyctl.stats.units import count_text, number_text, share_text
from proxyctl.text import printable

FORMAT = 1
_WIDEST = 60
"""Characters of a pattern or the like that are shown."""
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
    "replace_pattern",
    "cache_ttl",
    "mirror_hostgroup",
    "OK_msg",
    "error_msg",
    "flagOUT",
    "timeout",
    "delay",
)
_HIDDEN = {"flagIN": 0}
"""Values that say nothing."""


def rules_text(report: RuleReport, style: Style = PLAIN, *, width: int = 100) -> str:
    """Return the report: rules in the order in which they are tried, each on a line of its own."""
    name = f"{printable(report.name)}  " if report.name != report.address else ""
    head = f"{name}{printable(report.address)}  ProxySQL {printable(report.version)}"
    lines = [style("bold", head)]
    if not report.rules:
        return "\n".join([*lines, "No query rules at RUNTIME."]) + "\n"
    since = "since the rules were last loaded"
    if report.loaded_at is not None:
        since += f", {_moment(report.loaded_at)}"
    hits = count_text(report.total, "hit")
    lines += wrapped(f"{hits} {since}; a query can hit several rules", width)
    if report.was_reloaded:
        reloaded = "rules were loaded between the samples: no rates, hits began at 0 again"
        lines += wrapped(f"note: {reloaded}", width)
    lines += ["", *_table(report, style)]
    if report.never_hit:
        ids = ", ".join(map(str, report.never_hit))
        lines += ["", *wrapped(f"never hit {since.partition(',')[0]}: {ids}", width)]
    return "\n".join(lines) + "\n"


def _table(report: RuleReport, style: Style) -> Iterator[str]:
    has_rates = report.interval_s is not None and not report.was_reloaded
    heads = ("rule", "hits", *(["hits/s"] if has_rates else []), "share")
    cells = [heads, *(_figures(rule, has_rates=has_rates) for rule in report.rules)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    yield style("dim", _aligned(heads, widths))
    for rule, figures in zip(report.rules, cells[1:], strict=True):
        line = f"{_aligned(figures, widths)}  {rule_text(rule.cells)}"
        yield line if rule.hits else style("change", line)


def _figures(rule: RuleHits, *, has_rates: bool) -> tuple[str, ...]:
    rate = [number_text(round(rule.per_s or 0, 2))] if has_rates else []
    share = share_text(rule.share) if rule.share else "-"
    return (str(rule.rule_id), f"{rule.hits:,}", *rate, share)


def rule_text(cells: Mapping[str, Value]) -> str:
    """Return a rule on one line: `match_digest ^SELECT -> hostgroup 30, cache_ttl 5000, apply`."""
    criteria = [
        f"{name} {shown(cells[name], limit=_WIDEST)}"
        for name in _CRITERIA
        if cells.get(name) is not None and cells[name] != _HIDDEN.get(name)
    ]
    if cells.get("negate_match_pattern") == 1:
        criteria.append("negated")
    effects = []
    if cells.get("destination_hostgroup") is not None:
        effects.append(f"hostgroup {cells['destination_hostgroup']}")
    effects += [
        f"{name} {shown(cells[name], limit=_WIDEST)}"
        for name in _EFFECTS
        if cells.get(name) is not None
    ]
    if cells.get("apply") == 1:
        effects.append("apply")
    return f"{', '.join(criteria) or 'every query'} -> {', '.join(effects) or 'nothing'}"


def rules_json(report: RuleReport) -> str:
    """Return the report as JSON. Shape: docs/reference/json-digests.md."""
    document = {
        "format": FORMAT,
        "name": report.name,
        "address": report.address,
        "version": report.version,
        "loaded_at": report.loaded_at,
        "interval_s": report.interval_s,
        "was_reloaded": report.was_reloaded,
        "hits": report.total,
        "never_hit": list(report.never_hit),
        "rules": [
            {
                "rule_id": rule.rule_id,
                "hits": rule.hits,
                "share": round(rule.share, 6),
                "hits_per_s": None if rule.per_s is None else round(rule.per_s, 3),
                "rule": {name: cell for name, cell in rule.cells.items() if cell is not None},
            }
            for rule in report.rules
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=True) + "\n"


def _moment(unix_s: int) -> str:
    return datetime.fromtimestamp(unix_s, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
