"""The tables of the live view: servers, digests, rules."""

from __future__ import annotations

from typing import Any

from proxyctl.digests.rules_hits import RuleHits
from proxyctl.live.digest_rates import DigestLine
from proxyctl.live.view import ServerLine
from proxyctl.render.live_numbers import (
    UNKNOWN,
    busy_text,
    bytes_text,
    duration_text,
    part_text,
    rate_text,
    short_text,
)
from proxyctl.render.live_table import Column, LiveTable
from proxyctl.render.rules_text import rule_text
from proxyctl.render.style import printable, shown

_WIDE, _WIDER = 110, 140
_STATUS = {"SHUNNED_REPLICATION_LAG": "SHUNNED LAG"}
"""What a narrow column has no room for."""


def _server_name(line: ServerLine) -> str:
    return f"{printable(line.counters.hostname)}:{line.counters.port}"


def _status(line: ServerLine) -> str:
    status = line.counters.status
    return _STATUS.get(status) or printable(status)


def _server_kind(line: ServerLine) -> str:
    if line.counters.status == "ONLINE":
        return "refuse" if line.errors_per_s else ""
    return "refuse" if line.counters.status.startswith("SHUNNED") else "change"


def _server_details(line: ServerLine) -> list[tuple[str, str]]:
    one = line.counters
    return [
        ("hostgroup", str(one.hostgroup)),
        ("server", _server_name(line)),
        ("status", printable(one.status)),
        ("connections", f"{one.conn_used:,} used, {one.conn_free:,} free"),
        ("connected", f"{one.conn_ok:,} times, and {one.conn_err:,} times in vain"),
        ("queries", f"{one.queries:,}, {rate_text(line.queries_per_s)}/s"),
        ("sent to it", f"{bytes_text(one.bytes_sent)}, {bytes_text(line.sent_per_s)}/s"),
        ("received", f"{bytes_text(one.bytes_recv)}, {bytes_text(line.recv_per_s)}/s"),
        ("latency", duration_text(one.latency_us or None)),
    ]


SERVERS: LiveTable[ServerLine] = LiveTable(
    name="servers",
    columns=(
        Column("hg", 4, lambda x: str(x.counters.hostgroup), lambda x: -x.counters.hostgroup),
        Column("server", 0, _server_name, _server_name, is_number=False),
        Column("status", 12, _status, _status, is_number=False),
        Column(
            "used", 5, lambda x: short_text(x.counters.conn_used), lambda x: x.counters.conn_used
        ),
        Column(
            "free", 5, lambda x: short_text(x.counters.conn_free), lambda x: x.counters.conn_free
        ),
        Column("ok", 5, lambda x: short_text(x.counters.conn_ok), lambda x: x.counters.conn_ok),
        Column("err", 5, lambda x: short_text(x.counters.conn_err), lambda x: x.counters.conn_err),
        Column("q/s", 5, lambda x: rate_text(x.queries_per_s), lambda x: x.queries_per_s),
        Column(
            "sent/s",
            8,
            lambda x: bytes_text(x.sent_per_s),
            lambda x: x.sent_per_s,
            from_width=_WIDE,
        ),
        Column(
            "recv/s",
            8,
            lambda x: bytes_text(x.recv_per_s),
            lambda x: x.recv_per_s,
            from_width=_WIDE,
        ),
        Column(
            "latency",
            7,
            lambda x: duration_text(x.counters.latency_us or None),
            lambda x: x.counters.latency_us or None,
        ),
    ),
    order="hg",
    lines=lambda view: view.servers,
    row_key=lambda x: repr(x.counters.key),
    kind=_server_kind,
    details=_server_details,
)


def _digest_details(line: DigestLine) -> list[tuple[str, str]]:
    return [
        ("digest", printable(line.digest)),
        ("hostgroup", _hostgroup(line)),
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


def _hostgroup(line: DigestLine) -> str:
    return "query cache" if line.hostgroup == -1 else str(line.hostgroup)


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
            from_width=_WIDE,
        ),
        Column(
            "schema",
            10,
            lambda x: _names(x.schemanames),
            lambda x: _names(x.schemanames),
            is_number=False,
            from_width=_WIDE,
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
    lines=lambda view: view.digest_lines,
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
    lines=lambda view: view.rule_lines,
    row_key=lambda x: str(x.rule_id),
    kind=lambda x: "" if x.per_s or x.per_s is None else "dim",
    details=_rule_details,
)

TABLES: tuple[LiveTable[Any], ...] = (SERVERS, DIGESTS, RULES)
"""In the order in which they stand on the screen."""
