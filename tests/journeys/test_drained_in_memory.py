"""A server that MEMORY itself has drained, or removed: what nodes drain and nodes restore do."""

from __future__ import annotations

import pytest

from tests.support.cli import Project, proxyctl
from tests.support.servers import Instance

FILES = """\
version: 1
mysql_servers:
  - {hostgroup_id: 10, hostname: db1, max_connections: 70}
  - {hostgroup_id: 10, hostname: db2, weight: 3, max_connections: 50}
"""
LAYERS = ("runtime_", "", "disk.")
OUT = ", status: OFFLINE_SOFT"
TAKE_OUT = "UPDATE mysql_servers SET status='OFFLINE_SOFT' WHERE hostname='db2'"


@pytest.fixture
def servers(project: Project, instance: Instance) -> Instance:
    """An instance that holds the servers of the files."""
    project.connect(instance)
    project.write(FILES)
    assert proxyctl("apply", "--auto-approve").code == 0
    return instance


def held(instance: Instance, host: str = "db2") -> list[tuple[str | None, ...]]:
    """Return the server at RUNTIME, in MEMORY and on DISK."""
    columns = "status, weight, max_connections"
    return [
        row
        for layer in LAYERS
        for row in instance.query(
            f"SELECT {columns} FROM {layer}mysql_servers WHERE hostname='{host}'"
        )
    ]


SERVES = ("ONLINE", "3", "50")


def loaded_by_hand(instance: Instance, edit: str, *, saves: bool = True) -> None:
    for sql in (edit, "LOAD MYSQL SERVERS TO RUNTIME", "SAVE MYSQL SERVERS TO DISK"):
        if saves or not sql.startswith("SAVE"):
            instance.execute(sql)


def test_a_server_that_was_taken_out_meanwhile_stays_on_record(servers: Instance) -> None:
    assert proxyctl("nodes", "drain", "db2").code == 0
    servers.execute(TAKE_OUT)
    refused = proxyctl("nodes", "restore", "db2", "--include-pending")
    assert refused.code == 3, refused.text
    assert "db2:3306 has OFFLINE_SOFT in MEMORY, so that it would stay drained" in refused.err
    assert "db2:3306 drained by" in proxyctl("drift").out
    back = proxyctl("nodes", "restore", "db2", "--include-pending", "--force")
    assert back.code == 0, back.text
    assert "db2:3306 is back (drained by" in back.out
    assert held(servers) == [SERVES] * 3


@pytest.mark.parametrize(
    "edit", [TAKE_OUT, "UPDATE mysql_servers SET max_connections=0, weight=0 WHERE hostname='db2'"]
)
def test_one_on_no_record_gets_what_the_files_say(servers: Instance, edit: str) -> None:
    loaded_by_hand(servers, edit)
    refused = proxyctl("nodes", "restore", "db2")
    assert refused.code == 3
    assert "proxyctl nodes restore db2:3306 --force" in refused.err
    back = proxyctl("nodes", "restore", "db2", "--force")
    assert (back.code, back.out) == (0, "db2:3306 is back\n"), back.text
    assert held(servers) == [SERVES] * 3
    assert proxyctl("plan", "--detailed-exitcode").code == 0


def test_one_in_no_file_gets_what_a_new_server_has(servers: Instance, project: Project) -> None:
    loaded_by_hand(servers, "UPDATE mysql_servers SET max_connections=0 WHERE hostname='db2'")
    (project.folder / "proxyctl.yaml").unlink()
    assert proxyctl("nodes", "restore", "db2", "--force").code == 0
    assert held(servers) == [("ONLINE", "3", "1000")] * 3


def in_several(project: Project) -> None:
    """The server serves in two hostgroups, and the files take it out of a third one."""
    more = "  - {{hostgroup_id: {0}, hostname: db{1}, weight: 3, max_connections: 50{2}}}\n"
    project.write(FILES + more.format(20, 2, "") + more.format(20, 1, "") + more.format(30, 2, OUT))
    assert proxyctl("apply", "--auto-approve").code == 0


IN_SEVERAL = [SERVES, SERVES, ("OFFLINE_SOFT", "3", "50")] * 3


def test_a_row_that_the_files_take_out_stays_out_beside_others(
    servers: Instance, project: Project
) -> None:
    in_several(project)
    assert proxyctl("nodes", "drain", "db2").code == 0
    loaded_by_hand(servers, TAKE_OUT)
    back = proxyctl("nodes", "restore", "db2", "--include-pending", "--force")
    assert back.code == 0, back.text
    assert "changed in the meantime" not in back.out
    assert held(servers) == IN_SEVERAL

    # And where nobody has it on record.
    loaded_by_hand(servers, TAKE_OUT)
    assert proxyctl("nodes", "restore", "db2", "--force").code == 0
    assert held(servers) == IN_SEVERAL


def serving_again_in_another(instance: Instance) -> None:
    """It serves in a hostgroup that it was not in, and MEMORY has the drain in the first one."""
    loaded_by_hand(instance, f"{TAKE_OUT} AND hostgroup_id=10", saves=False)
    columns = "hostgroup_id, hostname, weight, max_connections"
    loaded_by_hand(instance, f"INSERT INTO mysql_servers ({columns}) VALUES (61, 'db2', 3, 50)")


def test_a_row_that_would_stay_drained_is_refused_though_another_one_serves(
    servers: Instance,
) -> None:
    assert proxyctl("nodes", "drain", "db2").code == 0
    serving_again_in_another(servers)
    refused = proxyctl("nodes", "restore", "db2")
    assert refused.code == 3, refused.text
    said = "db2:3306 has OFFLINE_SOFT in MEMORY in hostgroup 10, so that it would stay drained"
    assert said in refused.err
    assert "--force puts it back" in refused.err
    assert "though on record as drained by" in proxyctl("nodes", "list", "--no-ask").out

    back = proxyctl("nodes", "restore", "db2", "--force")
    assert back.code == 0, back.text
    assert "db2:3306 is back (drained by" in back.out
    assert held(servers) == [SERVES] * 6


def test_files_that_add_a_row_do_not_end_the_drain_of_the_others(
    servers: Instance, project: Project
) -> None:
    assert proxyctl("nodes", "drain", "db2").code == 0
    more = "  - {hostgroup_id: 61, hostname: db2, weight: 3, max_connections: 50}\n"
    project.write(FILES + more)
    assert proxyctl("apply", "--auto-approve").code == 0
    back = proxyctl("nodes", "restore", "db2")
    assert back.code == 0, back.text
    assert "db2:3306 is back (drained by" in back.out
    assert held(servers) == [SERVES] * 6


def test_a_row_that_is_on_no_record_is_put_back_though_another_one_serves(
    servers: Instance,
) -> None:
    serving_again_in_another(servers)
    refused = proxyctl("nodes", "restore", "db2")
    assert refused.code == 3, refused.text
    assert "db2:3306 has OFFLINE_SOFT in MEMORY in hostgroup 10" in refused.err
    assert "proxyctl nodes restore db2:3306 --force" in refused.err
    back = proxyctl("nodes", "restore", "db2", "--force")
    assert (back.code, back.out) == (0, "db2:3306 is back\n"), back.text
    assert held(servers) == [SERVES] * 6
    assert "nothing to do" in proxyctl("nodes", "restore", "db2").out


def test_a_row_that_the_files_take_out_meanwhile_stays_out(
    servers: Instance, project: Project
) -> None:
    """The drain is over where the files want the server; one that they brought is not ours."""
    in_several(project)
    assert proxyctl("nodes", "drain", "db2").code == 0
    lines = "".join(
        f"  - {{hostgroup_id: {number}, hostname: db2, weight: 3, max_connections: 50{status}}}\n"
        for number, status in ((10, ""), (20, OUT), (30, OUT), (40, OUT))
    )
    others = "".join(line for line in FILES.splitlines(True) if "db2" not in line)
    project.write(others + lines)
    assert proxyctl("apply", "--auto-approve").code == 0
    back = proxyctl("nodes", "restore", "db2")
    assert back.code == 0, back.text
    assert "db2:3306 is back (drained by" in back.out
    out = ("OFFLINE_SOFT", "3", "50")
    assert held(servers) == [SERVES, out, out, out] * 3


def test_one_that_is_out_in_each_hostgroup_in_another_way(
    servers: Instance, project: Project
) -> None:
    in_several(project)
    assert proxyctl("nodes", "drain", "db2").code == 0
    servers.execute(f"{TAKE_OUT} AND hostgroup_id=10")
    limit = "UPDATE mysql_servers SET max_connections=0, weight=0 WHERE hostname='db2'"
    loaded_by_hand(servers, f"{limit} AND hostgroup_id=20")
    refused = proxyctl("nodes", "restore", "db2")
    assert refused.code == 3, refused.text
    assert "db2:3306 has max_connections 0 and OFFLINE_SOFT in MEMORY" in refused.err
    back = proxyctl("nodes", "restore", "db2", "--force")
    assert back.code == 0, back.text
    assert held(servers) == IN_SEVERAL


def test_one_that_the_files_take_out_stays_out(servers: Instance, project: Project) -> None:
    project.write(FILES.replace("weight: 3", "weight: 3, status: OFFLINE_SOFT"))
    assert proxyctl("apply", "--auto-approve").code == 0
    refused = proxyctl("nodes", "restore", "db2", "--force")
    assert refused.code == 3
    assert "db2:3306 has OFFLINE_SOFT in MEMORY, and the files say so" in refused.err
    assert held(servers) == [("OFFLINE_SOFT", "3", "50")] * 3


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_a_plan_does_not_say_that_all_is_as_the_files_say(servers: Instance, form: str) -> None:
    says = "No changes: MEMORY, RUNTIME and DISK hold what the files say"
    assert f"{says}.\n" in proxyctl("plan", "--format", form).out
    assert proxyctl("nodes", "drain", "db2").code == 0
    found = proxyctl("plan", "--format", form).out
    assert f"{says}, but for what is left alone.\n" in found
    assert "db2:3306 drained by" in found


def test_wrong_files_are_not_guessed_at(servers: Instance, project: Project) -> None:
    loaded_by_hand(servers, TAKE_OUT)
    project.write(FILES.replace("weight: 3", "weight: heavy"))
    refused = proxyctl("nodes", "restore", "db2", "--force")
    assert refused.code == 1, refused.text
    assert "heavy" in refused.err
    assert held(servers)[0] == ("OFFLINE_SOFT", "3", "50")


def test_disk_keeps_the_drain_where_a_save_would_carry_more(servers: Instance) -> None:
    loaded_by_hand(servers, TAKE_OUT)
    edit = "UPDATE mysql_servers SET weight=9 WHERE hostname='db1'"
    loaded_by_hand(servers, edit, saves=False)
    back = proxyctl("nodes", "restore", "db2", "--force")
    assert back.code == 0, back.text
    assert back.out == (
        "db2:3306 is back\nDISK still has it drained: a restart of ProxySQL brings that back\n"
    )
    assert held(servers) == [SERVES, SERVES, ("OFFLINE_SOFT", "3", "50")]
    assert held(servers, "db1")[2] == ("ONLINE", "1", "70")


def test_disk_is_not_said_to_have_a_drain_that_was_never_saved(servers: Instance) -> None:
    loaded_by_hand(servers, TAKE_OUT, saves=False)
    back = proxyctl("nodes", "restore", "db2", "--force")
    assert (back.code, back.out) == (0, "db2:3306 is back\n")
    assert held(servers) == [SERVES] * 3


@pytest.mark.parametrize(
    "removes", ["DELETE FROM mysql_servers", "UPDATE mysql_servers SET status='OFFLINE_HARD'"]
)
def test_one_that_was_deleted_in_memory_only_is_not_drained_again(
    servers: Instance, removes: str
) -> None:
    assert proxyctl("nodes", "drain", "db2").code == 0
    servers.execute(f"{removes} WHERE hostname='db2'")
    again = proxyctl("nodes", "drain", "db2")
    assert again.code == 3, again.text
    assert "db2:3306 was removed in MEMORY since it was drained" in again.err
    assert "drained already" not in again.text

    gone = proxyctl("nodes", "restore", "db2", "--include-pending")
    assert gone.code == 0, gone.text
    assert "db2:3306 is no server any more, and is off the record (drained by" in gone.out
    assert "DISK still has it: a restart of ProxySQL brings that back" in gone.out
    servers.execute("SAVE MYSQL SERVERS TO DISK")


def test_rows_that_are_out_of_which_no_file_says_anything(
    servers: Instance, project: Project
) -> None:
    in_several(project)
    loaded_by_hand(servers, f"{TAKE_OUT} AND hostgroup_id=10")
    (project.folder / "proxyctl.yaml").unlink()
    before = held(servers)
    left = proxyctl("nodes", "restore", "db2")
    assert left.code == 0, left.text
    assert left.out == (
        "db2:3306 is on no record as drained: nothing was changed\n"
        "MEMORY lets no connection to it in hostgroup 10 (OFFLINE_SOFT), hostgroup 30"
        " (OFFLINE_SOFT), and no file says what it is to have there: proxyctl nodes restore"
        " db2:3306 --force opens it\n"
    )
    told = proxyctl("nodes", "restore", "db2", "--format", "json").json
    assert (told["left_out"], told["unnamed"]) == ([10, 30], [])
    assert held(servers) == before
    back = proxyctl("nodes", "restore", "db2", "--force")
    assert back.out == (
        "db2:3306 is back\n"
        "it takes connections again in hostgroups 10, 30, too, which no record and no file names\n"
    )
    assert held(servers) == [SERVES] * 9


def test_a_row_that_the_files_do_not_name_is_told_when_it_is_opened(servers: Instance) -> None:
    loaded_by_hand(
        servers,
        "INSERT INTO mysql_servers (hostgroup_id, hostname, status, weight, max_connections)"
        " VALUES (61, 'db2', 'OFFLINE_SOFT', 3, 50)",
    )
    left = proxyctl("nodes", "restore", "db2")
    assert "MEMORY lets no connection to it in hostgroup 61 (OFFLINE_SOFT), and no" in left.out
    loaded_by_hand(servers, TAKE_OUT)
    back = proxyctl("nodes", "restore", "db2", "--force", "--format", "json").json
    assert (back["left_out"], back["unnamed"]) == ([], [61])
    assert held(servers) == [SERVES] * 6
