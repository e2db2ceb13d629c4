"""From three layers to changes, steps, pending edits and remarks."""

from __future__ import annotations

from dataclasses import replace

from proxyctl.plan import notes
from proxyctl.plan.pending_edits import pending_edits, refusals
from proxyctl.plan.steps import with_images
from proxyctl.proxysql.topology import Family, Topologies, Topology
from proxyctl.rows.row import Layer
from tests.support.build import desired, diff, module_plan, placed, rows

RULES = "mysql_query_rules"
SERVERS = "mysql_servers"


def complete(module, topologies=Topologies(), used=()):
    (module,) = with_images([module], topologies.desired, {SERVERS: frozenset(used)})
    return module


def test_a_changed_variable_keeps_its_place():
    """A LOAD takes variables in the order of MEMORY, and a bit of the capabilities comes early."""

    def variables(have_ssl):
        named = {"mysql-have_ssl": have_ssl, "mysql-server_capabilities": "569867"}
        return {(name,): (name, value) for name, value in named.items()}

    wanted = desired("mysql_variables")
    wanted = type(wanted)(wanted.layout, variables("true"))
    found = diff(wanted, variables("false"))
    assert list(found.target) == list(variables("true"))
    assert [change.key[0] for change in found.changes[Layer.RUNTIME]] == ["mysql-have_ssl"]


class TestPendingEdits:
    LIVE = rows(RULES, {"rule_id": 1}, {"rule_id": 2})
    EDITED = rows(RULES, {"rule_id": 1}, {"rule_id": 2, "destination_hostgroup": 7})

    def plan(self, wanted, memory, **layers):
        return complete(module_plan(diff(wanted, memory, **layers)))

    def codes(self, module):
        return [refusal.code for refusal in refusals([(module, pending_edits(module))])]

    def test_memory_that_already_holds_what_the_files_say_is_no_edit(self):
        wanted = desired(RULES, {"rule_id": 1}, {"rule_id": 2, "destination_hostgroup": 7})
        module = self.plan(wanted, self.EDITED, runtime=self.LIVE, disk=self.LIVE)
        assert module.load
        assert self.codes(module) == []

    def test_an_inactive_row_that_a_peer_took_out_of_memory_is_no_edit(self):
        """RUNTIME does not show an inactive row, and peers overwrite a member's MEMORY."""
        wanted = desired(RULES, {"rule_id": 1}, {"rule_id": 2, "active": 0})
        held = rows(RULES, {"rule_id": 1}, {"rule_id": 2, "active": 0})
        there = {key: row for key, row in held.items() if key == (1,)}
        module = self.plan(wanted, there, runtime=there, disk=held)
        assert self.codes(module) == []


GALERA = Family("galera", 10, frozenset({10, 20, 30, 40}), offline=40)
DB1 = {"hostgroup_id": 10, "hostname": "db1"}
DB2 = {"hostgroup_id": 20, "hostname": "db2"}


def servers(wanted, current, *families):
    around = placed(*families)
    found = diff(
        desired(SERVERS, *wanted), rows(SERVERS, *wanted), runtime=current, topologies=around
    )
    module = module_plan(found)
    (module,) = with_images([module], around.desired, {})
    return module


def test_nodes_that_a_monitor_found_are_named():
    found = diff(desired(SERVERS), {})
    gone = frozenset({(20, "n3", 3306), (10, "n3", 3306)})
    found = replace(found, discovered=(("n2", 3306),), draining=gone)
    assert [*notes.left_alone([found])] == [
        "n2:3306 discovered by the monitor",
        "server n3:3306 in hostgroup 10, server n3:3306 in hostgroup 20 OFFLINE_HARD, draining",
    ]


def test_connections_are_cut_only_where_a_server_leaves():
    module = servers([DB1], rows(SERVERS, DB1, DB2))
    leaving = notes.leaving_servers(module)
    assert leaving == {(20, "db2", 3306)}
    used = {(10, "db1", 3306): 5, (20, "db2", 3306): 1}
    assert [*notes.cut_connections(leaving, used)] == [
        "db2:3306 leaves hostgroup 20: 1 connection in use will be cut; drain it first:"
        " proxyctl nodes drain db2:3306"
    ]


def test_a_server_that_is_loaded_offline_hard_leaves():
    module = servers([DB1, {**DB2, "status": "OFFLINE_HARD"}], rows(SERVERS, DB1, DB2))
    assert notes.leaving_servers(module) == {(20, "db2", 3306)}


def test_a_node_that_a_load_would_remove_is_named_once():
    nodes = [{"hostgroup_id": 10, "hostname": name} for name in ("n1", "n2")]
    standing = rows(
        SERVERS, nodes[0], *({"hostgroup_id": group, "hostname": "n2"} for group in (20, 30))
    )
    memory = rows(SERVERS, nodes[0], {**nodes[1], "status": "OFFLINE_HARD"})
    around = placed(GALERA)
    wanted = desired(SERVERS, {**nodes[0], "weight": 5}, nodes[1])
    found = diff(wanted, memory, runtime=standing, topologies=around)
    assert [*notes.left_alone([found])] == [
        "n2:3306 in hostgroup 10 OFFLINE_HARD in MEMORY and on DISK, set by an operator"
    ]
    module = module_plan(found)
    (module,) = with_images([module], around.desired, {})
    (edit,) = pending_edits(module)
    assert (edit.key, edit.is_managed) == ((10, "n2", 3306), False)
    assert edit.columns == ("status",)
    assert notes.leaving_servers(module) == {(20, "n2", 3306), (30, "n2", 3306)}
    gone = diff(wanted, memory, runtime=rows(SERVERS, nodes[0]), topologies=around)
    assert [change.key[1] for change in gone.changes[Layer.RUNTIME]] == ["n1"]


def test_hostgroups_of_two_monitors_are_named():
    both = Family("galera", 10, frozenset({30, 10}), also=("replication",))
    (text,) = notes.shared_families(Topology((GALERA, both)))
    assert text.startswith("hostgroups 10, 30 belong to rows of several monitors (galera, replic")
