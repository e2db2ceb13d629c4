"""The table of servers of the live view, with a line for what each hostgroup adds up to.

The line of a hostgroup stands before its servers. In another order than by hostgroup, those lines
come last.
"""

from __future__ import annotations

from collections.abc import Callable

from proxyctl.errors import counted
from proxyctl.render.live_numbers import (
    bytes_text,
    duration_text,
    hostgroup_text,
    rate_text,
    short_text,
)
from proxyctl.render.live_table import WIDE, Column, Key, LiveTable
from proxyctl.stats.live.view import HostgroupLine, ServerLine
from proxyctl.text import printable

Line = ServerLine | HostgroupLine

_STATUS = {"SHUNNED_REPLICATION_LAG": "SHUNNED LAG"}
"""What a narrow column has no room for."""


def _name(line: Line) -> str:
    if isinstance(line, HostgroupLine):
        others = f", {counted(line.counters.others, 'other')}" if line.counters.others else ""
        name = printable(line.hostgroup_name) or "all"
        return f"{name}: {line.counters.online} online{others}"
    return f"{printable(line.counters.hostname)}:{line.counters.port}"


def _status(line: Line) -> str:
    if isinstance(line, HostgroupLine):
        return ""
    status = line.counters.status
    return _STATUS.get(status) or printable(status)


def _latency(line: Line) -> str:
    if isinstance(line, HostgroupLine):
        return ""
    return duration_text(line.counters.latency_us or None)


def _kind(line: Line) -> str:
    if isinstance(line, HostgroupLine):
        return "bold" if line.counters.online else "refuse"
    if line.counters.status == "ONLINE":
        return "refuse" if line.errors_per_s else ""
    return "refuse" if line.counters.status.startswith("SHUNNED") else "change"


def _details(line: Line) -> list[tuple[str, str]]:
    one = line.counters
    shared = [
        ("connections", f"{one.conn_used:,} used, {one.conn_free:,} free"),
        ("connected", f"{one.conn_ok:,} times, and {one.conn_err:,} times in vain"),
    ]
    if isinstance(line, HostgroupLine):
        return [
            ("hostgroup", hostgroup_text(one.hostgroup, line.hostgroup_name)),
            ("servers", _name(line).rpartition(": ")[2]),
            *shared,
            ("queries", f"{rate_text(line.queries_per_s)}/s"),
            ("sent to it", f"{bytes_text(line.sent_per_s)}/s"),
            ("received", f"{bytes_text(line.recv_per_s)}/s"),
        ]
    server = line.counters
    return [
        ("hostgroup", hostgroup_text(server.hostgroup, line.hostgroup_name)),
        ("server", _name(line)),
        ("status", printable(server.status)),
        *shared,
        ("queries", f"{server.queries:,}, {rate_text(line.queries_per_s)}/s"),
        ("sent to it", f"{bytes_text(server.bytes_sent)}, {bytes_text(line.sent_per_s)}/s"),
        ("received", f"{bytes_text(server.bytes_recv)}, {bytes_text(line.recv_per_s)}/s"),
        ("latency", _latency(line)),
    ]


def _of_server(key: Callable[[ServerLine], Key]) -> Callable[[Line], Key]:
    """Return a key for servers only: what has none comes last."""
    return lambda line: key(line) if isinstance(line, ServerLine) else None


def _by_hostgroup(line: Line) -> Key:
    return -line.counters.hostgroup + (0.5 if isinstance(line, HostgroupLine) else 0)


def _count(
    title: str, text: Callable[[Line], str], key: Callable[[ServerLine], Key]
) -> Column[Line]:
    return Column(title, 5, text, _of_server(key))


SERVERS: LiveTable[Line] = LiveTable(
    name="servers",
    columns=(
        Column("hg", 4, lambda x: str(x.counters.hostgroup), _by_hostgroup),
        Column("server", 0, _name, _of_server(_name), is_number=False),
        Column("status", 12, _status, _of_server(_status), is_number=False),
        _count("used", lambda x: short_text(x.counters.conn_used), lambda x: x.counters.conn_used),
        _count("free", lambda x: short_text(x.counters.conn_free), lambda x: x.counters.conn_free),
        _count("ok", lambda x: short_text(x.counters.conn_ok), lambda x: x.counters.conn_ok),
        _count("err", lambda x: short_text(x.counters.conn_err), lambda x: x.counters.conn_err),
        _count("q/s", lambda x: rate_text(x.queries_per_s), lambda x: x.queries_per_s),
        Column(
            "sent/s",
            8,
            lambda x: bytes_text(x.sent_per_s),
            _of_server(lambda x: x.sent_per_s),
            from_width=WIDE,
        ),
        Column(
            "recv/s",
            8,
            lambda x: bytes_text(x.recv_per_s),
            _of_server(lambda x: x.recv_per_s),
            from_width=WIDE,
        ),
        Column("latency", 7, _latency, _of_server(lambda x: x.counters.latency_us or None)),
    ),
    order="hg",
    lines=lambda view: (*view.servers, *view.hostgroups),
    row_key=lambda x: (
        repr(x.counters.key) if isinstance(x, ServerLine) else f"all {x.counters.hostgroup}"
    ),
    kind=_kind,
    details=_details,
)
