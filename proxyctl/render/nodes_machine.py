"""The nodes behind a ProxySQL as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime

from proxyctl.drains import Drain
from proxyctl.nodes.model import NodeGroup, NodeReport, NodeView, Place

FORMAT = 1


def nodes_json(report: NodeReport) -> str:
    """Return the nodes as JSON. Shape: docs/reference/json-nodes.md."""
    document = {
        "format": FORMAT,
        "name": report.name,
        "address": report.address,
        "version": report.version,
        "groups": [_group(group, report.hostgroup_names) for group in report.groups],
    }
    return json.dumps(document, indent=2, ensure_ascii=True) + "\n"


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
    host, port = view.node
    check = view.check
    return {
        "hostname": host,
        "port": port,
        "drained": view.is_drained,
        "drain": view.drain and _drain(view.drain),
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
        "said": view.said
        and {
            "unreachable": view.said.unreachable,
            "version": view.said.version,
            "status": dict(view.said.status),
            "variables": dict(view.said.variables),
        },
    }


def _drain(drain: Drain) -> dict[str, object]:
    return {
        "since": datetime.fromtimestamp(drain.since, UTC).isoformat(),
        "by": drain.by,
        "reason": drain.purpose,
        "is_done": drain.is_done,
        "method": drain.method,
    }


def _place(place: Place) -> dict[str, object]:
    return {
        "hostgroup_id": place.hostgroup,
        "status": place.status,
        "weight": place.weight,
        "max_connections": place.max_connections,
    }
