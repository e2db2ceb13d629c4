"""Nodes as text and JSON: the list, a drain, a restore, and the members of a Galera cluster."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from proxyctl.catalog import Value
from proxyctl.instance.backend import NodeAnswer
from proxyctl.nodes.discover import ClusterComparison
from proxyctl.nodes.model import (
    Connections,
    MonitorCheck,
    NodeGroup,
    NodeReport,
    NodeRow,
    NodeView,
    wsrep_reasons,
    wsrep_state,
)
from proxyctl.proxysql.topology import Node, node_text
from proxyctl.render.encode import INSTANCE, Shape
from proxyctl.render.style import PLAIN, Style, hostgroup, instance_text, wrapped
from proxyctl.render.table import TableColumn, aligned
from proxyctl.text import printable

_BELOW = "      "
_SEGMENT = re.compile(r"gmcast\.segment\s*=\s*(\d+)")


# -- The list for a terminal.


def nodes_text(report: NodeReport, style: Style = PLAIN, width: int | None = None) -> str:
    """Return the nodes, one block per family or hostgroup.

    `width`: of the terminal; in a wider table a node's answer is on a line below the node. None: no
    limit.
    """
    lines = [style("bold", instance_text(report))]
    if not report.groups:
        lines.append("No servers, neither in MEMORY nor at RUNTIME.")
    for group in report.groups:
        lines += ["", style("bold", _title(group, report)), *_table(group, style, width)]
    return "\n".join(lines) + "\n"


def _title(group: NodeGroup, report: NodeReport) -> str:
    listed = ", ".join(hostgroup(number, report.hostgroup_names) for number in group.hostgroups)
    if group.family is None:
        return f"hostgroup {listed}"
    kind = group.family.kind.replace("_", " ")
    remark = "" if report.is_monitored else " (the monitor is off: nodes stay where they are)"
    return f"{kind}: hostgroups {listed}{remark}"


def _table(group: NodeGroup, style: Style, width: int | None) -> Iterator[str]:
    def fits(lines: list[str]) -> bool:
        return width is None or max(map(len, lines)) <= width

    lines = aligned(_COLUMNS, group.nodes, indent=2)
    is_narrow = not fits(lines)
    if is_narrow:
        lines = aligned(_COLUMNS[:-1], group.nodes, indent=2)
    # Host names of cloud services can fill a line: then the name is on a line above the numbers.
    has_name_above = not fits(lines)
    if has_name_above:
        lines = aligned(_COLUMNS[1:-1], group.nodes, indent=len(_BELOW))
    yield style("dim", lines[0])
    for view, line in zip(group.nodes, lines[1:], strict=True):
        above = [f"  {_name(view.node)}"] if has_name_above else []
        below = (
            wrapped(_report_text(view), width or 0, first=_BELOW, then=_BELOW) if is_narrow else []
        )
        serves = any(row.server.serves for row in view.runtime)
        yield from (text if serves else style("change", text) for text in (*above, line, *below))


def _each(view: NodeView, column: str) -> str:
    """Return the distinct values of a column in a node's rows: `1000` or `1000/1`."""
    rows = view.runtime or view.configured
    return "/".join(dict.fromkeys(str(getattr(row.server, column)) for row in rows))


def places_text(rows: Sequence[NodeRow]) -> str:
    """Return a node's hostgroups by status: `ONLINE 20 30, SHUNNED 10`."""
    by_status: dict[str, list[str]] = {}
    for server in (row.server for row in rows):
        by_status.setdefault(server.status, []).append(str(server.hostgroup))
    statuses = sorted(by_status, key=lambda status: status != "ONLINE")
    return ", ".join(f"{printable(status)} {' '.join(by_status[status])}" for status in statuses)


def _report_text(view: NodeView) -> str:
    return ", ".join(_remarks(view))


_COLUMNS: tuple[TableColumn[NodeView], ...] = (
    TableColumn("node", lambda view: _name(view.node), is_number=False),
    TableColumn("RUNTIME", lambda view: places_text(view.runtime) or "not there", is_number=False),
    TableColumn("weight", lambda view: _each(view, "weight")),
    TableColumn("limit", lambda view: _each(view, "max_connections")),
    TableColumn("used", lambda view: str(view.connections.used)),
    TableColumn("free", lambda view: str(view.connections.free)),
    TableColumn("says", _report_text, is_number=False),
)


def _remarks(view: NodeView) -> Iterator[str]:
    """Yield a node's problems and facts, the worst first."""
    if not view.configured:
        yield "not configured"
    if view.is_drained:
        yield "drained"
    if shunned := [str(row.server.hostgroup) for row in view.runtime if row.stays_shunned]:
        yield f"stays SHUNNED in {' '.join(shunned)} (as in mysql_servers)"
    answer, check = view.answer, view.check
    if answer is not None:
        yield from _answer_texts(answer)
    if check.error:
        yield f"monitor: {printable(check.error)}"
    elif (answer is None or answer.unreachable) and check.wsrep:
        yield from _seen_by_monitor(check.wsrep)
    if check.lag_s:
        yield f"lag {check.lag_s} s"


def _answer_texts(answer: NodeAnswer) -> Iterator[str]:
    """Yield what a node answered, or why it did not answer."""
    if answer.unreachable is not None:
        yield f"not reached from here: {printable(answer.unreachable)}"
        return
    variables, status = answer.variables, answer.status
    if comment := status.get("wsrep_local_state_comment"):
        yield printable(comment)
        # A MariaDB outside Galera has no state, and a cluster status of Disconnected.
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
    if answer.version:
        yield printable(answer.version)


def _seen_by_monitor(wsrep: Mapping[str, str]) -> Iterator[str]:
    """Yield the result of the Galera monitor's last check."""
    yield f"monitor: {printable(wsrep_state(wsrep))}"
    yield from wsrep_reasons(wsrep)
    if wsrep.get("read_only") == "YES":
        yield "read_only"


# -- A drain, a restore and the members of a cluster for a terminal.


def drained_text(node: Node, *, was_before: bool) -> str:
    """Return the result of a drain; `was_before`: the node was drained already."""
    if was_before:
        return f"{_name(node)} is already drained\n"
    return f"{_name(node)} is drained: it receives no new connections until it is restored\n"


def unused_text(node: Node) -> str:
    """Return the result of waiting until no connection is in use."""
    return f"{_name(node)}: no connection is in use\n"


def restored_text(node: Node, *, was_drained: bool) -> str:
    """Return the result of a restore."""
    result = "is back in service" if was_drained else "is not drained: nothing to do"
    return f"{_name(node)} {result}\n"


def membership_text(membership: ClusterComparison, style: Style = PLAIN) -> str:
    """Return the members of the cluster, and how they differ from the nodes in the files."""
    return "\n".join(_membership_lines(membership, style)) + "\n"


def _membership_lines(membership: ClusterComparison, style: Style) -> Iterator[str]:
    yield style("bold", f"cluster {printable(membership.cluster) or '(without a name)'}")
    yield from aligned(_MEMBER_COLUMNS, membership.members.items(), indent=2)[1:]
    if not membership.hostgroups:
        yield "the files have no Galera hostgroups with a node of this cluster"
        return
    for node in membership.missing:
        yield style("add", f"{_name(node)} is a member, but not in the files")
    for node in membership.gone:
        yield style("delete", f"{_name(node)} is in the files, but not a member")
    if membership.agrees:
        hostgroups = ", ".join(map(str, membership.hostgroups))
        yield f"the files name the same nodes, in hostgroups {hostgroups}"


def _name(node: Node) -> str:
    return printable(node_text(node))


_MEMBER_COLUMNS: tuple[TableColumn[tuple[Node, NodeAnswer]], ...] = (
    TableColumn("", lambda member: _name(member[0]), is_number=False),
    TableColumn("", lambda member: ", ".join(_answer_texts(member[1])), is_number=False),
)


# -- JSON.


@dataclass(frozen=True)
class ShownInstance:
    """The ProxySQL that a document is about."""

    name: str
    address: str
    version: str


_NODE_KEYS = "hostname port"
NODE: Shape[Node] = Shape.of_tuples("node", _NODE_KEYS)
DRAINED: Shape[ShownInstance] = Shape("nodes drain", f"{INSTANCE} {_NODE_KEYS} was_before unused")
RESTORED: Shape[ShownInstance] = Shape("nodes restore", f"{INSTANCE} {_NODE_KEYS} was_drained")
ANSWER: Shape[NodeAnswer] = Shape("answer of a node", "unreachable version status variables")
MEMBERSHIP: Shape[ClusterComparison] = Shape(
    "nodes discover",
    f"{INSTANCE} cluster members hostgroups missing gone section",
    members=lambda membership: MEMBER.each(membership.members.items()),
    missing=lambda membership: NODE.each(membership.missing),
    gone=lambda membership: NODE.each(membership.gone),
)
MEMBER: Shape[tuple[Node, NodeAnswer]] = Shape(
    "member of a Galera cluster",
    f"{_NODE_KEYS} answer",
    hostname=lambda member: member[0][0],
    port=lambda member: member[0][1],
    answer=lambda member: ANSWER.encode(member[1]),
)
NODES: Shape[NodeReport] = Shape(
    "nodes list",
    f"{INSTANCE} monitored groups",
    monitored=lambda report: report.is_monitored,
    groups=lambda report: GROUP.each((group, report.hostgroup_names) for group in report.groups),
)
GROUP: Shape[tuple[NodeGroup, Mapping[int, str]]] = Shape(
    "group of nodes",
    "family hostgroups nodes",
    family=lambda pair: pair[0].family and pair[0].family.kind,
    hostgroups=lambda pair: HOSTGROUP.each((number, pair[1]) for number in pair[0].hostgroups),
    nodes=lambda pair: VIEW.each(pair[0].nodes),
)
HOSTGROUP: Shape[tuple[Value, Mapping[int, str]]] = Shape(
    "hostgroup of a group",
    "hostgroup_id name",
    hostgroup_id=lambda pair: pair[0],
    name=lambda pair: pair[1].get(pair[0]) if isinstance(pair[0], int) else None,
)
VIEW: Shape[NodeView] = Shape(
    "node of a group",
    f"{_NODE_KEYS} drained configured runtime monitor answer",
    hostname=lambda view: view.node[0],
    port=lambda view: view.node[1],
    drained=lambda view: view.is_drained,
    configured=lambda view: PLACE.each(view.configured),
    runtime=lambda view: PLACE_AT_RUNTIME.each(view.runtime),
    monitor=lambda view: CHECK.encode(view.check),
    answer=lambda view: ANSWER.maybe(view.answer),
)
PLACE: Shape[NodeRow] = Shape(
    "row of a node",
    "hostgroup_id status weight max_connections",
    hostgroup_id=lambda row: row.server.hostgroup,
    status=lambda row: row.server.status,
    weight=lambda row: row.server.weight,
    max_connections=lambda row: row.server.max_connections,
)
PLACE_AT_RUNTIME: Shape[NodeRow] = PLACE.extended(
    "row of a node at RUNTIME",
    "stays_shunned connections",
    connections=lambda row: CONNECTIONS.encode(row.connections),
)
CONNECTIONS: Shape[Connections] = Shape(
    "connections of a row", "used free errors queries latency_us"
)
CHECK: Shape[MonitorCheck] = Shape("last check of the monitor", "at error read_only lag_s wsrep")
