"""Which rules in force catch the digests of a top list: the evaluator is asked, not ProxySQL."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from proxyctl.instance.client import AdminClient
from proxyctl.instance.read import read_configuration
from proxyctl.routing import Source
from proxyctl.routing.router import ROUTING_TABLES
from proxyctl.routing.sides import Sides
from proxyctl.state.row import Layer
from proxyctl.stats.model import Load, SeenDigest
from proxyctl.stats.replay.comparison import Comparison
from proxyctl.stats.replay.outcome import Outcome
from proxyctl.stats.top.listing import Caught, Fate, Top
from proxyctl.stats.top.query import Members

_SOURCES = {
    Source.RULE: "rule",
    Source.FAST_ROUTING: "fast routing",
    Source.HINT: "a hint",
    Source.DEFAULT_HOSTGROUP: "default_hostgroup",
    Source.NOTHING: "nothing",
}


def with_rules(client: AdminClient, top: Top, members: Members) -> Top:
    """Return the list, each group with what the rules at RUNTIME do with its rows.

    A digest has no literals and no client's address: where that matters there are several fates.
    Raises: InstanceError; ProxyctlError for variables under which ProxySQL ends.
    """
    now = read_configuration(client, Layer.RUNTIME, ROUTING_TABLES)
    comparison = Comparison(Sides(now, now), top.variables)
    loads: dict[tuple[str | int, ...], dict[tuple[Fate, ...], Load]] = defaultdict(dict)
    for key, seen in members:
        fates = _fates(comparison, seen)
        loads[key].setdefault(fates, Load()).add(seen)
    rows = []
    for row in top.rows:
        caught = [Caught(fates, load) for fates, load in loads[tuple(row.group.values())].items()]
        caught.sort(key=lambda one: -one.load.count_star)
        rows.append(replace(row, caught=tuple(caught)))
    return replace(top, rows=tuple(rows))


def _fates(comparison: Comparison, seen: SeenDigest) -> tuple[Fate, ...]:
    found = list(dict.fromkeys(map(_fate, comparison.verdict(seen).before)))
    special = comparison.special(seen)
    if special is not None and special.goes_with and _OWN in found and seen.hostgroup >= 0:
        # The statistics name a hostgroup for what ProxySQL answers as well: both may be so.
        found.insert(0, Fate(seen.hostgroup, special.goes_with, None))
    return tuple(found)


_OWN = Fate(None, _SOURCES[Source.NOTHING], None, "ProxySQL")


def _fate(outcome: Outcome) -> Fate:
    return Fate(
        outcome.hostgroup,
        _SOURCES[outcome.source],
        outcome.rule_id,
        None if outcome.answer is None else outcome.answer[0] or "ProxySQL",
        outcome.cache_ttl,
        bool(outcome.rewriting),
    )
