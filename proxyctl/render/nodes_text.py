"""The nodes behind a ProxySQL, for a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from proxyctl.instance.backend import Said
from proxyctl.nodes.model import NodeGroup, NodeReport, NodeView, Place
from proxyctl.nodes.wsrep import reasons, state
from proxyctl.render.style import PLAIN, Style, hostgroup
from proxyctl.render.wrapped import wrapped
from proxyctl.state.families import node_text
from proxyctl.text import printable

_HEADS = ("node", "RUNTIME", "weight", "limit", "used", "free", "says")
_NUMBERS = frozenset({"weight", "limit", "used", "free"})
_BELOW = "      "
_SEGMENT = re.compile(r"gmcast\.segment\s*=\s*(\d+)")


def nodes_text(report: NodeReport, style: Style = PLAIN, width: int | None = None) -> str:
    """Return the nodes, a block a family or hostgroup.

    `width` of the terminal: where a table is wider, what a node says stands below it. None: there
    is none, and a node is one line.
    """
    name = f"{printable(report.name)}  " if report.name != report.address else ""
    head = f"{name}{printable(report.address)}  ProxySQL {printable(report.version)}"
    lines = [style("bold", head)]
    if not report.groups:
        lines.append("No servers, neither in MEMORY nor at RUNTIME.")
    for group in report.groups:
        lines += ["", style("bold", _title(group, report))]
        lines += _table(group, style, width)
    return "\n".join(lines) + "\n"


def _title(group: NodeGroup, report: NodeReport) -> str:
    listed = ", ".join(hostgroup(one, report.hostgroup_names) for one in group.hostgroups)
    if group.family is None:
        return f"hostgroup {listed}"
    kind = group.family.kind.replace("_", " ")
    is_off = "" if report.is_monitored else " (the monitor is off: nodes stay where they are)"
    return f"{kind}: hostgroups {listed}{is_off}"


def _table(group: NodeGroup, style: Style, width: int | None) -> Iterator[str]:
    rows = [(view, _cells(view)) for view in group.nodes]
    widths = [
        max(len(head), *(len(cells[position]) for _, cells in rows))
        for position, head in enumerate(_HEADS)
    ]
    is_narrow = width is not None and sum(widths) + 2 * len(widths) > width
    heads = _HEADS[:-1] if is_narrow else _HEADS
    yield style("dim", _aligned(heads, widths))
    for view, cells in rows:
        lines = [_aligned(cells[: len(heads)], widths)]
        if is_narrow:
            lines += wrapped(cells[-1], width or 0, first=_BELOW, then=_BELOW)
        serves = any(place.serves for place in view.runtime)
        yield from (line if serves else style("change", line) for line in lines)


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    parts = [
        cell.rjust(width) if head in _NUMBERS else cell.ljust(width)
        for head, cell, width in zip(_HEADS, cells, widths, strict=False)
    ]
    return f"  {'  '.join(parts)}".rstrip()


def _cells(view: NodeView) -> tuple[str, ...]:
    places = view.runtime or view.configured
    return (
        printable(node_text(view.node)),
        places_text(view.runtime) if view.runtime else "not there",
        _each(place.weight for place in places),
        _each(place.max_connections for place in places),
        str(view.connections.used),
        str(view.connections.free),
        ", ".join(_says(view)),
    )


def _each(values: Iterator[object]) -> str:
    """Return one number where all are equal, else all that differ."""
    return "/".join(dict.fromkeys(map(str, values)))


def places_text(places: Sequence[Place]) -> str:
    """Return where a node stands: `ONLINE 20 30, SHUNNED 10`."""
    by_status: dict[str, list[str]] = {}
    for place in places:
        by_status.setdefault(place.status, []).append(str(place.hostgroup))
    statuses = sorted(by_status, key=lambda status: status != "ONLINE")
    return ", ".join(f"{printable(status)} {' '.join(by_status[status])}" for status in statuses)


def _says(view: NodeView) -> Iterator[str]:
    """Yield what stands out of a node, the worst first."""
    if not view.configured:
        yield "in no configuration"
    if view.is_drained:
        yield "drained"
    said, check = view.said, view.check
    if said is not None and said.unreachable is None:
        yield from answers(said)
    elif said is not None:
        yield f"not reached from here: {printable(said.unreachable or '')}"
    if check.error:
        yield f"monitor: {printable(check.error)}"
    elif (said is None or said.unreachable) and check.wsrep:
        yield from _seen_by_monitor(check.wsrep)
    if check.lag_s:
        yield f"lag {check.lag_s} s"


def answers(said: Said) -> Iterator[str]:
    """Yield what a node that answered says of itself."""
    variables, status = said.variables, said.status
    if comment := status.get("wsrep_local_state_comment"):
        yield printable(comment)
    cluster = status.get("wsrep_cluster_status", "Primary")
    if cluster != "Primary":
        yield printable(cluster)
    if variables.get("pxc_maint_mode", "DISABLED") != "DISABLED":
        yield f"pxc_maint_mode {printable(variables['pxc_maint_mode'])}"
    if variables.get("wsrep_desync") == "ON":
        yield "desynced"
    if variables.get("wsrep_reject_queries", "NONE") != "NONE":
        yield "rejects queries"
    if variables.get("read_only") == "ON":
        yield "read_only"
    segment = _SEGMENT.search(variables.get("wsrep_provider_options", ""))
    if segment and segment[1] != "0":
        yield f"segment {segment[1]}"
    if said.version:
        yield printable(said.version)


def _seen_by_monitor(wsrep: Mapping[str, str]) -> Iterator[str]:
    """Yield what the last check of the Galera monitor read."""
    yield f"monitor: {printable(state(wsrep))}"
    yield from reasons(wsrep)
    if wsrep.get("read_only") == "YES":
        yield "read_only"
