"""Edits that wait in MEMORY of a peer, while it is about to take over what is loaded here."""

from __future__ import annotations

import pytest

from tests.real.cluster.files import (
    SERVERS,
    USER,
    apply,
    fleet_of,
    hostgroups,
    keep_apart,
    name,
    write,
)
from tests.real.cluster.rig import set_admin
from tests.support.cli import Project, proxyctl
from tests.support.servers import ProxySQL
from tests.support.slow_way import SlowWay

pytestmark = [pytest.mark.real, pytest.mark.since("2.6.0", "mysql_servers_v2")]

SCOPE = "manage: {mysql_users: {username: [app]}, mysql_servers: {hostname: [a, b]}}\n"
LIMIT = "variables: {{mysql-max_connections: {0}}}\n"

USERS = (
    "INSERT INTO mysql_users (username, password, default_hostgroup{}) VALUES ('theirs','x',9{})"
)
SERVER = "INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (9, 'theirs')"


def files(hostgroup: int) -> str:
    return SCOPE + SERVERS + USER.format(hostgroup)


def leads_by(way: SlowWay, three: list[ProxySQL]) -> None:
    """Let the first member know the third one by this way."""
    for one in three:
        set_admin(one, cluster_proxysql_servers_diffs_before_sync=0)
    first, second, _ = three
    run = first.instance.execute
    run("DELETE FROM proxysql_servers")
    for port in (first.port, second.port, way.port):
        run(f"INSERT INTO proxysql_servers (hostname, port) VALUES ('127.0.0.1', {port})")
    run("LOAD PROXYSQL SERVERS TO RUNTIME")


@pytest.fixture
def peer(three: list[ProxySQL], project: Project) -> ProxySQL:
    """A peer of the member that is changed; everything is as the files say."""
    write(project, files(10) + LIMIT.format(10))
    assert apply().code == 0
    return three[2]


@pytest.mark.parametrize(
    ("edit", "change", "said", "module"),
    [
        (USERS.format("", ""), USER, "mysql_users theirs:1", "MYSQL USERS"),
        # A peer drops its own users that are not active.
        (USERS.format(",active", ",0"), USER, "mysql_users theirs:1", "MYSQL USERS"),
        (
            "SET mysql-max_transaction_time=7777",
            LIMIT,
            "mysql_variables mysql-max_transaction_time",
            "MYSQL VARIABLES",
        ),
    ],
    ids=["a user", "a user that is not active", "a variable"],
)
def test_they_are_not_dropped(
    three: list[ProxySQL],
    project: Project,
    peer: ProxySQL,
    edit: str,
    change: str,
    said: str,
    module: str,
) -> None:
    peer.instance.execute(edit)
    write(project, SCOPE + change.format(20))
    done = apply("--discard-pending", "--include-pending")
    assert done.code == 3, done.text
    assert (
        f"  {module}: 1 edit of others in MEMORY of {name(peer)} would be lost ({said}): it takes"
        " the module over from here; apply at that one before, or undo them\n"
    ) in done.err
    assert hostgroups(three[0]) == {"10"}
    # The way out: with what is loaded there it travels to all.
    at_peer = ("--host", "127.0.0.1", "--port", str(peer.port))
    assert apply("--include-pending", *at_peer).code == 0
    assert apply().code == 0


def test_nor_does_a_variable_that_each_has_itself_go_live_there_unasked(
    three: list[ProxySQL], project: Project, peer: ProxySQL
) -> None:
    """A peer loads the whole module, with what it does not take over as it stands in MEMORY."""
    peer.instance.execute("SET admin-restapi_port=6077")
    write(project, "variables: {admin-refresh_interval: 1999}\n")
    done = apply()
    assert done.code == 3, done.text
    assert (
        f"  ADMIN VARIABLES: 1 edit of others in MEMORY of {name(peer)} would go to RUNTIME there"
        " (admin_variables admin-restapi_port): it takes the module over from here"
        "   allow with --include-pending\n"
    ) in done.err
    assert apply("--include-pending").code == 0
    held = (
        "SELECT variable_value FROM runtime_global_variables"
        " WHERE variable_name='admin-restapi_port'"
    )
    assert peer.instance.query(held) == [("6077",)]
    assert three[1].instance.query(held) != [("6077",)]


def test_of_rows_of_the_files_the_files_win_when_that_is_said(
    three: list[ProxySQL], project: Project, peer: ProxySQL
) -> None:
    peer.instance.execute("UPDATE mysql_users SET default_hostgroup=33")
    write(project, files(20))
    done = apply()
    assert done.code == 3, done.text
    assert (
        f"  MYSQL USERS: 1 edit in MEMORY of {name(peer)} would be lost (mysql_users app:1): it"
        " takes the module over from here; the files say otherwise   allow with --discard-pending\n"
    ) in done.err
    assert hostgroups(peer, layer="") == {"33"}
    assert apply("--discard-pending").code == 0
    assert hostgroups(peer, layer="") == {"20"}


def test_of_what_no_file_says_the_files_do_not_win(
    three: list[ProxySQL], project: Project, peer: ProxySQL
) -> None:
    """The row is one of the files; they leave the status of a server to whoever sets it."""
    peer.instance.execute("UPDATE mysql_servers SET status='OFFLINE_SOFT' WHERE hostname='a'")
    write(project, files(10).replace("hostname: b", "hostname: b, weight: 7"))
    done = apply("--discard-pending")
    assert done.code == 3, done.text
    assert (
        f"  MYSQL SERVERS: 1 edit of others in MEMORY of {name(peer)} would be lost"
        " (mysql_servers 1:a:3306): it takes the module over from here; apply at that one before,"
        " or undo them\n"
    ) in done.err


def test_they_are_found_also_where_a_peer_needs_long_to_show_its_tables(
    three: list[ProxySQL], project: Project, peer: ProxySQL
) -> None:
    """RUNTIME of hundred thousands of users takes seconds. Whoever asks has found it alive."""
    peer.instance.execute(USERS.format("", ""))
    write(project, files(20))
    with SlowWay(peer.port, delay_s=6, only=b"runtime_mysql_users") as way:
        leads_by(way, three)
        done = apply()
    assert done.code == 3, done.text
    assert f"in MEMORY of 127.0.0.1:{way.port} would be lost (mysql_users theirs:1)" in done.err


def test_a_peer_that_hangs_meanwhile_is_named(
    three: list[ProxySQL], project: Project, peer: ProxySQL
) -> None:
    """It is not waited for as long as for tables."""
    write(project, files(20))
    with SlowWay(peer.port, delay_s=90, only=b"mysql-query_processor_regex") as way:
        leads_by(way, three)
        done = apply("--peer-timeout", "20")
    at_way = f"127.0.0.1:{way.port}"
    assert (
        f"{at_way}: what waits in its MEMORY is not known ({at_way}: no answer within 5 s:"
    ) in done.err
    assert hostgroups(three[1]) == {"20"}


def test_what_the_files_say_as_well_is_not_lost(
    three: list[ProxySQL], project: Project, peer: ProxySQL
) -> None:
    peer.instance.execute("UPDATE mysql_users SET default_hostgroup=20")
    for one in (three[0], peer):
        one.instance.execute(USERS.format("", ""))
    write(project, files(20))
    done = apply("--include-pending")
    assert done.code == 0, done.text
    assert [hostgroups(one) for one in three] == [{"9", "20"}] * 3


def test_what_is_not_taken_over_stays(
    three: list[ProxySQL], project: Project, peer: ProxySQL
) -> None:
    """Another admin module, or one that the peer pulls nothing of."""
    keep_apart(three)
    set_admin(peer, cluster_mysql_users_diffs_before_sync=0)
    for edit in (SERVER, USERS.format("", "")):
        peer.instance.execute(edit)
    write(project, files(20))
    done = apply()
    assert done.code == 4, done.text
    assert hostgroups(three[1]) == {"20"}
    assert hostgroups(peer, layer="") == {"9", "10"}
    assert peer.instance.query("SELECT 1 FROM mysql_servers WHERE hostname='theirs'")


def test_nor_is_one_lost_where_nothing_travels(
    three: list[ProxySQL], project: Project, peer: ProxySQL
) -> None:
    """A variable that each member has itself does not make its module another one to the peers."""
    for edit in ("SET admin-stats_system_cpu=30", "SET admin-restapi_port=6099"):
        peer.instance.execute(edit)
    write(project, "variables: {admin-restapi_port: 6077}\n")
    done = apply()
    assert done.code == 0, done.text
    held = (
        "SELECT variable_value FROM global_variables"
        " WHERE variable_name IN ('admin-stats_system_cpu', 'admin-restapi_port') ORDER BY 1"
    )
    assert peer.instance.query(held) == [("30",), ("6099",)]


def test_what_a_peer_has_saved_and_drops_all_the_same_is_named(
    three: list[ProxySQL], project: Project, peer: ProxySQL
) -> None:
    """Peers take active users only. Nothing there waits to be loaded or saved, so none is kept."""
    peer.instance.execute(USERS.format(",active", ",0"))
    peer.instance.execute("SAVE MYSQL USERS TO DISK")
    write(project, files(20))
    done = apply()
    assert done.code == 0, done.text
    assert (
        f"{name(peer)}: MYSQL USERS: drops what is not active there when it follows:"
        " mysql_users theirs:1\n"
    ) in done.err
    assert hostgroups(peer, layer="disk.") == {"20"}
    write(project, files(30))
    assert "drops what" not in apply().text


def test_a_drain_at_a_peer_is_no_edit(
    three: list[ProxySQL], project: Project, peer: ProxySQL
) -> None:
    at_peer = ("--host", "127.0.0.1", "--port", str(peer.port))
    assert proxyctl("nodes", "drain", "a", *at_peer).code == 0
    write(project, files(10).replace("hostname: b", "hostname: b, weight: 7"))
    done = apply()
    assert "would be lost" not in done.text
    assert done.code == 0, done.text


@pytest.mark.parametrize("command", ["drain", "restore"])
def test_neither_are_they_by_the_commands_for_nodes(
    three: list[ProxySQL], project: Project, peer: ProxySQL, command: str
) -> None:
    if command == "restore":
        assert proxyctl("nodes", "drain", "a").code == 0
    peer.instance.execute(SERVER)
    done = proxyctl("nodes", command, "a", "--include-pending")
    assert done.code == 3, done.text
    assert (
        f"MYSQL SERVERS: 1 edit of others in MEMORY of {name(peer)} would be lost"
        " (mysql_servers 9:theirs:3306)"
    ) in done.err
    assert peer.instance.query("SELECT 1 FROM mysql_servers WHERE hostname='theirs'")


def test_nor_by_a_rollback(three: list[ProxySQL], project: Project, peer: ProxySQL) -> None:
    write(project, files(20))
    assert apply().code == 0
    peer.instance.execute(USERS.format("", ""))
    done = proxyctl("rollback", "--auto-approve")
    assert done.code == 3, done.text
    assert "would be lost (mysql_users theirs:1)" in done.err
    assert hostgroups(three[0]) == {"20"}


def test_a_fleet_says_so_of_a_peer_in_no_file(
    three: list[ProxySQL], project: Project, peer: ProxySQL
) -> None:
    peer.instance.execute(USERS.format("", ""))
    write(project, fleet_of(*three[:2]) + files(20))
    done = proxyctl("apply", "--all", "--auto-approve")
    assert done.code == 3, done.text
    assert f"edit of others in MEMORY of {name(peer)} would be lost" in done.out
    assert hostgroups(peer, layer="") == {"9", "10"}
