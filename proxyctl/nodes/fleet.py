"""The nodes behind many instances: where each instance has each node at RUNTIME. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from proxyctl.errors import ExitCode
from proxyctl.fleet.failed import Failed, worst_of
from proxyctl.nodes.model import NodeReport, NodeRow
from proxyctl.proxysql.topology import Node, node_text

Placement = tuple[tuple[int, str], ...]
"""The hostgroups of a node at RUNTIME, each with the status there; empty: it is not there."""


@dataclass(frozen=True)
class NodesOfFleet:
    """The nodes of all instances, in the order of the files."""

    reports: Sequence[NodeReport]
    """The nodes of each instance that could be read."""
    failed: Sequence[Failed] = ()
    """The instances that could not be read."""

    @cached_property
    def placements(self) -> list[dict[Node, tuple[NodeRow, ...]]]:
        """The rows at RUNTIME by node, of each instance in `reports`."""
        return [_rows_by_node(report) for report in self.reports]

    @cached_property
    def nodes(self) -> list[Node]:
        """Every node that an instance has in MEMORY or at RUNTIME, sorted."""
        return sorted({node for rows in self.placements for node in rows}, key=node_text)

    @cached_property
    def alike(self) -> list[list[int]]:
        """The positions of the instances that have every node in the same place, in groups."""
        groups: dict[tuple[Placement, ...], list[int]] = {}
        for position, rows in enumerate(self.placements):
            seen = tuple(placement_of(rows.get(node, ())) for node in self.nodes)
            groups.setdefault(seen, []).append(position)
        return [*groups.values()]

    @property
    def differing(self) -> list[Node]:
        """The nodes that the instances have in different places."""
        return [
            node
            for node in self.nodes
            if len({placement_of(rows.get(node, ())) for rows in self.placements}) > 1
        ]

    @property
    def exit_code(self) -> ExitCode:
        """The worst code of the instances that could not be read."""
        return worst_of(self.failed)


def placement_of(rows: Sequence[NodeRow]) -> Placement:
    """Return the hostgroups and statuses of a node at RUNTIME, sorted."""
    return tuple(sorted((row.server.hostgroup, row.server.status) for row in rows))


def _rows_by_node(report: NodeReport) -> dict[Node, tuple[NodeRow, ...]]:
    found: dict[Node, tuple[NodeRow, ...]] = {}
    for group in report.groups:
        for view in group.nodes:
            found[view.node] = (*found.get(view.node, ()), *view.runtime)
    return found
