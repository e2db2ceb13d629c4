"""Drift for people: which layers differ, what is there, and what the files say."""

from __future__ import annotations

import json

from proxyctl.fleet.outcome import Fleet
from proxyctl.plan.drift import PATTERNS
from proxyctl.plan.plan import Plan
from proxyctl.render.drift import MOST_LISTED, drift_text, drifts_json
from proxyctl.state.row import Layer
from tests.support.build import desired, diff, module_plan, rows

SERVERS, USERS, RULES = "mysql_servers", "mysql_users", "mysql_query_rules"
DB = {"hostgroup_id": 10, "hostname": "db1"}


def plan_of(*diffs, **more):
    modules = [module_plan(one) for one in diffs]
    return Plan("h:6032", "h:6032", "2.7.1", modules, **more)


def drift(*diffs, names=None, **more):
    return drift_text(plan_of(*diffs, hostgroup_names=names or {}, **more))


def weight(changed_in):
    """A server of weight 1 in the file and 9 in some layers."""
    of = {True: rows(SERVERS, {**DB, "weight": 9}), False: rows(SERVERS, DB)}
    return diff(
        desired(SERVERS, DB),
        of[Layer.MEMORY in changed_in],
        runtime=of[Layer.RUNTIME in changed_in],
        disk=of[Layer.DISK in changed_in],
    )


def weights(memory, runtime, disk):
    """A server of weight 3 in the file, and of these in the layers; None: it is not there."""

    def of(weight):
        return rows(SERVERS, {**DB, "weight": weight}) if weight is not None else {}

    wanted = desired(SERVERS, {**DB, "weight": 3})
    return diff(wanted, of(memory), runtime=of(runtime), disk=of(disk))


def test_layers_that_differ_in_different_ways_are_all_listed():
    found = weights(memory=5, runtime=4, disk=3)
    assert drift(found).splitlines()[2:] == [
        "  MEMORY and RUNTIME were changed and not saved: a restart reverts them",
        "    differs  server 10 db1:3306",
        "             RUNTIME: weight is 4, the files say 3",
        "             MEMORY: weight is 5, the files say 3",
    ]
    (change,) = json.loads(drifts_json(Fleet.of(plan_of(found)), is_all=False))["instances"][0][
        "modules"
    ][0]["changes"]
    assert change["fields"] == {"weight": {"current": 4, "desired": 3}}
    assert change["elsewhere"] == [
        {
            "layers": ["memory"],
            "action": "change",
            "fields": {"weight": {"current": 5, "desired": 3}},
        }
    ]


def test_a_row_that_another_layer_lacks_is_listed():
    text = drift(weights(memory=None, runtime=4, disk=3))
    assert "             RUNTIME: weight is 4, the files say 3" in text
    assert "             MEMORY: missing" in text
    text = drift(weights(memory=3, runtime=None, disk=6))
    assert "             RUNTIME: missing" in text
    assert "             DISK: weight is 6, the files say 3" in text


def test_what_a_load_makes_of_a_row_is_nothing_else():
    """RUNTIME has no rule that is not active, and a status in capitals."""
    rule = {"rule_id": 1, "match_digest": "^SELECT"}
    off = rows(RULES, {**rule, "active": 0})
    wanted = desired(RULES, {**rule, "active": 1})
    assert "RUNTIME:" not in drift(diff(wanted, off, runtime={}, disk=off))
    low, high = (rows(SERVERS, {**DB, "status": one}) for one in ("offline_soft", "OFFLINE_SOFT"))
    online = desired(SERVERS, {**DB, "status": "ONLINE"})
    assert "RUNTIME:" not in drift(diff(online, low, runtime=high, disk=low))


def test_every_pattern_of_layers_has_a_sentence():
    layers = [frozenset(one for bit, one in enumerate(Layer) if n & 1 << bit) for n in range(1, 8)]
    for one in layers:
        assert drift(weight(one)).splitlines()[2] == f"  {PATTERNS[one].text}"
    assert {*PATTERNS} == {*layers}
    assert len({one.name for one in PATTERNS.values()}) == len(layers)


def test_rows_of_one_pattern_stand_together_and_not_all_of_many():
    wanted = [{"rule_id": number, "log": 1} for number in range(MOST_LISTED + 5)]
    there = rows(RULES, *({**rule, "log": 0} for rule in wanted))
    lines = drift(diff(desired(RULES, *wanted), there)).splitlines()
    assert sum(line == "  all layers differ" for line in lines) == 1
    assert sum("differs" in line for line in lines) == MOST_LISTED
    assert lines[-1] == "    ... and 5 more rows (--format json lists all)"
