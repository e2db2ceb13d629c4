"""Monitored families: what is a difference, and which rows a LOAD must write to move nobody."""

import pytest

from proxyctl.plan.change import changes_of
from proxyctl.plan.diff import Surroundings
from proxyctl.plan.guards.deletes import deletions
from proxyctl.plan.guards.hostgroups import Needs, Servers, emptied_hostgroups
from proxyctl.plan.steps import with_images
from proxyctl.state.families import Family, families_in
from proxyctl.state.placement import placed_rows, with_successors
from proxyctl.state.row import GuardLimits, Layer, Rows
from proxyctl.state.servers import compare_servers
from tests.support.build import desired, diff, layout, module_plan, rows

SERVERS = layout("mysql_servers")
GALERA = Family("galera", 10, frozenset({10, 20, 30, 40}), offline=40, backup=20)
REPLICATION = Family("replication", 10, frozenset({10, 30}))


def node(hostgroup: int, host: str, status: str = "ONLINE", **values):
    return {"hostgroup_id": hostgroup, "hostname": host, "status": status, **values}


CONFIGURED = [node(10, "n1"), node(10, "n2"), node(10, "n3")]
PLACED = rows(
    "mysql_servers",
    node(10, "n1"),
    node(10, "n2", "SHUNNED"),
    node(20, "n2"),
    node(30, "n2"),
    node(10, "n3", "SHUNNED"),
    node(20, "n3"),
    node(30, "n3"),
)


def statuses(found: Rows) -> dict[tuple, str]:
    return {(key[0], key[1]): str(row[4]) for key, row in found.items()}


def wanted(*nodes):
    return desired("mysql_servers", *({k: v for k, v in n.items() if k != "status"} for n in nodes))


def test_without_the_monitor_every_row_counts():
    verdict = compare_servers(SERVERS, PLACED, wanted(*CONFIGURED).rows, [])
    assert {d.key[:2] for d in verdict.differences} == {
        (20, "n2"),
        (30, "n2"),
        (20, "n3"),
        (30, "n3"),
    }


def test_a_node_that_is_nowhere_in_its_family_is_a_difference():
    nodes = [*CONFIGURED, node(10, "n4")]
    (found,) = compare_servers(SERVERS, PLACED, wanted(*nodes).rows, [GALERA]).differences
    assert found.key[:2] == (10, "n4")
    assert found.current is None


def test_a_foreign_node_is_a_difference_except_where_the_monitor_discovers():
    nodes = CONFIGURED[:2]
    found = compare_servers(SERVERS, PLACED, wanted(*nodes).rows, [GALERA]).differences
    assert {d.key[1] for d in found} == {"n3"}
    discovers = Family("group_replication", 10, GALERA.hostgroups, offline=40, discovers=True)
    verdict = compare_servers(SERVERS, PLACED, wanted(*nodes).rows, [discovers])
    assert verdict.differences == []
    assert verdict.discovered == [("n3", 3306)]


def test_an_attribute_is_compared_in_every_row_of_the_node():
    nodes = [node(10, "n1"), node(10, "n2", weight=7), node(10, "n3")]
    found = compare_servers(SERVERS, PLACED, wanted(*nodes).rows, [GALERA]).differences
    assert {d.key[:2] for d in found} == {(10, "n2")}
    assert [d.current[0] for d in found] == [10, 20, 30]
    assert {SERVERS.names[p] for d in found for p in d.columns} == {"weight"}


def test_every_placed_row_of_a_cluster_member_is_staged_at_once():
    around = Surroundings((GALERA,), (GALERA,), is_cluster_member=True)
    files = wanted(node(10, "n1"), node(10, "n2", weight=7), node(10, "n3"))
    first = diff(files, PLACED, surroundings=around)
    assert statuses(first.target) == statuses(PLACED)
    second = diff(files, first.target, surroundings=around)
    assert second.is_in_sync
    assert [change.key[:2] for change in changes_of(first)] == [(10, "n2")]


@pytest.mark.parametrize("hostgroups", [(20, 30), (10, 20, 30), (30,)])
def test_rows_of_a_node_that_a_peer_placed_elsewhere_converge_too(hostgroups):
    around = Surroundings((GALERA,), (GALERA,), is_cluster_member=True)
    files = wanted(node(10, "n1", weight=5))
    memory = rows("mysql_servers", *(node(h, "n1") for h in hostgroups))
    staged = diff(files, memory, surroundings=around).target
    assert staged.keys() == memory.keys()
    assert diff(files, staged, surroundings=around).is_in_sync


@pytest.mark.parametrize("is_member", [False, True])
def test_a_node_that_leaves_is_one_change_and_one_deletion(is_member):
    around = Surroundings((GALERA,), (GALERA,), is_member)
    memory = rows("mysql_servers", *(node(10, f"n{n}") for n in range(12)))
    runtime = rows("mysql_servers", node(10, "n0"), *(node(30, f"n{n}") for n in range(1, 12)))
    files = wanted(*(node(10, f"n{n}") for n in range(10)))
    found = diff(files, runtime if is_member else memory, runtime=runtime, surroundings=around)
    changes = changes_of(found)
    assert [(c.action, c.key[1]) for c in changes] == [("delete", "n10"), ("delete", "n11")]
    assert all(Layer.RUNTIME in c.layers and Layer.MEMORY in c.layers for c in changes)
    assert all(SERVERS.key_of(c.shown.current) == c.key for c in changes)
    assert refusals(found) == []
    limits = GuardLimits(max_deletes_percent=16)
    assert [r.message for r in refusals(found, limits)] == [
        "mysql_servers: 2 of 12 rows would be deleted; the limit is 16 percent"
    ]


def refusals(found, limits=None):
    return list(deletions([module_plan(found)], limits or GuardLimits()))


def test_without_families_a_server_in_two_hostgroups_is_two_rows():
    memory = rows("mysql_servers", *(node(h, f"n{n}") for n in range(6) for h in (10, 30)))
    files = wanted(*(node(h, f"n{n}") for n in range(4) for h in (10, 30)))
    found = diff(files, memory)
    assert len(changes_of(found)) == 4
    assert [r.message[:32] for r in refusals(found)] == ["mysql_servers: 4 of 12 rows woul"]


def test_a_placed_load_moves_nobody_and_publishes_the_attributes():
    configured = rows("mysql_servers", node(10, "n1"), node(10, "n2", weight=7), node(10, "n3"))
    loaded = placed_rows(SERVERS, configured, PLACED, [GALERA])
    assert statuses(loaded) == statuses(PLACED)
    weights = {key[:2]: row[SERVERS.index["weight"]] for key, row in loaded.items()}
    assert weights[20, "n2"] == weights[30, "n2"] == 7
    assert weights[10, "n1"] == 1


def test_a_new_node_of_a_placed_galera_family_enters_through_the_offline_hostgroup():
    configured = rows("mysql_servers", *CONFIGURED, node(10, "n4"))
    loaded = placed_rows(SERVERS, configured, PLACED, [GALERA])
    assert statuses(loaded)[40, "n4"] == "ONLINE"
    assert (10, "n4") not in statuses(loaded)


def test_the_first_node_of_a_family_enters_where_the_file_says():
    configured = rows("mysql_servers", *CONFIGURED)
    assert placed_rows(SERVERS, configured, {}, [GALERA]) == configured


def test_a_removed_node_is_not_loaded():
    configured = rows("mysql_servers", *CONFIGURED[:2])
    loaded = placed_rows(SERVERS, configured, PLACED, [GALERA])
    assert {key[1] for key in loaded} == {"n1", "n2"}


def test_when_the_writer_leaves_the_next_in_line_takes_its_place():
    placed = placed_rows(SERVERS, rows("mysql_servers", *CONFIGURED[1:]), PLACED, [GALERA])
    loaded = with_successors(SERVERS, placed, PLACED, [GALERA])
    # Equal weights: the higher name is elected.
    assert statuses(loaded) == {
        (10, "n2"): "SHUNNED",
        (20, "n2"): "ONLINE",
        (30, "n2"): "ONLINE",
        (10, "n3"): "ONLINE",
    }
    assert with_successors(SERVERS, PLACED, PLACED, [GALERA]) == PLACED


def test_a_writer_that_its_status_takes_off_is_followed_like_one_that_is_removed():
    off = rows("mysql_servers", node(10, "n1", "OFFLINE_HARD"), *CONFIGURED[1:])
    placed = placed_rows(SERVERS, off, PLACED, [GALERA])
    loaded = statuses(with_successors(SERVERS, placed, PLACED, [GALERA]))
    assert loaded.pop((10, "n1")) == "OFFLINE_HARD"
    removed = placed_rows(SERVERS, rows("mysql_servers", *CONFIGURED[1:]), PLACED, [GALERA])
    assert loaded == statuses(with_successors(SERVERS, removed, PLACED, [GALERA]))


def test_a_drained_node_or_one_in_maintenance_is_no_successor():
    runtime = rows(
        "mysql_servers",
        node(10, "n1"),
        node(10, "n2", "SHUNNED", max_connections=0),
        node(30, "n2", max_connections=0),
        node(10, "n3", "SHUNNED"),
        node(40, "n3"),
    )
    staying = {key: row for key, row in runtime.items() if key[1] != "n1"}
    assert with_successors(SERVERS, staying, runtime, [GALERA]) == staying


def test_the_last_reader_stays_one_when_it_becomes_the_writer():
    runtime = rows("mysql_servers", node(10, "n1"), node(10, "n2", "SHUNNED"), node(30, "n2"))
    staying = {key: row for key, row in runtime.items() if key[1] != "n1"}
    loaded = with_successors(SERVERS, staying, runtime, [GALERA])
    assert statuses(loaded) == {(10, "n2"): "ONLINE", (30, "n2"): "ONLINE"}


def test_a_node_that_waits_beside_a_writer_is_not_loaded_as_a_second_one():
    runtime = rows("mysql_servers", node(10, "n1"), node(10, "n2", "SHUNNED"))
    configured = rows("mysql_servers", *CONFIGURED[:2])
    assert statuses(placed_rows(SERVERS, configured, runtime, [GALERA])) == {
        (10, "n1"): "ONLINE",
        (10, "n2"): "SHUNNED",
    }


def test_shunned_is_not_loaded_where_nobody_else_writes():
    runtime = rows("mysql_servers", node(10, "n2", "SHUNNED"), node(40, "n1"))
    configured = rows("mysql_servers", *CONFIGURED[:2])
    assert statuses(placed_rows(SERVERS, configured, runtime, [GALERA])) == {
        (10, "n2"): "ONLINE",
        (40, "n1"): "ONLINE",
    }
    leaving = rows("mysql_servers", node(10, "n1"), node(10, "n2", "SHUNNED"))
    rest = rows("mysql_servers", CONFIGURED[1])
    assert statuses(placed_rows(SERVERS, rest, leaving, [GALERA])) == {(10, "n2"): "ONLINE"}


def test_a_failed_over_replication_pair_stays_failed_over():
    runtime = rows("mysql_servers", node(30, "old"), node(10, "new"), node(30, "new", "SHUNNED"))
    configured = rows("mysql_servers", node(10, "old"), node(30, "new", weight=9))
    loaded = placed_rows(SERVERS, configured, runtime, [REPLICATION])
    assert statuses(loaded) == {(30, "old"): "ONLINE", (10, "new"): "ONLINE", (30, "new"): "ONLINE"}


def test_families_come_from_active_rows():
    table = "mysql_galera_hostgroups"
    groups = {
        "writer_hostgroup": 10,
        "backup_writer_hostgroup": 20,
        "reader_hostgroup": 30,
        "offline_hostgroup": 40,
    }
    active = rows(table, groups)
    inactive = rows(table, {**groups, "active": 0})
    layouts = {table: layout(table)}
    (found,) = families_in(layouts, {table: active.values()}, rds_discovery=False)
    assert found == GALERA
    assert families_in(layouts, {table: inactive.values()}, rds_discovery=False) == []


def test_rows_of_two_tables_that_share_a_hostgroup_make_one_family():
    tables = {
        "mysql_galera_hostgroups": {
            "writer_hostgroup": 10,
            "backup_writer_hostgroup": 20,
            "reader_hostgroup": 30,
            "offline_hostgroup": 40,
        },
        "mysql_replication_hostgroups": {"writer_hostgroup": 10, "reader_hostgroup": 50},
    }
    (found,) = families_in(
        {name: layout(name) for name in tables},
        {name: rows(name, row).values() for name, row in tables.items()},
        rds_discovery=False,
    )
    hostgroups = frozenset({10, 20, 30, 40, 50})
    assert found == Family("galera", 10, hostgroups, 40, 20, also=("replication",))
    placed = rows("mysql_servers", node(40, "n1"), node(50, "n2"))
    files = wanted(node(10, "n1"), node(10, "n2")).rows
    assert compare_servers(SERVERS, placed, files, [found]).differences == []


def refused_hostgroups(runtime, files, family=GALERA):
    around = Surroundings((family,), (family,))
    memory = rows("mysql_servers", *(node(10, f"n{n}") for n in (1, 2, 3)))
    found = diff(files, memory, runtime=rows("mysql_servers", *runtime), surroundings=around)
    module = module_plan(found)
    (module,) = with_images([module], around, frozenset({10, 30}))
    needs = Needs(frozenset(), {"mysql_query_rules": frozenset({10, 30})}, {})
    loaded = module.images[-1]["mysql_servers"]
    servers = Servers(SERVERS, found.runtime, loaded, (family,))
    found = emptied_hostgroups(servers, needs)
    return [danger.message.split(" would have")[0] for danger in found]


def test_the_last_node_that_serves_is_not_removed_unasked():
    offline = [node(40, "n2"), node(40, "n3")]
    files = wanted(node(10, "n2"), node(10, "n3"))
    assert refused_hostgroups([node(10, "n1"), *offline], files) == ["hostgroup 10", "hostgroup 30"]
    unwell = [node(10, "n1", "SHUNNED"), node(40, "n1"), *offline]
    kept = wanted(node(10, "n1", weight=5), node(10, "n2"), node(10, "n3"))
    assert refused_hostgroups(unwell, kept) == []
