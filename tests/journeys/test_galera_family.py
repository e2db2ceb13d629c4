"""A Galera family: a drained node during other changes, and an apply that is killed."""

from __future__ import annotations

import pytest

from tests.journeys.watched import Killable
from tests.support.commands.cli import Outcome, Project, proxyctl
from tests.support.commands.story import applied, ended, plan, rolled_back
from tests.support.parameters import crossed
from tests.support.protocol.faulty_proxy import FaultyProxy
from tests.support.servers.galera_family import GaleraFamily
from tests.support.servers.placement_samples import online, placement

DRAINED = {("0", "0")}
LAYERS = ("runtime_", "", "disk.")
NODE = "{{hostname: {}}}"
DIFFERS = "MYSQL SERVERS differs between MEMORY, RUNTIME and DISK"


def nodes(command: str, node: str, *options: str) -> Outcome:
    done = proxyctl("nodes", command, node, *options)
    assert done.code == 0, done.text
    return done


@pytest.fixture
def drained(family: GaleraFamily) -> str:
    """The drained node, which was the writer."""
    node = family.writer
    nodes("drain", node)
    assert is_drained(family, node)
    assert family.writer != node
    return node


def is_drained(family: GaleraFamily, node: str) -> bool:
    return family.cells("weight, max_connections", node) == DRAINED


def change(family: GaleraFamily, node: str, attribute: str) -> str:
    """Return the files with one more attribute for a node."""
    before = NODE.format(node)
    assert before in family.files
    return family.files.replace(before, before.replace("}", f", {attribute}}}"))


def test_a_change_of_its_weight_waits_until_it_is_restored(
    family: GaleraFamily, offline: Project, drained: str
) -> None:
    offline.write(change(family, drained, "weight: 7"))
    applied()
    assert is_drained(family, drained)
    assert family.cells("weight", drained, "disk.") == {("7",)}
    assert plan().code == 0
    nodes("restore", drained)
    assert family.cells("weight", drained) == {("7",)}
    assert plan().code == 0


def test_it_leaves_when_the_files_remove_it(
    family: GaleraFamily, offline: Project, drained: str
) -> None:
    offline.write(family.files.replace(f"      - {NODE.format(drained)}\n", ""))
    applied()
    for layer in LAYERS:
        assert family.cells("hostname", drained, layer) == set()
    assert family.writer != drained
    assert plan().code == 0


@pytest.mark.parametrize("module", ["MYSQL SERVERS", "MYSQL QUERY RULES"])
def test_an_unrelated_apply_leaves_it_drained(
    family: GaleraFamily, offline: Project, drained: str, module: str
) -> None:
    if module == "MYSQL SERVERS":
        other = next(host for host in ("127.0.1.2", "127.0.1.3") if host != drained)
        offline.write(change(family, other, "max_connections: 77"))
    else:
        offline.write(family.files.replace("'^SELECT'", "'^SELECT [0-9]'"))
    done = applied()
    assert f"LOAD {module}" in done.err
    assert is_drained(family, drained)
    assert family.cells("weight, max_connections", drained, "disk.") != DRAINED
    assert plan().code == 0


def test_it_stays_drained_through_an_apply_that_is_not_saved(
    family: GaleraFamily, offline: Project, drained: str
) -> None:
    offline.write(change(family, drained, "max_connections: 77"))
    applied("--no-save")
    assert is_drained(family, drained)
    ended(proxyctl("nodes", "restore", drained), 3, DIFFERS)
    applied()
    assert is_drained(family, drained)
    nodes("restore", drained)
    assert family.cells("max_connections", drained) == {("77",)}


def test_what_was_not_saved_before_keeps_it_from_being_drained(
    family: GaleraFamily, offline: Project
) -> None:
    node = family.writer
    offline.write(change(family, node, "max_connections: 77"))
    applied("--no-save")
    ended(proxyctl("nodes", "drain", node), 3, DIFFERS)
    assert family.writer == node
    applied()
    nodes("drain", node)


def test_a_rollback_leaves_it_drained(family: GaleraFamily, offline: Project) -> None:
    node = family.writer
    offline.write(change(family, node, "max_connections: 77"))
    applied()
    nodes("drain", node)
    rolled_back()
    assert is_drained(family, node)
    assert family.cells("max_connections", node, "disk.") == {("1000",)}
    nodes("restore", node)
    offline.write(family.files)
    assert plan().code == 0


def test_the_last_reader_is_refused_and_so_are_all_while_the_monitor_is_off(
    family: GaleraFamily,
) -> None:
    last, first = sorted(online(placement(family.instance, usable=True)[30]))
    nodes("drain", first)
    drain = ("nodes", "drain")
    ended(proxyctl(*drain, last), 3, "not drained", "hostgroup 30")
    ended(proxyctl(*drain, family.writer), 3, "its last other node would become the writer")
    nodes("restore", first)
    family.instance.execute("SET mysql-monitor_enabled='false'")
    family.instance.execute("LOAD MYSQL VARIABLES TO RUNTIME")
    ended(proxyctl(*drain, family.writer), 3, "the monitor is off")


def test_a_placement_is_no_configuration_that_a_rollback_brings_back(
    family: GaleraFamily, offline: Project
) -> None:
    configured, writer = family.servers(""), family.writer
    assert proxyctl("snapshot").code == 0
    assert "No changes" in proxyctl("rollback", "--dry-run").out
    offline.write(family.files.replace("{port:", "{weight: 3, port:"))
    applied()
    rolled_back("2")
    assert family.servers("") == family.servers("disk.") == configured
    assert family.writer == writer


def test_a_placement_in_memory_is_refused_with_the_statement_that_takes_it_back(
    family: GaleraFamily,
) -> None:
    """Row statements would leave the SHUNNED of a waiting node in MEMORY, as if configured."""
    waiting = next(host for host in ("127.0.1.2", "127.0.1.3") if host != family.writer)
    drain = ("nodes", "drain", family.writer)
    family.instance.execute("SAVE MYSQL SERVERS TO MEMORY")
    for edit in ("", f"UPDATE mysql_servers SET weight=0 WHERE hostname='{waiting}'"):
        if edit:
            family.instance.execute(edit)
        ended(proxyctl(*drain), 3, DIFFERS, "take back:  LOAD MYSQL SERVERS FROM DISK;")
    family.instance.execute("LOAD MYSQL SERVERS FROM DISK")
    assert proxyctl(*drain).code == 0


@pytest.mark.parametrize(
    ("command", "second"), crossed(["drain", "restore"], ["the same", "apply"])
)
def test_after_a_command_that_is_killed_a_second_one_finishes(
    family: GaleraFamily, offline: Project, proxy: FaultyProxy, command: str, second: str
) -> None:
    """Kill the command at each statement from the first write on."""
    node, configured = family.writer, family.servers("")
    other = "drain" if command == "restore" else "restore"
    if command == "restore":
        nodes("drain", node)
    killable = Killable(offline, proxy, ("nodes", command, node))
    for place, sql in killable.statements("mysql_servers SET", "LOAD MYSQL SERVERS FROM DISK"):
        nodes(other, node)
        killable.kill_after(place)
        assert plan().code == 0, sql
        if second == "apply":
            applied()
        nodes(command, node)
        assert is_drained(family, node) is (command == "drain"), sql
        for layer in ("", "disk."):
            assert family.servers(layer) == configured, sql


# -- files that do not manage the nodes ------------------------------------------------------------


OTHERS = {
    "an attribute of a hostgroup": "hostgroups: {{writer: {{id: 10, multiplex: {0}}}}}\n",
    "a server of another hostgroup": (
        "mysql_servers: [{{hostgroup_id: 50, hostname: db1, compression: {0}}}]\n"
        "manage: {{mysql_servers: {{hostgroup_id: 50}}}}\n"
    ),
}


@pytest.mark.parametrize("what", OTHERS)
def test_a_plain_second_run_finishes_and_gives_the_nodes_their_rows_back(
    family: GaleraFamily, offline: Project, proxy: FaultyProxy, what: str
) -> None:
    """Kill at each statement from the first row that only keeps the placement to the last SAVE."""
    before, after = (OTHERS[what].format(value) for value in ("false", "true"))
    writer = family.writer
    offline.write(before)
    applied("--force")
    nodes = configured(family, "disk.")
    offline.write(after)
    killable = Killable(offline, proxy, ("apply", "--auto-approve"))
    for place, sql in killable.statements("mysql_servers SET", "SAVE MYSQL SERVERS"):
        offline.write(before)
        applied()
        offline.write(after)
        killable.kill_after(place)
        assert configured(family, "disk.") == nodes, sql
        assert family.writer == writer, sql
        applied("--lock-timeout", "0")
        assert plan().code == 0, sql
        assert configured(family, "") == configured(family, "disk.") == nodes, sql
        assert family.writer == writer, sql


def configured(family: GaleraFamily, layer: str) -> list[object]:
    """Return the rows of the family's nodes in a layer."""
    return [row for row in family.servers(layer) if row[0] != "50"]
