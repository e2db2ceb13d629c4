"""Tables and schemas that change shard: changes that count as a move, and others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest
import yaml

from proxyctl.catalog import REFERENCE, Value
from proxyctl.config.files import Sources, load_project
from proxyctl.config.sections.shard_names import split
from proxyctl.config.sections.sharding import AFTER, BEFORE
from proxyctl.plan.guards.shard_moves import move_texts, names_in, refusals, warnings
from proxyctl.plan.make import routing_change
from proxyctl.plan.plan import ShardMove
from proxyctl.proxysql.load_image import runtime_image
from proxyctl.rows.desired import Desired
from proxyctl.rows.row import Rows
from tests.support.build import current

SERVERS = [{"hostgroup_id": number, "hostname": f"db{number}"} for number in (1, 10, 11, 12)]
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
    """Return the shard moves from the running files to the new files."""

    def moves(before: Files, after: Files) -> list[ShardMove]:
        return routing_change(desired(tmp_path, after), current(running(tmp_path, before)))[1]

    return moves


def running(tmp_path: Any, files: Files) -> dict[str, Rows]:
    found: dict[str, Rows] = {}
    for name, table in desired(tmp_path, files).tables.items():
        found[name] = runtime_image(table.layout, dict(table.rows))  # type: ignore[assignment]
    return found


def instance(**sections: Any) -> dict[str, Any]:
    users = [{"username": "app", "password": "x", "default_hostgroup": 1}]
    return {"mysql_servers": SERVERS, "mysql_users": users, **sections}


def names(moves: list[ShardMove]) -> dict[str, tuple[int, int, str]]:
    return {move.name: (move.current, move.desired, move.how) for move in moves}


RUNS = instance(sharding=[TABLES])


def of_tables(**changes: Any) -> dict[str, Any]:
    """Return files that shard tables, with these changes."""
    return instance(sharding=[{**TABLES, **changes}])


def of_schemas(**changes: Any) -> dict[str, Any]:
    """Return files that shard schemas, with these changes."""
    return instance(sharding=[{**SCHEMAS, **changes}])


def and_a_rule(files: Files, pattern: str, hostgroup: int = 12, **cells: Value) -> dict[str, Any]:
    """Return files with a rule before the generated rules."""
    rule = {"rule_id": 1, "match_digest": pattern, "destination_hostgroup": hostgroup, **cells}
    return {**files, "mysql_query_rules": [rule]}


def with_servers(files: Files, *servers: tuple[int, str]) -> dict[str, Any]:
    rows_ = [{"hostgroup_id": number, "hostname": name} for number, name in servers]
    return {**files, "mysql_servers": rows_}


SWAPPED = ((1, "db1"), (10, "db11"), (11, "db10"), (12, "db12"))
RENUMBERED = ((1, "db1"), (10, "db10"), (21, "db11"), (12, "db12"))
REPLACED = ((1, "db1"), (10, "replacement"), (11, "db11"), (12, "db12"))
FAMILY = {"mysql_replication_hostgroups": [{"writer_hostgroup": 10, "reader_hostgroup": 12}]}
NOWHERE = [{"username": "app", "password": "x", "default_hostgroup": 99}]
ANYBODY = {name: value for name, value in SCHEMAS.items() if name != "username"}
LOCKS = and_a_rule(of_schemas(), "^SELECT.*FOR UPDATE", 1, apply=1)
BY_HAND = and_a_rule(instance(), "sharded", 10, comment="sharding by hand")


@dataclass(frozen=True)
class MoveCase:
    """What an instance runs with, the files, and what moves: from where to where, and how."""

    before: Files
    after: Files
    moves: dict[str, tuple[int, int, str]] = field(default_factory=dict)


MOVES = {
    "nothing changes": MoveCase(before=RUNS, after=RUNS),
    "another order": MoveCase(
        before=RUNS,
        after=of_tables(hostgroups=[11, 10]),
        moves={
            **dict.fromkeys(("t1", "t3"), (11, 10, "moves")),
            **dict.fromkeys(("t2", "t4"), (10, 11, "moves")),
        },
    ),
    "a rule in front": MoveCase(
        before=RUNS,
        after=and_a_rule(of_tables(), "^UPDATE t1 ", apply=1),
        moves={"t1": (11, 12, "moves")},
    ),
    "the reads of all shards go to one hostgroup": MoveCase(
        before=RUNS,
        after=and_a_rule(of_tables(), "^SELECT", apply=1),
        moves={
            **dict.fromkeys(("t1", "t3"), (11, 12, "reads")),
            **dict.fromkeys(("t2", "t4"), (10, 12, "reads")),
        },
    ),
    "the reads of one shard may go to its replica": MoveCase(
        before=RUNS, after=and_a_rule(of_tables(), "^SELECT .*t1", apply=1)
    ),
    "a first apply": MoveCase(before={}, after=RUNS),
    "servers alone": MoveCase(before={"mysql_servers": SERVERS}, after=RUNS),
    "the default hostgroup has the tables": MoveCase(
        before=instance(),
        after=RUNS,
        moves={
            **dict.fromkeys(("t1", "t3"), (1, 11, "enters")),
            **dict.fromkeys(("t2", "t4"), (1, 10, "enters")),
        },
    ),
    "a default hostgroup without servers has none": MoveCase(
        before=instance(mysql_users=NOWHERE), after=instance(mysql_users=NOWHERE, sharding=[TABLES])
    ),
    "a table is taken out": MoveCase(
        before=RUNS, after=of_tables(tables="t{1..3}"), moves={"t4": (10, 1, "leaves")}
    ),
    "sharding is taken out": MoveCase(
        before=RUNS,
        after=and_a_rule(instance(), "^x", 1),
        moves={
            **dict.fromkeys(("t1", "t3"), (11, 1, "leaves")),
            **dict.fromkeys(("t2", "t4"), (10, 1, "leaves")),
        },
    ),
    "another number for the same servers": MoveCase(
        before=RUNS, after=with_servers(of_tables(hostgroups=[10, 21]), *RENUMBERED)
    ),
    "a reader of the same family has the data": MoveCase(
        before={**RUNS, **FAMILY}, after={**of_tables(hostgroups=[12, 11]), **FAMILY}
    ),
    "servers trade places": MoveCase(
        before=RUNS,
        after=with_servers(RUNS, *SWAPPED),
        moves={
            **dict.fromkeys(("t1", "t3"), (11, 11, "servers")),
            **dict.fromkeys(("t2", "t4"), (10, 10, "servers")),
        },
    ),
    "a server is replaced": MoveCase(before=RUNS, after=with_servers(RUNS, *REPLACED)),
    "rows of others are no sharding": MoveCase(before=BY_HAND, after=instance()),
    "schemas move": MoveCase(
        before=of_schemas(),
        after=of_schemas(hostgroups=[10, 12]),
        moves=dict.fromkeys(("s1", "s3"), (11, 12, "moves")),
    ),
    "a schema leaves": MoveCase(
        before=of_schemas(), after=of_schemas(schemas="s{1..2}"), moves={"s3": (11, 1, "leaves")}
    ),
    "a schema joins": MoveCase(
        before=of_schemas(), after=of_schemas(schemas="s{1..4}"), moves={"s4": (1, 10, "joins")}
    ),
    "schemas for any user": MoveCase(
        before=instance(sharding=[ANYBODY]),
        after=instance(sharding=[{**ANYBODY, "hostgroups": [10, 12]}]),
        moves=dict.fromkeys(("s1", "s3"), (11, 12, "moves")),
    ),
    "fast routing comes alive": MoveCase(
        before={**LOCKS, "keep_fast_routing_alive": False},
        after=LOCKS,
        moves={
            **dict.fromkeys(("s1", "s3"), (1, 11, "enters")),
            "s2": (1, 10, "enters"),
        },
    ),
}


@pytest.mark.parametrize("case", MOVES.values(), ids=MOVES)
def test_what_moves(moved: Any, case: MoveCase) -> None:
    assert names(moved(case.before, case.after)) == case.moves


def test_many_ways_are_counted() -> None:
    moves = [ShardMove("t", "table", f"t{n}", n, n + 1, "moves") for n in range(30)]
    found = list(move_texts(moves, {}))
    assert len(found) == 13
    assert found[-1] == "sharding t: 18 more tables change shard"


@pytest.mark.parametrize("seed", range(30))
def test_names_are_read_back_from_their_patterns(seed: int) -> None:
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


def test_a_name_that_joins_is_a_warning(moved: Any) -> None:
    found = moved(of_schemas(), of_schemas(schemas="s{1..4}"))
    assert list(refusals(found, NOTHING, allowed=False)) == []
    assert list(warnings(found, NOTHING, allowed=False)) == [
        "sharding s: schema s4 would join the others and go from 1 to 10;"
        " move any existing data first"
    ]


def test_the_text_of_names_that_stay_where_other_servers_are(moved: Any) -> None:
    found = move_texts(moved(RUNS, with_servers(RUNS, *SWAPPED)), {10: "first"})
    assert next(iter(found)) == (
        "sharding t: tables t2, t4 would stay in 10 (first), which gets servers of another"
        " hostgroup"
    )
