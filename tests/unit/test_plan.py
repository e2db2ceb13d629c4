"""From three layers to changes, steps, pending edits and refusals."""

from proxyctl.plan.diff import Surroundings
from proxyctl.plan.pending_edits import pending_edits, refusals
from proxyctl.plan.steps import with_images
from proxyctl.state.row import Layer
from tests.support.build import desired, diff, module_plan, rows

RULES = "mysql_query_rules"
SERVERS = "mysql_servers"
NOWHERE = Surroundings()


def complete(module, surroundings=NOWHERE, used=()):
    (module,) = with_images([module], surroundings, {SERVERS: frozenset(used)})
    return module


def test_only_restart_only_variables_of_disk_are_compared():
    def variables(threads):
        row = ("mysql-threads", threads)
        return {("mysql-threads",): row}

    wanted = desired("mysql_variables")
    wanted = type(wanted)(wanted.layout, variables("8"))
    found = diff(wanted, variables("4"))
    assert [bool(found.changes[layer]) for layer in Layer] == [False, False, True]
    module = complete(module_plan(found))
    assert (module.load, module.save) == (False, True)
    assert module.final["mysql_variables"] == variables("8")


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
        """Its RUNTIME does not show the row, and MEMORY of a member is what peers send."""
        wanted = desired(RULES, {"rule_id": 1}, {"rule_id": 2, "active": 0})
        held = rows(RULES, {"rule_id": 1}, {"rule_id": 2, "active": 0})
        there = {key: row for key, row in held.items() if key == (1,)}
        module = self.plan(wanted, there, runtime=there, disk=held)
        assert self.codes(module) == []


def test_servers_leave_a_used_hostgroup_only_after_rules_have_changed():
    memory = rows(SERVERS, {"hostgroup_id": 1, "hostname": "a"})
    servers = module_plan(diff(desired(SERVERS, {"hostgroup_id": 2, "hostname": "a"}), memory))
    rules = module_plan(diff(desired(RULES, {"rule_id": 1}), {}))
    servers, rules = with_images([servers, rules], NOWHERE, {SERVERS: frozenset({1})})
    first, second = servers.images
    assert {key[0] for key in first[SERVERS]} == {1, 2}
    assert {key[0] for key in second[SERVERS]} == {2}
    (servers,) = with_images([servers], NOWHERE, {SERVERS: frozenset({1})})
    assert len(servers.images) == 1
