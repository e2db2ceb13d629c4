"""Drift for people: what is there, what the files say, and nobody blamed without proof."""

from __future__ import annotations

import json

from proxyctl.drift import Drift, Evidence, LastLoad
from proxyctl.families import Family
from proxyctl.plan import Plan, Refusal
from proxyctl.render.drift_machine import drift_json
from proxyctl.render.drift_text import MOST_LISTED, drift_text
from proxyctl.render.prometheus import drift_prometheus
from proxyctl.state import Layer
from proxyctl.survey import Surroundings
from tests.support.build import desired, module_plan, rows, survey

SERVERS, USERS, RULES = "mysql_servers", "mysql_users", "mysql_query_rules"
DB = {"hostgroup_id": 10, "hostname": "db1"}
NOTHING = Evidence()
AT_START = {"MYSQL SERVERS": LastLoad(0, is_start=True)}


def drift_of(*surveys, evidence=NOTHING, **more):
    modules = [module_plan(one) for one in surveys]
    return Drift(Plan("h:6032", "h:6032", "2.7.1", modules, **more), evidence)


def drift(*surveys, names=None, **more):
    return drift_text(drift_of(*surveys, hostgroup_names=names or {}, **more))


def cause(found, **evidence):
    """The cause of the only change."""
    one = drift_of(found, evidence=Evidence(**evidence))
    (module,) = one.plan.modules
    (change,) = module.changes
    return one.cause(module, change)


def weight(changed_in):
    """A server of weight 1 in the file and 9 in some layers."""
    of = {True: rows(SERVERS, {**DB, "weight": 9}), False: rows(SERVERS, DB)}
    return survey(
        desired(SERVERS, DB),
        of[Layer.MEMORY in changed_in],
        runtime=of[Layer.RUNTIME in changed_in],
        disk=of[Layer.DISK in changed_in],
    )


def test_it_says_what_is_and_what_the_files_say():
    assert drift(weight({Layer.MEMORY, Layer.RUNTIME}), names={10: "writer"}).splitlines() == [
        "h:6032: 1 row differs from the files",
        "MYSQL SERVERS",
        "  MEMORY and RUNTIME: loaded by an administrator, not saved; a restart takes it back",
        "    differs  server 10 (writer) db1:3306",
        "             weight is 9, the files say 1",
    ]


def weights(memory, runtime, disk):
    """A server of weight 3 in the file, and of these in the layers; None: it is not there."""

    def of(weight):
        return rows(SERVERS, {**DB, "weight": weight}) if weight is not None else {}

    wanted = desired(SERVERS, {**DB, "weight": 3})
    return survey(wanted, of(memory), runtime=of(runtime), disk=of(disk))


def test_layers_that_differ_in_different_ways_are_all_told():
    found = weights(memory=5, runtime=4, disk=3)
    assert drift(found).splitlines()[2:] == [
        "  MEMORY and RUNTIME: loaded by an administrator, not saved; a restart takes it back;"
        " MEMORY was edited since, not loaded",
        "    differs  server 10 db1:3306",
        "             RUNTIME: weight is 4, the files say 3",
        "             MEMORY: weight is 5, the files say 3",
    ]
    (change,) = json.loads(drift_json(drift_of(found)))["instances"][0]["modules"][0]["changes"]
    assert change["fields"] == {"weight": {"current": 4, "desired": 3}}
    assert change["elsewhere"] == [
        {
            "layers": ["memory"],
            "action": "change",
            "fields": {"weight": {"current": 5, "desired": 3}},
        }
    ]


def test_layers_that_hold_the_same_are_told_once():
    text = drift(weights(memory=4, runtime=5, disk=4))
    assert "             RUNTIME: weight is 5, the files say 3" in text
    assert "             MEMORY and DISK: weight is 4, the files say 3" in text
    assert "RUNTIME:" not in drift(weights(memory=4, runtime=4, disk=4))


def test_a_row_that_another_layer_lacks_is_told():
    text = drift(weights(memory=None, runtime=4, disk=3))
    assert "             RUNTIME: weight is 4, the files say 3" in text
    assert "             MEMORY: it is not there" in text
    text = drift(weights(memory=3, runtime=None, disk=6))
    assert "             RUNTIME: it is not there" in text
    assert "             DISK: weight is 6, the files say 3" in text


def test_what_a_load_makes_of_a_row_is_nothing_else():
    """RUNTIME has no rule that is not active, and a status in capitals."""
    rule = {"rule_id": 1, "match_digest": "^SELECT"}
    off = rows(RULES, {**rule, "active": 0})
    wanted = desired(RULES, {**rule, "active": 1})
    assert "RUNTIME:" not in drift(survey(wanted, off, runtime={}, disk=off))
    low, high = (rows(SERVERS, {**DB, "status": one}) for one in ("offline_soft", "OFFLINE_SOFT"))
    online = desired(SERVERS, {**DB, "status": "ONLINE"})
    assert "RUNTIME:" not in drift(survey(online, low, runtime=high, disk=low))


def test_a_secret_that_two_layers_hold_differently_is_not_shown():
    def app(password):
        return rows(USERS, {"username": "app", "password": password})

    wanted = desired(USERS, {"username": "app", "password": "right"})
    text = drift(survey(wanted, app("first"), runtime=app("second"), disk=app("right")))
    assert "             RUNTIME: password is not what the files say (sensitive)" in text
    assert "             MEMORY: password is not what the files say (sensitive)" in text


def test_extra_and_missing_rows_are_called_so():
    there = rows(USERS, {"username": "eve", "password": "x"})
    lines = drift(survey(desired(USERS, {"username": "app", "password": "y"}), there)).splitlines()
    assert [line.split()[0] for line in lines if "user " in line] == ["missing", "extra"]
    assert "             in no file" in lines
    assert not any(line.lstrip().startswith(("+", "-", "~")) for line in lines)
    assert "(sensitive)" in "".join(lines)


def test_a_secret_only_is_another_one():
    wanted = desired(USERS, {"username": "app", "password": "y"})
    text = drift(survey(wanted, rows(USERS, {"username": "app", "password": "x"})))
    assert "password is not what the files say (sensitive)" in text


def test_every_set_of_layers_has_its_own_words_and_blames_nobody():
    layers = [frozenset(one for bit, one in enumerate(Layer) if n & 1 << bit) for n in range(1, 8)]
    causes = [cause(weight(one)) for one in layers]
    assert len({one.text for one in causes}) == len(layers)
    assert not any("by hand" in one.text or "{" in one.text for one in causes)
    assert [one.code for one in causes] == [
        *("pending_edit", "not_loaded", "loaded_not_saved", "unsaved", "saved_not_loaded"),
        *("not_loaded", "files_or_saved"),
    ]


def test_rows_of_one_cause_stand_together_and_not_all_of_many():
    wanted = [{"rule_id": number, "log": 1} for number in range(MOST_LISTED + 5)]
    there = rows(RULES, *({**rule, "log": 0} for rule in wanted))
    lines = drift(survey(desired(RULES, *wanted), there)).splitlines()
    assert sum("all layers: the files are newer" in line for line in lines) == 1
    assert sum("differs" in line for line in lines) == MOST_LISTED
    assert lines[-1] == "    ... and 5 more rows (--format json lists all)"


def test_when_runtime_was_loaded_is_said():
    def headline(load):
        evidence = Evidence(loads={"MYSQL SERVERS": load})
        return drift(weight({Layer.RUNTIME}), evidence=evidence).splitlines()[1]

    last = LastLoad(1_795_302_204, is_start=False)
    assert headline(last) == "MYSQL SERVERS   loaded last 2026-11-21 23:03:24 UTC"
    assert headline(last._replace(is_start=True)) == (
        "MYSQL SERVERS   as loaded at the start, 2026-11-21 23:03:24 UTC"
    )


def test_an_apply_that_died_or_is_at_work_is_named():
    modules = frozenset({"MYSQL SERVERS"})
    found = weight({Layer.MEMORY})
    died = cause(found, dead="apply by pid 7 on ci, staging MEMORY", modules=modules)
    assert died == (
        "dead_apply",
        "an apply did not finish: apply by pid 7 on ci, staging MEMORY; the next apply goes on"
        " where it stopped",
    )
    running = cause(found, running="apply by pid 7 on ci, starting", modules=modules)
    assert running.code == "running_apply"
    assert cause(found, dead="x", modules=frozenset({"MYSQL USERS"})).code == "pending_edit"


def test_a_server_that_an_operator_took_out_or_put_back():
    out = {**DB, "status": "OFFLINE_SOFT"}
    online = {**DB, "status": "ONLINE"}
    live, kept = rows(SERVERS, out), rows(SERVERS, online)
    taken_out = survey(desired(SERVERS, online), live, runtime=live, disk=kept)
    assert cause(taken_out) == (
        "offline_soft",
        "MEMORY and RUNTIME: an operator took it out of service",
    )
    back = survey(desired(SERVERS, out), kept, runtime=kept, disk=live)
    assert cause(back).code == "back_online"
    other = rows(SERVERS, {**out, "weight": 7})
    both = survey(desired(SERVERS, online), other, runtime=other, disk=kept)
    assert cause(both).code == "loaded_not_saved"


def test_a_placement_that_was_saved_is_the_monitors():
    galera = Family("galera", 10, frozenset({10, 20, 30, 40}), offline=40)
    placed = rows(SERVERS, DB, {"hostgroup_id": 30, "hostname": "db2"})
    found = survey(
        desired(SERVERS, DB, {"hostgroup_id": 10, "hostname": "db2"}),
        placed,
        surroundings=Surroundings((galera,), (galera,)),
    )
    one = drift_of(found)
    (module,) = one.plan.modules
    assert {one.cause(module, change).code for change in module.changes} == {"monitor_placement"}


def test_a_cluster_that_holds_the_same_is_named():
    load = LastLoad(0, is_start=False, alike=("px1:6032", "px2:6032"))
    evidence = {"pulled": frozenset({"MYSQL SERVERS"}), "loads": {"MYSQL SERVERS": load}}
    assert cause(weight(set(Layer)), **evidence) == (
        "peer",
        "all layers: px1:6032 and px2:6032 of the cluster hold the same; it was loaded at one of"
        " them",
    )
    alone = {**evidence, "loads": {"MYSQL SERVERS": load._replace(alike=("px1:6032",))}}
    assert "an administrator or a peer" in cause(weight(set(Layer)), **alone).text


def test_a_peer_is_no_cause_of_what_does_not_travel():
    pulled = frozenset({"MYSQL SERVERS", "ADMIN VARIABLES"})
    load = LastLoad(0, is_start=False, alike=("px1:6032", "px2:6032"))

    def text(table, key, *, wanted, there):
        found = survey(desired(table, {**key, **wanted}), rows(table, {**key, **there}))
        return cause(found, pulled=pulled, loads={"ADMIN VARIABLES": load}).text

    job = {"id": 1, "filename": "/bin/true"}
    assert "or an administrator loaded" in text(
        "scheduler", job, wanted={"interval_ms": 1000}, there={"interval_ms": 2000}
    )
    values = {"wanted": {"variable_value": "6081"}, "there": {"variable_value": "6082"}}
    own = text("admin_variables", {"variable_name": "admin-web_port"}, **values)
    assert "or an administrator loaded" in own
    shared = text("admin_variables", {"variable_name": "admin-refresh_interval"}, **values)
    assert "px1:6032 and px2:6032 of the cluster hold the same" in shared


def test_machines_get_the_cause_and_the_time_too():
    found = drift_of(weight({Layer.DISK}), evidence=Evidence(loads=AT_START))
    (module,) = json.loads(drift_json(found))["instances"][0]["modules"]
    assert (module["loaded"], module["changes"][0]["cause"]["code"]) == (0, "unsaved")
    line = 'proxyctl_drift_causes{name="h:6032",address="h:6032",cause="unsaved"} 1'
    assert line in drift_prometheus([found]).splitlines()


def test_what_an_apply_would_refuse_is_counted():
    text = drift(weight({Layer.RUNTIME}), refusals=[Refusal("x", "why")])
    assert text.splitlines()[-1] == "an apply would refuse: 1 reason, which plan shows"


def test_no_drift_is_one_line():
    assert drift(weight(set())) == "h:6032: no drift\n"


def test_servers_that_an_operator_took_out_stand_in_that_line():
    held = "db2:3306 in hostgroup 20 OFFLINE_SOFT, set by an operator"
    assert drift(weight(set()), taken_out=[held]) == f"h:6032: no drift ({held})\n"
