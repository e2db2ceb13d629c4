"""The nodes behind a ProxySQL as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from proxyctl.instance.backend import Said
from proxyctl.nodes.discover import Membership
from proxyctl.nodes.model import NodeGroup, NodeReport, NodeView, Place
from proxyctl.state.families import Node

FORMAT = 1


@dataclass(frozen=True)
class Instance:
    """Which ProxySQL a document is about."""

    name: str
    address: str
    version: str


def drained_json(instance: Instance, node: Node, *, was_before: bool, is_unused: bool) -> str:
    """Return what became of a node that was drained as JSON."""
    return _document(instance, **_node_name(node), was_before=was_before, unused=is_unused)


def restored_json(instance: Instance, node: Node, *, was_drained: bool) -> str:
    """Return what became of a node that was to serve again as JSON."""
    return _document(instance, **_node_name(node), was_drained=was_drained)


def membership_json(instance: Instance, found: Membership, section: str | None) -> str:
    """Return the members of a cluster against the files as JSON. `section` is for new files."""
    return _document(
        instance,
        cluster=found.cluster,
        members=[{**_node_name(node), "said": _said(said)} for node, said in found.members.items()],
        hostgroups=list(found.hostgroups),
        missing=[_node_name(node) for node in found.missing],
        gone=[_node_name(node) for node in found.gone],
        silent=found.silent,
        unsure=[_node_name(node) for node in found.unsure],
        section=section,
    )


def _document(instance: Instance, **rest: object) -> str:
    return _json(_object(instance, **rest))


def _object(instance: Instance, **rest: object) -> dict[str, object]:
    return {"format": FORMAT, **asdict(instance), **rest}


def _json(document: Mapping[str, object]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=True) + "\n"


def _node_name(node: Node) -> dict[str, object]:
    return {"hostname": node[0], "port": node[1]}


def nodes_json(report: NodeReport) -> str:
    """Return the nodes as JSON. Shape: docs/reference/json-nodes.md."""
    instance = Instance(report.name, report.address, report.version)
    groups = [_group(group, report.hostgroup_names) for group in report.groups]
    return _document(instance, monitored=report.is_monitored, groups=groups)


def _group(group: NodeGroup, names: Mapping[int, str]) -> dict[str, object]:
    return {
        "family": group.family.kind if group.family else None,
        "hostgroups": [
            {"hostgroup_id": one, "name": names.get(one) if isinstance(one, int) else None}
            for one in group.hostgroups
        ],
        "nodes": [_node(view) for view in group.nodes],
    }


def _node(view: NodeView) -> dict[str, object]:
    check = view.check
    return {
        **_node_name(view.node),
        "drained": view.is_drained,
        "configured": [_place(place) for place in view.configured],
        "runtime": [
            {**_place(place), "connections": asdict(place.connections)} for place in view.runtime
        ],
        "monitor": {
            "at": check.at.isoformat(timespec="seconds") if check.at else None,
            "error": check.error,
            "read_only": check.read_only,
            "lag_s": check.lag_s,
            "wsrep": dict(check.wsrep),
        },
        "said": view.said and _said(view.said),
    }


def _said(said: Said) -> dict[str, object]:
    return {
        "unreachable": said.unreachable,
        "version": said.version,
        "status": dict(said.status),
        "variables": dict(said.variables),
    }


def _place(place: Place) -> dict[str, object]:
    return {
        "hostgroup_id": place.hostgroup,
        "status": place.status,
        "weight": place.weight,
        "max_connections": place.max_connections,
    }
