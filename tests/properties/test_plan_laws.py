"""Laws of planning, for any files and any instance: in memory, without a server."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from proxyctl.catalog import Layout, Value
from proxyctl.plan.change import DELETE
from proxyctl.plan.plan import Plan
from proxyctl.plan.steps import with_images
from proxyctl.proxysql.load_image import runtime_image
from proxyctl.proxysql.topology import Family, Topology
from proxyctl.proxysql.user_halves import fold_users
from proxyctl.rows.row import Rows
from tests.properties.states import (
    State,
    nodes_of_a_family,
    states,
    tables,
)
from tests.support import build


def as_dicts(table: str, rows: Rows) -> list[dict[str, Value]]:
    names = build.layout(table).names
    return [dict(zip(names, row, strict=True)) for row in rows.values()]


def planned(table: str, wanted: Rows, current: Rows, runtime: Rows | None = None) -> Plan:
    """Plan one table of an instance whose three layers agree."""
    layout = build.layout(table)
    if table == "mysql_users":
        wanted = fold_users(layout, wanted)  # as the files' rows are when they are compiled
    if runtime is None:
        runtime = shown_at_runtime(layout, current)
    found = build.diff(
        build.desired(table, *as_dicts(table, wanted)), current, runtime=runtime, disk=dict(current)
    )
    diffs = {found.layout.name: found}
    if found.layout.table.admin_module == "MYSQL SERVERS":
        diffs.setdefault("mysql_servers", build.diff(None, {}, table="mysql_servers"))
    modules = with_images([build.module_plan(*diffs.values())], Topology(), {})
    return Plan("px", "here:1", "2.7.1", modules=modules)


def shown_at_runtime(layout: Layout, rows: Rows) -> Rows:
    image: Any = runtime_image(layout, rows)
    return dict(image)


@given(states, tables)
def test_the_difference_of_equal_states_is_empty(state: State, table: str) -> None:
    plan = planned(table, state[table], state[table])
    assert plan.is_in_sync, plan.modules[0].changes


@given(states, states, tables, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(
    one: State, other: State, table: str, chance: random.Random
) -> None:
    def shuffled(rows: Rows) -> Rows:
        items = list(rows.items())
        chance.shuffle(items)
        return dict(items)

    first = planned(table, one[table], other[table])
    second = planned(table, shuffled(one[table]), shuffled(other[table]))
    assert first.fingerprint == second.fingerprint


@given(states, states, states, tables)
def test_equal_plans_and_only_those_have_one_fingerprint(
    one: State, other: State, current: State, table: str
) -> None:
    first = planned(table, one[table], current[table])
    second = planned(table, other[table], current[table])
    same = [_statements(first), first.is_in_sync] == [_statements(second), second.is_in_sync]
    assert (first.fingerprint == second.fingerprint) is same


def _statements(plan: Plan) -> list[object]:
    return [
        (change.key, change.action, change.layers, change.fields)
        + ((change.row,) if change.action == DELETE else ())
        for module in plan.modules
        for change in module.changes
    ]


@given(states, states, tables)
def test_a_plan_names_every_row_once(one: State, other: State, table: str) -> None:
    (module,) = planned(table, one[table], other[table]).modules
    keys = [change.key for change in module.changes]
    assert len(keys) == len(set(keys))
    assert set(keys) <= one[table].keys() | other[table].keys()


FAMILIES = [
    Family("galera", 10, frozenset({10, 20, 30, 40}), offline=40),
    Family("replication", 10, frozenset({10, 30})),
    Family("group_replication", 10, frozenset({10, 20, 30, 40}), offline=40, discovers=True),
]


@given(
    nodes_of_a_family("ONLINE"),
    nodes_of_a_family("ONLINE", "SHUNNED", "OFFLINE_SOFT"),
    nodes_of_a_family("ONLINE", "SHUNNED"),
    st.sampled_from(FAMILIES),
    st.booleans(),
)
def test_one_apply_is_enough_for_a_family(
    wanted: Rows, memory: Rows, runtime: Rows, family: Family, is_member: bool
) -> None:
    layout = build.layout("mysql_servers")
    around = build.placed(family, is_cluster_member=is_member)
    if is_member:
        # A peer's placed rows look like a node that is configured in two hostgroups.
        nodes = {key[1:]: key for key in wanted}
        wanted = {key: wanted[key] for key in nodes.values()}
    desired = build.desired("mysql_servers", *as_dicts("mysql_servers", wanted))
    found = build.diff(desired, memory, runtime=runtime, topologies=around)
    module = build.module_plan(found)
    (module,) = with_images([module], around.desired, {})
    keys = [change.key for change in module.changes]
    assert len(keys) == len(set(keys))
    stored = module.final["mysql_servers"]
    for image in module.images:
        runtime = shown_at_runtime(layout, image["mysql_servers"])
    again = build.diff(desired, stored, runtime=runtime, topologies=around)
    assert again.is_in_sync, again.changes
