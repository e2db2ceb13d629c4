"""A native cluster of real ProxySQL: an apply is killed at one member, and finished at another."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from tests.real.cluster.files import RULE, USER, apply, hostgroups, write
from tests.real.cluster.rig import wait_until
from tests.support.cli import Project, proxyctl
from tests.support.servers import ProxySQL

pytestmark = [pytest.mark.real, pytest.mark.since("2.6.0", "mysql_servers_v2")]

KILLED = """
import os, signal, sys
from proxyctl.admin.client import AdminClient
from proxyctl.cli.main import run
whole = AdminClient.execute
def execute(self, statement):
    done = whole(self, statement)
    if statement.sql.startswith(sys.argv[1]):
        os.kill(os.getpid(), signal.SIGKILL)
    return done
AdminClient.execute = execute
sys.exit(run(["apply", "--auto-approve"]))
"""


def kill_after(statement: str) -> None:
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, statement], capture_output=True, check=False
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr


def at(one: ProxySQL) -> tuple[str, ...]:
    return ("--host", "127.0.0.1", "--port", str(one.port))


def records(three: list[ProxySQL]) -> list[set[str | None]]:
    return [
        {row[0] for row in one.instance.query("SELECT modules FROM proxyctl_lock")} for one in three
    ]


def variable(one: ProxySQL, named: str, layer: str = "runtime_") -> str | None:
    question = f"SELECT variable_value FROM {layer}global_variables WHERE variable_name='{named}'"
    return one.instance.query(question)[0][0]


def test_what_was_staged_at_one_is_no_record_when_it_came_from_another(
    three: list[ProxySQL], project: Project
) -> None:
    write(project, USER.format(10) + RULE.format(10))
    kill_after("INSERT INTO mysql_users")
    done = apply(*at(three[1]))
    assert done.code == 0, done.text
    assert records(three) == [set(), set(), set()]
    assert proxyctl("plan", "--detailed-exitcode").code == 0
    assert proxyctl("drift").code == 0


def test_where_nobody_waited_the_record_is_no_warning_and_goes_with_the_next_apply(
    three: list[ProxySQL], project: Project
) -> None:
    write(project, USER.format(10) + RULE.format(10))
    kill_after("INSERT INTO mysql_users")
    assert apply(*at(three[1]), "--peer-timeout", "0").code == 0
    wait_until(lambda: hostgroups(three[0], layer="disk.") == {"10"})
    wait_until(lambda: hostgroups(three[0], "mysql_query_rules", "disk.") == {"10"})
    done = apply()
    assert "No changes" in done.out, done.text
    assert records(three) == [set(), set(), set()]


def test_what_was_loaded_and_not_saved_is_left_to_its_own_member(
    three: list[ProxySQL], project: Project
) -> None:
    write(project, USER.format(10))
    kill_after("LOAD MYSQL USERS")
    wait_until(lambda: hostgroups(three[1], layer="disk.") == {"10"})
    there = apply(*at(three[1]))
    assert "No changes" in there.out, there.text
    assert records(three) == [{'["MYSQL USERS"]'}, set(), set()]
    found = proxyctl("drift")
    assert found.code == 2
    done = apply()
    assert done.code == 0, done.text
    assert hostgroups(three[0], layer="disk.") == {"10"}
    assert records(three) == [set(), set(), set()]


def test_what_was_staged_at_a_peer_is_no_edit_that_would_be_lost(
    three: list[ProxySQL], project: Project
) -> None:
    scope = "manage: {mysql_users: {username: [app]}}\n"
    write(project, scope + USER.format(10))
    assert apply().code == 0
    write(project, scope + USER.format(20))
    kill_after("UPDATE mysql_users")
    assert hostgroups(three[0], layer="") == {"20"}
    write(project, scope + USER.format(30))
    edit = "INSERT INTO mysql_users (username, password, default_hostgroup) VALUES ('theirs','x',9)"
    three[0].instance.execute(edit)
    done = apply(*at(three[1]))
    assert done.code == 3, done.text
    assert "would be lost (mysql_users theirs:1): " in done.err
    three[0].instance.execute("DELETE FROM mysql_users WHERE username='theirs'")
    done = apply(*at(three[1]))
    assert done.code == 0, done.text
    assert [hostgroups(one, layer="") for one in three] == [{"30"}] * 3


def test_what_was_staged_of_a_members_own_variables_is_no_edit_of_others(
    three: list[ProxySQL], project: Project
) -> None:
    """It stays as it stands there, and goes to RUNTIME with what is taken over."""
    files = "variables: {{mysql-max_connections: {0}, admin-restapi_port: {0}}}\n"
    write(project, files.format(6077))
    kill_after("LOAD MYSQL VARIABLES")
    wait_until(lambda: variable(three[1], "mysql-max_connections", layer="disk.") == "6077")
    write(project, files.format(6099).replace("}\n", ", admin-refresh_interval: 1999}\n"))
    done = apply(*at(three[1]))
    assert done.code == 0, done.text
    assert variable(three[0], "admin-refresh_interval") == "1999"
