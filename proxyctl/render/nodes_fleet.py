"""The nodes of many instances as text and JSON: where they are; a drain or restore of one."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.nodes.fleet import NodesOfFleet
from proxyctl.nodes.fleet_drain import FleetNodeResult, NodeOutcome, NodeState
from proxyctl.proxysql.topology import Node, node_text
from proxyctl.render.encode import Shape
from proxyctl.render.fleet import FAILED, counts_line, failures, states_line
from proxyctl.render.nodes import NODES, places_text, unused_text
from proxyctl.render.style import PLAIN, Style, listed_names, named_address
from proxyctl.render.table import TableColumn, aligned
from proxyctl.text import printable


def nodes_of_fleet_text(fleet: NodesOfFleet, style: Style = PLAIN) -> str:
    """Return where each instance has each node at RUNTIME; instances that agree share a column."""
    lines: list[str] = []
    if fleet.nodes:
        columns = [
            TableColumn[Node]("node", lambda node: printable(node_text(node)), is_number=False),
            *(_column(fleet, positions) for positions in fleet.alike),
        ]
        head, *rows = aligned(columns, fleet.nodes)
        differing = {*fleet.differing}
        lines.append(style("dim", head.rstrip()))
        for node, row in zip(fleet.nodes, rows, strict=True):
            text = row.rstrip()
            lines.append(style("change", text) if node in differing else text)
        lines.append("")
    lines += failures(fleet.failed, style)
    lines.append(counts_line(len(fleet.reports), [*_parts(fleet)], fleet.failed))
    return "\n".join(lines) + "\n"


def _column(fleet: NodesOfFleet, positions: list[int]) -> TableColumn[Node]:
    placements = fleet.placements[positions[0]]
    title = listed_names([fleet.reports[position].name for position in positions])

    def text(node: Node) -> str:
        return places_text(placements.get(node, ())) or "not there"

    return TableColumn(title, text, is_number=False)


def _parts(fleet: NodesOfFleet) -> Iterator[str]:
    if not fleet.reports:
        return
    if not fleet.nodes:
        yield "no servers"
    elif fleet.differing:
        names = listed_names([node_text(node) for node in fleet.differing])
        yield f"they differ in {names}"
    else:
        yield "all agree"


def node_at_all_text(result: FleetNodeResult, style: Style = PLAIN) -> str:
    """Return the problems of instances, the counts, and whether the node is unused everywhere."""
    lines: list[str] = []
    for outcome in result.instances:
        if outcome.error is not None:
            instance = named_address(outcome.name, outcome.address)
            lines.append(f"{instance}: {style('refuse', outcome.state)}")
            lines += (f"  {line}" for line in _problems(outcome))
    lines += failures(result.unread, style)
    if result.stopped_at_unread:
        lines += style.line(_CORRECT)
    names: dict[str, list[str]] = {
        state: [outcome.name for outcome in result.instances if outcome.state is state]
        for state in NodeState
    }
    lines.append(states_line(names, result.unread))
    text = "\n".join(lines) + "\n"
    return text + unused_text(result.node) if result.node and result.is_unused else text


_CORRECT = (
    "fix: correct what the error says, and run it again; or --keep-going changes the others and"
    " exits with 4"
)


def _problems(outcome: NodeOutcome) -> list[str]:
    return [printable(line) for line in outcome.error.lines()] if outcome.error else []


NODE_AT_ALL: Shape[FleetNodeResult] = Shape(
    "nodes drain --all",
    "hostname port interrupted instances failed",
    hostname=lambda result: result.node and result.node[0],
    port=lambda result: result.node and result.node[1],
    interrupted=lambda result: result.was_interrupted,
    instances=lambda result: NODE_OUTCOME.each(result.instances),
    failed=lambda result: FAILED.each(result.unread),
)
NODE_OUTCOME: Shape[NodeOutcome] = Shape(
    "instance after a drain or restore", "name address state unused problems", problems=_problems
)
NODES_OF_FLEET: Shape[NodesOfFleet] = Shape(
    "nodes list of a fleet",
    "instances failed differing",
    instances=lambda fleet: NODES.each(fleet.reports),
    failed=lambda fleet: FAILED.each(fleet.failed),
    differing=lambda fleet: [node_text(node) for node in fleet.differing],
)
