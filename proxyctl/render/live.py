"""The live view as data: the lines over its tables, and the tables with their order and filter.

The line of a hostgroup stands before its servers. In another order than by hostgroup, those lines
come last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Generic, TypeVar

from proxyctl.errors import counted
from proxyctl.render.rules import rule_text
from proxyctl.render.style import seen_hostgroup, shown
from proxyctl.render.table import Cell, Column
from proxyctl.stats.live.view import DigestLine, ServerLine, View
from proxyctl.stats.rule_hits import RuleHits
from proxyctl.stats.units import share_text, size_text, time_text
from proxyctl.text import printable

Line = TypeVar("Line")
Part = tuple[str, str]
"""A label, and what it is the label of. Either can be empty."""
SEPARATOR = "  "
GAP = 1
"""Blanks between columns."""
_WIDE, _WIDER = 110, 140
"""From these widths on there is room for more columns."""
UNKNOWN = "-"


# -- Numbers, short enough for the columns.


_UNITS = (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3))
_NEARLY_10, _NEARLY_100 = 9.995, 99.95
"""From here on a number is rounded to one with a digit more."""


def short_text(number: float | None) -> str:
    """Return a number with five characters at most: `12.3k`, `4.56M`; `-` when it is not known."""
    if number is None:
        return UNKNOWN
    if number == int(number) and number < 1_000:
        return f"{number:.0f}"
    unit, one = next((pair for pair in _UNITS if number >= pair[1]), ("", 1.0))
    scaled = number / one
    places = 0 if scaled >= _NEARLY_100 else 1 if scaled >= _NEARLY_10 else 2
    return f"{scaled:.{places}f}{unit}"


def duration_text(microseconds: float | None) -> str:
    """Return a time; `-` when it is not known."""
    return UNKNOWN if microseconds is None else time_text(microseconds)


def part_text(share: float | None) -> str:
    """Return a part of 1; `-` when it is not known."""
    return UNKNOWN if share is None else share_text(share)


def bytes_text(size: float | None) -> str:
    """Return a number of bytes; `-` when it is not known."""
    return UNKNOWN if size is None else size_text(size).replace("bytes", "B")


# -- The lines over the tables.


def instance_parts(view: View) -> list[Part]:
    """Return which instance it is, and since when it runs."""
    name = [("", printable(view.name))] if view.name != view.address else []
    uptime = view.look.counters.get("ProxySQL_Uptime")
    return [
        *name,
        ("", printable(view.address)),
        ("ProxySQL", printable(view.version)),
        ("up", UNKNOWN if uptime is None else _uptime_text(uptime)),
    ]


def load_parts(view: View) -> list[Part]:
    """Return how busy it is."""
    counters, servers = view.look.counters, view.look.servers
    clients = short_text(counters.get("Client_Connections_connected"))
    active = short_text(counters.get("Client_Connections_non_idle"))
    used = short_text(sum(one.conn_used for one in servers))
    free = short_text(sum(one.conn_free for one in servers))
    return [
        ("queries", f"{short_text(view.per_s('Questions'))}/s"),
        ("slow", f"{short_text(view.per_s('Slow_queries'))}/s"),
        ("clients", f"{clients}, {active} active"),
        ("servers", f"{used} used, {free} free"),
    ]


def size_parts(view: View) -> list[Part]:
    """Return what flows through it, and what it takes."""
    return [
        ("in", f"{bytes_text(view.per_s('Queries_frontends_bytes_recv'))}/s"),
        ("out", f"{bytes_text(view.per_s('Queries_frontends_bytes_sent'))}/s"),
        ("transactions", short_text(view.look.counters.get("Active_Transactions"))),
        ("memory", bytes_text(view.look.memory.get("jemalloc_resident") or None)),
        ("digests", bytes_text(view.look.state.memory)),
    ]


def fitting(parts: Iterable[Part], width: int) -> list[Part]:
    """Return the parts for which a line has room, the first ones at any rate."""
    found: list[Part] = []
    for label, text in parts:
        width -= len(f"{label} {text}".strip()) + (len(SEPARATOR) if found else 0)
        if found and width < 0:
            break
        found.append((label, text))
    return found


def _uptime_text(seconds: int) -> str:
    """Return a time of seconds, minutes, hours or days, with the next smaller unit."""
    days, rest = divmod(seconds, 86_400)
    hours, rest = divmod(rest, 3_600)
    minutes, rest = divmod(rest, 60)
    if days:
        return f"{days} d {hours} h"
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


# -- What every table is.


@dataclass(frozen=True)
class LiveTable(Generic[Line]):
    """A table.

    Shape: `order` is the title of the column that it is sorted by at first. `row_key` tells a line
    from others from one look to the next. `kind` is how a line is coloured, by the names of Style,
    '' for not at all. `more` is what a line shows beside its columns when it has the screen for
    itself.
    """

    name: str
    columns: tuple[Column[Line], ...]
    order: str
    lines: Callable[[View], Sequence[Line]]
    row_key: Callable[[Line], str]
    kind: Callable[[Line], str]
    more: Callable[[Line], Iterable[Part]]

    def column(self, title: str) -> Column[Line]:
        """Return the column of a title."""
        return next(one for one in self.columns if one.title == title)

    def details(self, line: Line) -> list[Part]:
        """Return the fields of a line that say something."""
        columns = [(one.title, one.text(line)) for one in self.columns]
        return [*(part for part in columns if part[1]), *self.more(line)]


@dataclass(frozen=True)
class Arrangement:
    """In which order, and which lines: those with `filter` in one of their texts, in any case."""

    order: str
    is_reversed: bool = False
    filter: str = ""


def fitted(table: LiveTable[Line], width: int) -> list[tuple[Column[Line], int]]:
    """Return the columns that a width has room for, with their widths."""
    columns = [one for one in table.columns if one.from_width <= width]
    rest = width - sum(one.width + GAP for one in columns)
    return [(one, one.width or max(rest, len(one.title))) for one in columns]


def arranged(table: LiveTable[Line], lines: Iterable[Line], how: Arrangement) -> list[Line]:
    """Return the lines that pass the filter, in order: of numbers the largest first.

    What is not known comes last.
    """
    column = table.column(how.order)
    wanted = how.filter.casefold()
    kept = [
        line
        for line in lines
        if not wanted or any(wanted in text.casefold() for _, text in table.details(line))
    ]
    known = [line for line in kept if column.key(line) is not None]
    unknown = [line for line in kept if column.key(line) is None]
    # Not None, as they were chosen; a column has keys of one type.
    known.sort(key=column.key, reverse=column.is_number != how.is_reversed)  # type: ignore[arg-type]
    return known + unknown


# -- Servers.


_STATUS = {"SHUNNED_REPLICATION_LAG": "SHUNNED LAG"}
"""What a narrow column has no room for."""


def _hostgroup(number: int, name: str) -> Part:
    return "hostgroup", seen_hostgroup(number, {number: name})


def _server(line: ServerLine) -> str:
    if not line.servers:
        return f"{printable(line.counters.hostname)}:{line.counters.port}"
    others = line.servers - line.online
    beside = f", {counted(others, 'other')}" if others else ""
    return f"{printable(line.hostgroup_name) or 'all'}: {line.online} online{beside}"


def _status(line: ServerLine) -> str:
    status = line.counters.status
    return _STATUS.get(status) or printable(status)


def _latency(line: ServerLine) -> str:
    return "" if line.servers else duration_text(line.counters.latency_us or None)


def _server_kind(line: ServerLine) -> str:
    if line.servers:
        return "bold" if line.online else "refuse"
    if line.counters.status == "ONLINE":
        return "refuse" if line.errors_per_s else ""
    return "refuse" if line.counters.status.startswith("SHUNNED") else "change"


def _of_server(value: Callable[[ServerLine], Cell]) -> Callable[[ServerLine], Cell]:
    """Return a value that hostgroups do not have: they come last."""
    return lambda line: None if line.servers else value(line)


def _by_hostgroup(line: ServerLine) -> Cell:
    return -line.counters.hostgroup + (0.5 if line.servers else 0)


def _figure(
    title: str,
    name: str,
    text: Callable[[Any], str] = short_text,
    width: int = 5,
    from_width: int = 0,
) -> Column[ServerLine]:
    """Return a column of a number, by its place in a line."""
    value: Callable[[ServerLine], Any] = attrgetter(name)
    return Column(
        title, lambda x: text(value(x)), _of_server(value), width=width, from_width=from_width
    )


SERVERS: LiveTable[ServerLine] = LiveTable(
    name="servers",
    columns=(
        Column("hg", lambda x: str(x.counters.hostgroup), _by_hostgroup, width=4),
        Column("server", _server, _of_server(_server), is_number=False),
        Column("status", _status, _of_server(_status), is_number=False, width=12),
        _figure("used", "counters.conn_used"),
        _figure("free", "counters.conn_free"),
        _figure("ok", "counters.conn_ok"),
        _figure("err", "counters.conn_err"),
        _figure("q/s", "queries_per_s"),
        _figure("sent/s", "sent_per_s", bytes_text, width=8, from_width=_WIDE),
        _figure("recv/s", "recv_per_s", bytes_text, width=8, from_width=_WIDE),
        Column("latency", _latency, _of_server(lambda x: x.counters.latency_us or None), width=7),
    ),
    order="hg",
    lines=lambda view: (*view.servers, *view.hostgroups),
    row_key=lambda x: repr(x.counters.key),
    kind=_server_kind,
    more=lambda x: [
        _hostgroup(x.counters.hostgroup, x.hostgroup_name),
        ("queries", f"{x.counters.queries:,}"),
    ],
)


# -- Digests.


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(shown(name) for name in names)


def _rate(
    title: str, name: str, text: Callable[[float | None], str], width: int
) -> Column[DigestLine]:
    """Return a column of a rate; `>` stands before one that may be higher."""
    value: Callable[[DigestLine], float | None] = attrgetter(name)

    def shown_rate(line: DigestLine) -> str:
        found = text(value(line))
        return f">{found}" if line.is_least and found != UNKNOWN else found

    return Column(title, shown_rate, value, width=width)


DIGESTS: LiveTable[DigestLine] = LiveTable(
    name="digests",
    columns=(
        _rate("time/s", "time_per_s", duration_text, 8),
        Column("share", lambda x: part_text(x.share), lambda x: x.share, width=6),
        _rate("queries/s", "calls_per_s", short_text, 9),
        Column("avg", lambda x: duration_text(x.average), lambda x: x.average, width=8),
        Column("total", lambda x: duration_text(x.sum_time), lambda x: x.sum_time, width=8),
        Column(
            "hg",
            lambda x: "cache" if x.hostgroup == -1 else str(x.hostgroup),
            lambda x: -x.hostgroup,
            width=5,
        ),
        Column("user", lambda x: _names(x.usernames), is_number=False, width=10, from_width=_WIDE),
        Column(
            "schema", lambda x: _names(x.schemanames), is_number=False, width=10, from_width=_WIDE
        ),
        Column(
            "digest", lambda x: printable(x.digest), is_number=False, width=18, from_width=_WIDER
        ),
        Column("text", lambda x: printable(x.text), is_number=False),
    ),
    order="time/s",
    lines=lambda view: view.digests.lines,
    row_key=lambda x: f"{x.digest} {x.hostgroup}",
    kind=lambda x: "" if x.calls_per_s or x.calls_per_s is None else "dim",
    more=lambda x: [
        _hostgroup(x.hostgroup, x.hostgroup_name),
        ("queries", f"{x.count_star:,}"),
    ],
)


# -- Rules.


def _cells(line: RuleHits) -> Iterator[Part]:
    for name, cell in line.cells.items():
        if cell is not None:
            yield name, shown(cell, limit=2_000)


RULES: LiveTable[RuleHits] = LiveTable(
    name="rules",
    columns=(
        Column("rule", lambda x: str(x.rule_id), lambda x: -x.rule_id, width=6),
        Column("hits/s", lambda x: short_text(x.per_s), lambda x: x.per_s, width=6),
        Column(
            "share", lambda x: part_text(x.share if x.hits else None), lambda x: x.share, width=6
        ),
        Column("hits", lambda x: short_text(x.hits), lambda x: x.hits, width=6),
        Column("what", lambda x: rule_text(x.cells), is_number=False),
    ),
    order="hits/s",
    lines=lambda view: view.rules.rules,
    row_key=lambda x: str(x.rule_id),
    kind=lambda x: "" if x.per_s or x.per_s is None else "dim",
    more=_cells,
)

TABLES: tuple[LiveTable[Any], ...] = (SERVERS, DIGESTS, RULES)
"""In the order in which they stand on the screen."""
