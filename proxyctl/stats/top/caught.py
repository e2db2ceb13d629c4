"""Which rules in force catch the digests of a top list: the evaluator is asked, not ProxySQL."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from proxyctl.instance.client import AdminClient
from proxyctl.instance.read import read_configuration
from proxyctl.routing.router import ROUTING_TABLES
from proxyctl.routing.sides import Sides
from proxyctl.state.row import Layer
from proxyctl.stats.model import Load
from proxyctl.stats.replay.comparison import Comparison
from proxyctl.stats.replay.outcome import Outcome
from proxyctl.stats.top.listing import Caught, Top
from proxyctl.stats.top.query import Members


def with_rules(client: AdminClient, top: Top, members: Members) -> Top:
    """Return the list, each group with what the rules at RUNTIME do with its rows.

    A digest has no literals and no client's address: where that matters there are several outcomes.
    Raises: InstanceError; ProxyctlError for variables under which ProxySQL ends.
    """
    now = read_configuration(client, Layer.RUNTIME, ROUTING_TABLES)
    comparison = Comparison(Sides(now, now), top.variables)
    loads: dict[tuple[str | int, ...], dict[tuple[Outcome, ...], Load]] = defaultdict(dict)
    for key, seen in members:
        outcomes = comparison.verdict(seen).before
        loads[key].setdefault(outcomes, Load()).add(seen)
    rows = []
    for row in top.rows:
        caught = [Caught(*one) for one in loads[tuple(row.group.values())].items()]
        caught.sort(key=lambda one: -one.load.count_star)
        rows.append(replace(row, caught=tuple(caught)))
    return replace(top, rows=tuple(rows))
