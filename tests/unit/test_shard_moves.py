"""Tables and schemas that change shard: what counts as a move, and what does not."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

import pytest
import yaml

from proxyctl.catalog import REFERENCE, Value
from proxyctl.config.project import Sources, load_project
from proxyctl.config.sections.shard_names import split
from proxyctl.config.sections.shard_rules import AFTER, BEFORE
from proxyctl.plan.guards.shard_moves import (
    move_texts,
    names_in,
    refusals,
    shard_moves,
    warnings,
)
from proxyctl.plan.plan import ShardMove
from proxyctl.routing.sides import SIDE_TABLES, sides_of
from proxyctl.state.row import Desired, Rows
from proxyctl.state.runtime import runtime_image
from tests.support.build import layout, rows

SERVERS = [{"hostgroup_id": number, "hostname": f"db{number}"} for number in (1, 10, 11, 12)]
USERS = [{"username": "app", "default_hostgroup": 1}]
TABLES = {
    "name": "t",
    "tables": "t{1..4}",
    "hostgroups": [10, 11],
    "first_rule_id": 100,
    "username": "app",
}
SCHEMAS = {"name": "s", "schemas": "s{1..3}", "hostgroups": [10, 11], "username": "app"}

NOTHING = Desired({}, REFERENCE)
"""Desired rows with the guards as they are by default, and without names of hostgroups."""

Files = Mapping[str, Any]


def desired(tmp_path: Any, files: Files) -> Desired:
    path = tmp_path / "proxyctl.yaml"
    path.write_text(yaml.safe_dump({"version": 1, **files}))
    return load_project(Sources((str(path),))).desired


@pytest.fixture
def moved(tmp_path: Any) -> Any:
    """Return what moves when files are applied to an instance that runs with other files."""

    def moves(before: Files, after: Files) -> list[ShardMove]:
        held = running(tmp_path, before)
        wanted = desired(tmp_path, after).tables
        layouts = {name: layout(name) for name in SIDE_TABLES}
        sides = sides_of(
            layouts,
            wanted,
            lambda of: held.get(of.name, {}),
            version=REFERENCE,
            hostgroup_names={10: "first"},
        )
        return shard_moves(sides, wanted)

    return moves


def running(tmp_path: Any, files: Files) -> dict[str, Rows]:
    found: dict[str, Rows] = {}
    for name, table in desired(tmp_path, files).tables.items():
        found[name] = runtime_image(table.layout, dict(table.rows))  # type: ignore[assignment]
    return found


def instance(**sections: Any) -> dict[str, Any]:
    users = [{**user, "password": "x"} for user in USERS]
    return {"mysql_servers": SERVERS, "mysql_users": users, **sections}


def names(moves: list[ShardMove]) -> dict[str, tuple[int, int, str]]:
    return {move.name: (move.current, move.desired, move.how) for move in moves}


RUNS = instance(sharding=[TABLES])


def test_nothing_moves_where_nothing_changes(moved: Any) -> None:
    assert moved(RUNS, RUNS) == []


def test_tables_that_another_order_sends_elsewhere(moved: Any) -> None:
    found = moved(RUNS, instance(sharding=[{**TABLES, "hostgroups": [11, 10]}]))
    assert names(found) == {
        "t1": (11, 10, "moves"),
        "t2": (10, 11, "moves"),
        "t3": (11, 10, "moves"),
        "t4": (10, 11, "moves"),
    }


def test_a_rule_in_front_of_the_generated_ones_moves_tables_too(moved: Any) -> None:
    rule = {"rule_id": 1, "match_digest": "^UPDATE t1 ", "destination_hostgroup": 12, "apply": 1}
    found = moved(RUNS, instance(sharding=[TABLES], mysql_query_rules=[rule]))
    assert names(found) == {"t1": (11, 12, "moves")}


def test_reads_that_go_elsewhere_are_no_move(moved: Any) -> None:
    rule = {"rule_id": 1, "match_digest": "^SELECT", "destination_hostgroup": 12, "apply": 1}
    assert moved(RUNS, instance(sharding=[TABLES], mysql_query_rules=[rule])) == []


def test_a_first_apply_moves_nothing(moved: Any) -> None:
    assert moved({}, RUNS) == []


def test_servers_alone_move_nothing(moved: Any) -> None:
    assert moved({"mysql_servers": SERVERS}, RUNS) == []


def test_sharding_of_tables_that_the_default_hostgroup_has(moved: Any) -> None:
    found = moved(instance(), RUNS)
    assert set(names(found).values()) == {(1, 10, "enters"), (1, 11, "enters")}


def test_a_default_hostgroup_without_servers_has_no_tables(moved: Any) -> None:
    nowhere = instance()
    nowhere["mysql_users"] = [{"username": "app", "password": "x", "default_hostgroup": 99}]
    assert moved(nowhere, {**nowhere, "sharding": [TABLES]}) == []


def test_a_table_that_is_taken_out_goes_to_the_default_hostgroup(moved: Any) -> None:
    found = moved(RUNS, instance(sharding=[{**TABLES, "tables": "t{1..3}"}]))
    assert names(found) == {"t4": (10, 1, "leaves")}


def test_sharding_that_is_taken_out_whole(moved: Any) -> None:
    rule = {"rule_id": 1, "match_digest": "^x", "destination_hostgroup": 1}
    found = moved(RUNS, instance(mysql_query_rules=[rule]))
    assert {how for _, _, how in names(found).values()} == {"leaves"}
    assert len(found) == 4


def test_another_number_for_the_same_servers_is_no_move(moved: Any) -> None:
    renumbered = [
        {**server, "hostgroup_id": {11: 21}.get(server["hostgroup_id"], server["hostgroup_id"])}
        for server in SERVERS
    ]
    after = {**instance(sharding=[{**TABLES, "hostgroups": [10, 21]}]), "mysql_servers": renumbered}
    assert moved(RUNS, after) == []


def test_a_reader_of_the_same_family_has_the_data(moved: Any) -> None:
    family = [{"writer_hostgroup": 10, "reader_hostgroup": 12}]
    before = instance(sharding=[TABLES], mysql_replication_hostgroups=family)
    after = {**before, "sharding": [{**TABLES, "hostgroups": [12, 11]}]}
    assert moved(before, after) == []


def test_schemas(moved: Any) -> None:
    before = instance(sharding=[SCHEMAS])
    after = instance(sharding=[{**SCHEMAS, "hostgroups": [10, 12]}])
    assert names(moved(before, after)) == {"s1": (11, 12, "moves"), "s3": (11, 12, "moves")}
    fewer = instance(sharding=[{**SCHEMAS, "schemas": "s{1..2}"}])
    assert names(moved(before, fewer)) == {"s3": (11, 1, "leaves")}
    more = instance(sharding=[{**SCHEMAS, "schemas": "s{1..4}"}])
    found = moved(before, more)
    assert names(found) == {"s4": (1, 10, "joins")}
    assert list(refusals(found, NOTHING, allowed=False)) == []
    assert list(warnings(found, NOTHING, allowed=False)) == [
        "sharding s: schema s4 would join the others and go from 1 to 10;"
        " what has data there has to be moved first"
    ]


def test_schemas_for_any_user_are_judged_for_one_that_logs_in(moved: Any) -> None:
    anybody = {name: value for name, value in SCHEMAS.items() if name != "username"}
    before = instance(sharding=[anybody])
    after = instance(sharding=[{**anybody, "hostgroups": [10, 12]}])
    assert names(moved(before, after)) == {"s1": (11, 12, "moves"), "s3": (11, 12, "moves")}


def test_fast_routing_that_comes_alive_moves_schemas(moved: Any) -> None:
    rule = {"rule_id": 5, "match_digest": "^SELECT.*FOR UPDATE", "destination_hostgroup": 1}
    last = [{**rule, "apply": 1}]
    dead = instance(sharding=[SCHEMAS], mysql_query_rules=last, keep_fast_routing_alive=False)
    alive = instance(sharding=[SCHEMAS], mysql_query_rules=last)
    assert {move.how for move in moved(dead, alive)} == {"enters"}


def test_the_texts_say_what_to_do(moved: Any) -> None:
    found = moved(RUNS, instance(sharding=[{**TABLES, "hostgroups": [11, 10]}]))
    assert list(move_texts(found, {10: "first"})) == [
        "sharding t: tables t2, t4 would go from 10 (first) to 11; move the data first",
        "sharding t: tables t1, t3 would go from 11 to 10 (first); move the data first",
    ]
    refused = list(refusals(found, NOTHING, allowed=False))
    assert {(one.code, one.allow) for one in refused} == {("shard_moves", "--allow-shard-moves")}


def test_many_ways_are_counted() -> None:
    moves = [ShardMove("t", "table", f"t{n}", n, n + 1, "moves") for n in range(30)]
    found = list(move_texts(moves, {}))
    assert len(found) == 13
    assert found[-1] == "sharding t: 18 more tables change shard"


@pytest.mark.parametrize("seed", range(30))
def test_names_are_read_back_from_the_patterns_that_stand_for_them(seed: int) -> None:
    random = Random(seed)
    made = {
        random.choice(("t", "sbtest", "order-items", "größe", "a b", "x$", ""))
        + str(random.randrange(10 ** random.randint(1, 5)))
        + random.choice(("", "_old", "a"))
        for _ in range(random.choice((1, 3, 60, 500)))
    }
    found: list[str] = []
    for pattern, names_ in split(sorted(made), BEFORE, AFTER):
        read = names_in(pattern)
        assert read == sorted(names_)
        found += read
    assert sorted(found) == sorted(made)


@pytest.mark.parametrize(
    "pattern",
    ["^SELECT", f"{BEFORE}t.*{AFTER}", f"{BEFORE}t[^1]{AFTER}", f"{BEFORE}(a|b{AFTER}", BEFORE],
)
def test_other_patterns_are_nobodys_names(pattern: str) -> None:
    assert names_in(pattern) is None


def test_rows_of_others_are_no_sharding(moved: Any) -> None:
    rule: dict[str, Value] = {
        "rule_id": 1,
        "match_digest": "sharded",
        "destination_hostgroup": 10,
        "comment": "sharding by hand",
    }
    assert rows("mysql_query_rules", rule)
    assert moved(instance(mysql_query_rules=[rule]), instance()) == []


def test_a_hostgroup_that_gets_the_servers_of_another_one_moves_its_names(moved: Any) -> None:
    def with_hosts(**hosts: str) -> dict[str, Any]:
        found = [
            {**one, "hostname": hosts.get(f"h{one['hostgroup_id']}", one["hostname"])}
            for one in SERVERS
        ]
        return {**instance(sharding=[TABLES]), "mysql_servers": found}

    swapped = moved(instance(sharding=[TABLES]), with_hosts(h10="db11", h11="db10"))
    assert names(swapped) == {
        "t1": (11, 11, "servers"), "t2": (10, 10, "servers"),
        "t3": (11, 11, "servers"), "t4": (10, 10, "servers"),
    }  # fmt: skip
    assert next(iter(move_texts(swapped, {}))) == (
        "sharding t: tables t2, t4 would stay in 10 and meet servers of another hostgroup there;"
        " move the data first"
    )
    assert moved(instance(sharding=[TABLES]), with_hosts(h10="replacement")) == []
