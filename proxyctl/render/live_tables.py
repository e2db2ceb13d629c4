"""The tables of the live view: digests, rules, and in which order they stand on the screen."""

from __future__ import annotations

from typing import Any

from proxyctl.render.live_numbers import (
    UNKNOWN,
    busy_text,
    duration_text,
    hostgroup_text,
    part_text,
    rate_text,
    short_text,
)
from proxyctl.render.live_servers import SERVERS
from proxyctl.render.live_table import WIDE, Column, LiveTable
from proxyctl.render.rules import rule_text
from proxyctl.render.style import shown
from proxyctl.stats.live.view import DigestLine
from proxyctl.stats.rule_hits import RuleHits
from proxyctl.text import printable

_WIDER = 140


def _digest_details(line: DigestLine) -> list[tuple[str, str]]:
    return [
        ("digest", printable(line.digest)),
        ("hostgroup", hostgroup_text(line.hostgroup, line.hostgroup_name)),
        ("schema", _names(line.schemanames)),
        ("user", _names(line.usernames)),
        ("calls", f"{line.count_star:,}, {rate_text(line.calls_per_s, is_least=line.is_least)}/s"),
        ("query time", f"{duration_text(line.sum_time)}, {_busy(line)}/s"),
        ("average", duration_text(line.average)),
        ("share", part_text(line.share)),
        ("text", printable(line.text)),
    ]


def _busy(line: DigestLine) -> str:
    return busy_text(line.time_per_s, is_least=line.is_least)


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(shown(name) for name in names)


DIGESTS: LiveTable[DigestLine] = LiveTable(
    name="digests",
    columns=(
        Column("time/s", 8, _busy, lambda x: x.time_per_s),
        Column("share", 6, lambda x: part_text(x.share), lambda x: x.share),
        Column(
            "calls/s",
            7,
            lambda x: rate_text(x.calls_per_s, is_least=x.is_least),
            lambda x: x.calls_per_s,
        ),
        Column("avg", 8, lambda x: duration_text(x.average), lambda x: x.average),
        Column("total", 8, lambda x: duration_text(x.sum_time), lambda x: x.sum_time),
        Column(
            "hg",
            5,
            lambda x: "cache" if x.hostgroup == -1 else str(x.hostgroup),
            lambda x: -x.hostgroup,
        ),
        Column(
            "user",
            10,
            lambda x: _names(x.usernames),
            lambda x: _names(x.usernames),
            is_number=False,
            from_width=WIDE,
        ),
        Column(
            "schema",
            10,
            lambda x: _names(x.schemanames),
            lambda x: _names(x.schemanames),
            is_number=False,
            from_width=WIDE,
        ),
        Column(
            "digest",
            18,
            lambda x: printable(x.digest),
            lambda x: x.digest,
            is_number=False,
            from_width=_WIDER,
        ),
        Column("text", 0, lambda x: printable(x.text), lambda x: x.text, is_number=False),
    ),
    order="time/s",
    lines=lambda view: view.digests.lines,
    row_key=lambda x: f"{x.digest} {x.hostgroup}",
    kind=lambda x: "" if x.calls_per_s or x.calls_per_s is None else "dim",
    details=_digest_details,
)


def _rule_details(line: RuleHits) -> list[tuple[str, str]]:
    cells: list[tuple[str, Any]] = [
        (name, value) for name, value in line.cells.items() if value is not None
    ]
    return [
        *((name, shown(value, limit=2_000)) for name, value in cells),
        ("hits", f"{line.hits:,}, {rate_text(line.per_s)}/s"),
        ("share", _share_of_hits(line)),
    ]


def _share_of_hits(line: RuleHits) -> str:
    return part_text(line.share) if line.hits else UNKNOWN


RULES: LiveTable[RuleHits] = LiveTable(
    name="rules",
    columns=(
        Column("rule", 6, lambda x: str(x.rule_id), lambda x: -x.rule_id),
        Column("hits/s", 6, lambda x: rate_text(x.per_s), lambda x: x.per_s),
        Column("share", 6, _share_of_hits, lambda x: x.share),
        Column("hits", 6, lambda x: short_text(x.hits), lambda x: x.hits),
        Column(
            "what", 0, lambda x: rule_text(x.cells), lambda x: rule_text(x.cells), is_number=False
        ),
    ),
    order="hits/s",
    lines=lambda view: view.rules.rules,
    row_key=lambda x: str(x.rule_id),
    kind=lambda x: "" if x.per_s or x.per_s is None else "dim",
    details=_rule_details,
)

TABLES: tuple[LiveTable[Any], ...] = (SERVERS, DIGESTS, RULES)
"""In the order in which they stand on the screen."""
