"""The live view as data: the header, and the tables with their order and filter.

The sum of a hostgroup is before its servers. In any other order than by hostgroup, the sums come
last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Generic

from proxyctl.render.rules import rule_text
from proxyctl.render.style import instance_text, seen_hostgroup, shown
from proxyctl.render.table import Line, TableColumn
from proxyctl.stats.live.view import DigestLine, ServerLine, View
from proxyctl.stats.model import CACHE
from proxyctl.stats.rule_hits import RuleHits
from proxyctl.stats.units import share_text, size_text, time_text
from proxyctl.text import counted, printable

LabelledText = tuple[str, str]
"""A label and a text. Either can be empty."""
GAP = 1
"""Blanks between columns."""
_WIDE, _WIDER = 110, 140
"""Widths of a terminal from which more columns are shown."""
UNKNOWN = "-"

NumberText = Callable[[float | None], str]


# -- Numbers, short enough for the columns.


def _or_dash(text: Callable[[float], str]) -> NumberText:
    """Return a function that also accepts None, a number that is not known."""
    return lambda number: UNKNOWN if number is None else text(number)


_UNITS = (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3))
_NEARLY_10, _NEARLY_100 = 9.995, 99.95
"""A number from here on is rounded to 10 or 100, which has a digit more."""


def _short(number: float) -> str:
    """Return a number with at most five characters: `12.3k`, `4.56M`."""
    if number == int(number) and number < 1_000:
        return f"{number:.0f}"
    unit, factor = next((pair for pair in _UNITS if number >= pair[1]), ("", 1.0))
    scaled = number / factor
    places = 0 if scaled >= _NEARLY_100 else 1 if scaled >= _NEARLY_10 else 2
    return f"{scaled:.{places}f}{unit}"


short_text = _or_dash(_short)
duration_text = _or_dash(time_text)
part_text = _or_dash(share_text)
bytes_text = _or_dash(lambda size: size_text(size).replace("bytes", "B"))


# -- The header.


def instance_line(view: View) -> str:
    """Return the instance and its uptime."""
    uptime_s = view.look.counters.get("ProxySQL_Uptime")
    return f"{instance_text(view)}  up {duration_text(uptime_s and uptime_s * 1e6)}"


def header_lines(view: View) -> tuple[list[LabelledText], list[LabelledText]]:
    """Return two lines: queries and connections; traffic and memory."""
    counters, servers = view.look.counters, view.look.servers
    clients = short_text(counters.get("Client_Connections_connected"))
    active = short_text(counters.get("Client_Connections_non_idle"))
    used = short_text(sum(server.conn_used for server in servers))
    free = short_text(sum(server.conn_free for server in servers))
    return [
        ("queries", f"{short_text(view.per_s('Questions'))}/s"),
        ("slow", f"{short_text(view.per_s('Slow_queries'))}/s"),
        ("clients", f"{clients}, {active} active"),
        ("servers", f"{used} used, {free} free"),
    ], [
        ("in", f"{bytes_text(view.per_s('Queries_frontends_bytes_recv'))}/s"),
        ("out", f"{bytes_text(view.per_s('Queries_frontends_bytes_sent'))}/s"),
        ("transactions", short_text(counters.get("Active_Transactions"))),
        ("memory", bytes_text(view.look.memory.get("jemalloc_resident") or None)),
        ("digests", bytes_text(view.look.state.memory)),
    ]


# -- Tables.


@dataclass(frozen=True)
class LiveTable(Generic[Line]):
    """A table."""

    name: str
    """The title of the table."""
    columns: tuple[TableColumn[Line], ...]
    """All columns, in order."""
    order: str
    """The title of the column that sorts the table at first."""
    lines: Callable[[View], Sequence[Line]]
    """Returns the lines of a view."""
    row_key: Callable[[Line], str]
    """Returns the text that identifies a line from one look to the next."""
    kind: Callable[[Line], str]
    """Returns the colour of a line, by the names of Style; '' for none."""
    further: Callable[[Line], Iterable[LabelledText]]
    """Returns the fields that a line in full has in addition to its columns."""
    is_sum: Callable[[Line], bool] = lambda _line: False
    """Returns whether a line comes last in every order but the first."""

    def details(self, line: Line) -> list[LabelledText]:
        """Return the fields of a line that are not empty."""
        parts = [(column.title, column.text(line)) for column in self.columns]
        return [*(part for part in parts if part[1]), *self.further(line)]


def fitted(table: LiveTable[Line], width: int) -> list[tuple[TableColumn[Line], int]]:
    """Return the columns that fit the width, each with its own width."""
    columns = [column for column in table.columns if column.from_width <= width]
    room = width - sum(column.width + GAP for column in columns)
    return [(column, column.width or max(room, len(column.title))) for column in columns]


def arranged(
    table: LiveTable[Line], lines: Iterable[Line], order: str, text: str = ""
) -> list[Line]:
    """Return the lines in order: the largest number first, unknown numbers last.

    `text`: return only lines that contain this text, in upper or lower case.
    """
    column = next(column for column in table.columns if column.title == order)
    wanted = text.casefold()
    kept = [
        line
        for line in lines
        if not wanted or any(wanted in part.casefold() for _, part in table.details(line))
    ]

    def is_last(line: Line) -> bool:
        return column.key(line) is None or (order != table.order and table.is_sum(line))

    first = [line for line in kept if not is_last(line)]
    # None of these keys is None, and a column has keys of one type.
    first.sort(key=column.key, reverse=column.is_number)  # type: ignore[arg-type]
    return first + [line for line in kept if is_last(line)]


def _number(
    title: str, name: str, text: NumberText = short_text, width: int = 5, from_width: int = 0
) -> TableColumn[Any]:
    """Return a column for a number; `name`: the attribute of a line."""
    value: Callable[[Any], float | None] = attrgetter(name)
    return TableColumn(
        title, lambda line: text(value(line)), value, width=width, from_width=from_width
    )


def _text(
    title: str, text: Callable[[Any], str], width: int = 0, from_width: int = 0
) -> TableColumn[Any]:
    return TableColumn(title, text, is_number=False, width=width, from_width=from_width)


# -- Servers.


def _hostgroup(number: int, name: str) -> LabelledText:
    return "hostgroup", seen_hostgroup(number, {number: name})


def _server(line: ServerLine) -> str:
    if not line.servers:
        return f"{printable(line.counters.hostname)}:{line.counters.port}"
    not_online = line.servers - line.online
    others = f", {counted(not_online, 'other')}" if not_online else ""
    return f"{printable(line.hostgroup_name) or 'all'}: {line.online} online{others}"


def _latency(line: ServerLine) -> str:
    return "" if line.servers else duration_text(line.counters.latency_us or None)


def _server_kind(line: ServerLine) -> str:
    if line.servers:
        return "bold" if line.online else "refuse"
    if line.counters.status == "ONLINE":
        return "refuse" if line.errors_per_s else ""
    return "refuse" if line.counters.status.startswith("SHUNNED") else "change"


SERVERS: LiveTable[ServerLine] = LiveTable(
    name="servers",
    columns=(
        TableColumn(
            "hg",
            lambda line: str(line.counters.hostgroup),
            lambda line: -line.counters.hostgroup + (0.5 if line.servers else 0),
            width=4,
        ),
        _text("server", _server),
        _text("status", lambda line: printable(line.counters.status), 12),
        _number("used", "counters.conn_used"),
        _number("free", "counters.conn_free"),
        _number("ok", "counters.conn_ok"),
        _number("err", "counters.conn_err"),
        _number("q/s", "queries_per_s"),
        _number("sent/s", "sent_per_s", bytes_text, 8, _WIDE),
        _number("recv/s", "recv_per_s", bytes_text, 8, _WIDE),
        TableColumn("latency", _latency, lambda line: line.counters.latency_us or None, width=7),
    ),
    order="hg",
    lines=lambda view: (*view.servers, *view.hostgroups),
    row_key=lambda line: repr(line.counters.key),
    kind=_server_kind,
    further=lambda line: [
        _hostgroup(line.counters.hostgroup, line.hostgroup_name),
        ("queries", f"{line.counters.queries:,}"),
    ],
    is_sum=lambda line: line.servers > 0,
)


# -- Digests.


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(shown(name) for name in names)


DIGESTS: LiveTable[DigestLine] = LiveTable(
    name="digests",
    columns=(
        _number("time/s", "time_per_s", duration_text, 8),
        _number("share", "share", part_text, 6),
        _number("queries/s", "calls_per_s", short_text, 9),
        _number("avg", "average", duration_text, 8),
        _number("total", "sum_time", duration_text, 8),
        TableColumn(
            "hg",
            lambda line: "cache" if line.hostgroup == CACHE else str(line.hostgroup),
            lambda line: -line.hostgroup,
            width=5,
        ),
        _text("user", lambda line: _names(line.usernames), 10, _WIDE),
        _text("schema", lambda line: _names(line.schemanames), 10, _WIDE),
        _text("digest", lambda line: printable(line.digest), 18, _WIDER),
        _text("text", lambda line: printable(line.text)),
    ),
    order="time/s",
    lines=lambda view: view.digests.lines,
    row_key=lambda line: f"{line.digest} {line.hostgroup}",
    kind=lambda line: "" if line.calls_per_s or line.calls_per_s is None else "dim",
    further=lambda line: [
        _hostgroup(line.hostgroup, line.hostgroup_name),
        ("queries", f"{line.count_star:,}"),
    ],
)


# -- Rules.


def _cells(line: RuleHits) -> Iterator[LabelledText]:
    for name, cell in line.cells.items():
        if cell is not None:
            yield name, shown(cell, limit=2_000)


RULES: LiveTable[RuleHits] = LiveTable(
    name="rules",
    columns=(
        TableColumn("rule", lambda line: str(line.rule_id), lambda line: -line.rule_id, width=6),
        _number("hits/s", "per_s", width=6),
        _number("share", "share", part_text, 6),
        _number("hits", "hits", width=6),
        _text("what", lambda line: rule_text(line.cells)),
    ),
    order="hits/s",
    lines=lambda view: view.rules.rules,
    row_key=lambda line: str(line.rule_id),
    kind=lambda line: "" if line.per_s or line.per_s is None else "dim",
    further=_cells,
)

TABLES: tuple[LiveTable[Any], ...] = (SERVERS, DIGESTS, RULES)
"""In the order on the screen."""
