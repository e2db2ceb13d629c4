"""How an instance routes queries now, and with the files applied: both sides of a replay."""

from __future__ import annotations

from dataclasses import dataclass

from proxyctl.config.project import ParsedFiles
from proxyctl.errors import ConfigError
from proxyctl.instance.client import AdminClient
from proxyctl.instance.read import read_additions, read_layouts, read_rows
from proxyctl.plan import mistakes
from proxyctl.plan.guards import shard_moves
from proxyctl.plan.plan import ShardMove
from proxyctl.routing.sides import Sides, sides_of
from proxyctl.state.row import Layer


@dataclass(frozen=True)
class RoutingChange:
    """What files change about routing at an instance, whatever else they say."""

    sides: Sides
    moves: list[ShardMove]


def routing_change(client: AdminClient, files: ParsedFiles) -> RoutingChange:
    """Return what routes queries at an instance now, and with the files applied.

    A rule that ProxySQL takes and that cannot match is no mistake here. Sends SELECTs only.
    Raises: ConfigError, InstanceError.
    """
    layouts = read_layouts(client)
    additions = read_additions(client, layouts)
    project = files.project(client.version, takes_dead_rules=True, additions=additions)
    desired = project.desired
    found = list(mistakes.misfits(desired.tables, layouts, client.version))
    if found:
        raise ConfigError(found)
    fitted = {name: mistakes.fit(t, layouts[name]) for name, t in desired.tables.items()}
    sides = sides_of(
        layouts,
        fitted,
        lambda layout: read_rows(client, layout, Layer.RUNTIME),
        version=client.version,
        hostgroup_names=desired.hostgroup_names,
    )
    return RoutingChange(sides, shard_moves.shard_moves(sides, fitted))
