"""Drift: a sentence for each pattern of layers, and the limit of listed rows.

`golden/plan/layers-differ-each-otherwise` has its lines about rows.
"""

from __future__ import annotations

import json

from proxyctl.fleet.outcome import Fleet
from proxyctl.plan.drift import PATTERNS
from proxyctl.plan.plan import Plan
from proxyctl.render.drift import MOST_LISTED, drift_text, drifts_json
from proxyctl.rows.row import Layer
from tests.support.build import desired, diff, module_plan, rows

SERVERS, RULES = "mysql_servers", "mysql_query_rules"
DB = {"hostgroup_id": 10, "hostname": "db1"}


def plan_of(*diffs):
    return Plan("h:6032", "h:6032", "2.7.1", [module_plan(table_diff) for table_diff in diffs])


def drift(*diffs):
    return drift_text(plan_of(*diffs))


def weight(changed_in):
    """A server of weight 1 in the file and 9 in some layers."""
    of = {True: rows(SERVERS, {**DB, "weight": 9}), False: rows(SERVERS, DB)}
    return diff(
        desired(SERVERS, DB),
        of[Layer.MEMORY in changed_in],
        runtime=of[Layer.RUNTIME in changed_in],
        disk=of[Layer.DISK in changed_in],
    )


def test_layers_that_differ_in_different_ways_are_all_listed():
    memory, runtime, disk = (rows(SERVERS, {**DB, "weight": weight}) for weight in (5, 4, 3))
    wanted = desired(SERVERS, {**DB, "weight": 3})
    plan = plan_of(diff(wanted, memory, runtime=runtime, disk=disk))
    (instance,) = json.loads(drifts_json(Fleet.of(plan), is_all=False))["instances"]
    (change,) = instance["modules"][0]["changes"]
    assert change["fields"] == {"weight": {"current": 4, "desired": 3}}
    fields = {"weight": {"current": 5, "desired": 3}}
    assert change["elsewhere"] == [{"layers": ["memory"], "action": "change", "fields": fields}]


def test_every_pattern_of_layers_has_a_sentence():
    layers = [
        frozenset(layer for bit, layer in enumerate(Layer) if n & 1 << bit) for n in range(1, 8)
    ]
    for combination in layers:
        assert drift(weight(combination)).splitlines()[2] == f"  {PATTERNS[combination].text}"
    assert {*PATTERNS} == {*layers}
    assert len({pattern.name for pattern in PATTERNS.values()}) == len(layers)


def test_rows_are_grouped_by_pattern_and_cut_at_a_limit():
    wanted = [{"rule_id": number, "log": 1} for number in range(MOST_LISTED + 5)]
    there = rows(RULES, *({**rule, "log": 0} for rule in wanted))
    lines = drift(diff(desired(RULES, *wanted), there)).splitlines()
    assert sum(line == "  all layers differ" for line in lines) == 1
    assert sum("differs" in line for line in lines) == MOST_LISTED
    assert lines[-1] == "    ... and 5 more rows (--format json lists all)"
