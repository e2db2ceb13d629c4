"""The nodes behind a ProxySQL as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from proxyctl.catalog import Value
from proxyctl.drains import Drain, End
from proxyctl.families import Node
from proxyctl.nodes.discovery import Membership
from proxyctl.nodes.model import NodeGroup, NodeReport, NodeView, Place, Said
from proxyctl.state import Key

FORMAT = 1


@dataclass(frozen=True)
class Instance:
    """Which ProxySQL a document is about."""

    name: str
    address: str
    version: str


def drained_json(
    instance: Instance,
    drain: Drain,
    *,
    was_before: bool,
    is_unused: bool,
    unused_at: Sequence[str] = (),
) -> str:
    """Return what became of a node that was drained as JSON.

    `unused_at`: the peers, as host:port, that were waited for, too.
    """
    return _json(
        drained_object(
            instance,
            drain,
            was_before=was_before,
            is_unused=is_unused,
            unused_at=unused_at,
            in_use={} if is_unused else None,
        )
    )


def drained_object(
    instance: Instance,
    drain: Drain,
    *,
    was_before: bool,
    is_unused: bool = False,
    unused_at: Sequence[str] = (),
    in_use: Mapping[str, Mapping[Key, int]] | None = None,
) -> dict[str, object]:
    """Return what became of a node that was drained as plain data.

    `in_use`: connections to it by instance, as host:port, and there by the key of mysql_servers;
    None where nobody knows.
    """
    return _object(
        instance,
        **_node_name(drain.node),
        was_before=was_before,
        unused=is_unused,
        unused_at=list(unused_at),
        in_use=None if in_use is None else list(_connections(in_use)),
        drain=_drain(drain),
    )


def _connections(in_use: Mapping[str, Mapping[Key, int]]) -> Iterator[dict[str, object]]:
    for address, used in in_use.items():
        for key, count in used.items():
            yield {"at": address, "hostgroup_id": key[0], "connections": count}


def restored_json(restored: Mapping[str, object], back_at: Sequence[str] = ()) -> str:
    """Return a restored object as JSON. `back_at`: the peers, as host:port, that have followed."""
    return _json({**restored, "back_at": list(back_at)})


def restored_object(
    instance: Instance,
    node: Node,
    drain: Drain | None,
    *,
    was_drained: bool,
    is_changed: bool,
    is_gone: bool = False,
    is_unsaved: bool = False,
    left_out: Iterable[Value] = (),
    unnamed: Iterable[Value] = (),
) -> dict[str, object]:
    """Return what became of a node that was put back as plain data, all but its peers."""
    return _object(
        instance,
        **_node_name(node),
        was_drained=was_drained,
        changed=is_changed,
        gone=is_gone,
        unsaved=is_unsaved,
        left_out=list(left_out),
        unnamed=list(unnamed),
        drain=drain and _drain(drain),
    )


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
    removed = [
        {**_node_name(one.node), "drain": _drain(one, End.REMOVED)} for one in report.removed
    ]
    return _document(instance, monitored=report.is_monitored, groups=groups, removed=removed)


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
        "drain": view.drain and _drain(view.drain, view.end),
        "lacks_writer": view.lacks_writer,
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


def _drain(drain: Drain, end: End | None = None) -> dict[str, object]:
    return {
        "since": datetime.fromtimestamp(drain.since, UTC).isoformat(),
        "by": drain.by,
        "reason": drain.purpose,
        "is_done": drain.is_done,
        "ended": end and end.name.lower(),
        "method": drain.method,
    }


def _place(place: Place) -> dict[str, object]:
    return {
        "hostgroup_id": place.hostgroup,
        "status": place.status,
        "weight": place.weight,
        "max_connections": place.max_connections,
    }
