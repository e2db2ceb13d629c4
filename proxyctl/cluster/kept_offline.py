"""Servers that a member took out of RUNTIME when it followed, and keeps in MEMORY and on DISK.

A member that follows writes its RUNTIME into MEMORY, and saves it. A server that has just left is
OFFLINE_HARD there while a connection to it is in use, so that its row stays in MEMORY and on DISK
for good, also when the connection has ended. Source: ProxySQL 2.7.1, run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from proxyctl.cluster.following import Why, way_out
from proxyctl.cluster.membership import Member
from proxyctl.families import node_text
from proxyctl.plan import ModulePlan
from proxyctl.result import NotFollowing
from proxyctl.state import Key, Layer
from proxyctl.survey import TableSurvey

TABLE = "mysql_servers"
_MODULE = "MYSQL SERVERS"

Kept = Mapping[Layer, Sequence[Key]]
"""Keys of mysql_servers by the layer that has them; a layer without any is left out."""


def kept_offline(modules: Iterable[ModulePlan]) -> Kept:
    """Return the servers that MEMORY or DISK have OFFLINE_HARD, and the files do not have."""
    surveys = [found for module in modules if (found := module.surveys.get(TABLE))]
    listed = {
        layer: [key for one in surveys for key in _kept(one, layer)]
        for layer in (Layer.MEMORY, Layer.DISK)
    }
    return {layer: keys for layer, keys in listed.items() if keys}


def _kept(found: TableSurvey, layer: Layer) -> list[Key]:
    status = found.layout.index["status"]
    return [
        found.layout.key_of(one.current)
        for one in found.changes.get(layer, ())
        if one.desired is None
        and one.current is not None
        and str(one.current[status]).upper() == "OFFLINE_HARD"
    ]


def keeps(kept: Kept, member: Member, problem: str = "") -> NotFollowing:
    """Return that a peer keeps these servers. `problem`: why they could not be taken out there."""
    text = f"its RUNTIME agrees, and {_layers(kept)} there keep {_servers(kept)}"
    return NotFollowing(
        _MODULE,
        Why.KEPT,
        f"{text} ({problem})" if problem else text,
        way_out=way_out(Why.KEPT, member),
    )


def taken_out(kept: Kept) -> Iterator[str]:
    """Yield what was taken out at a peer."""
    if kept:
        yield f"{_MODULE}: taken out of {_layers(kept)} there: {_servers(kept)}"


def _layers(kept: Kept) -> str:
    return " and ".join(layer.value.upper() for layer in kept)


def _servers(kept: Kept) -> str:
    keys = dict.fromkeys(key for keys in kept.values() for key in keys)
    named = (f"{node_text((key[1], key[2]))} in hostgroup {key[0]}" for key in keys)
    return f"{', '.join(named)}, OFFLINE_HARD"
