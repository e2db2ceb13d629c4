"""What the doctor finds of a real ProxySQL with a MariaDB behind it: nothing, then one by one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pymysql
import pytest

from proxyctl.admin.client import AdminClient
from proxyctl.admin.peer_clocks import read_peer_clocks
from proxyctl.doctor.examination import Examination, examine
from proxyctl.doctor.facts import Facts
from proxyctl.examining import read_facts_for_doctor
from tests.real.test_cluster_peer import nodes  # noqa: F401 - a fixture
from tests.real.test_galera_placement import HOSTS, apply, files, login, monitored_proxysql
from tests.support.galera_nodes import GaleraCluster
from tests.support.mariadb_server import MISSING, PASSWORD, USER, MariaDB
from tests.support.placement_samples import settle
from tests.support.servers import NO_BINARY, Instance, ProxySQL, free_port, proxysql_binary

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]


NOT_REACHED = 9001
POOR = "poor"
"""An account of the server, and its password, that may log in and read nothing."""


@contextmanager
def until_found(server: ProxySQL, *codes: str) -> Iterator[Examination]:
    """Look until exactly these codes are found; the monitor takes a second."""
    deadline = time.monotonic() + 30
    while True:
        found = examined(server)
        if sorted(one.code for one in found.findings) == sorted(codes):
            yield found
            return
        assert time.monotonic() < deadline, found.findings
        time.sleep(0.2)


def examined(server: ProxySQL, *, asks: bool = True) -> Examination:
    return examine(known(server, asks=asks))


def known(server: ProxySQL, *, asks: bool = True) -> Facts:
    with AdminClient(login(server)) as client:
        return read_facts_for_doctor(client, asks=asks)


def message(found: Examination, code: str) -> str:
    (one,) = [one for one in found.findings if one.code == code]
    return f"{one.where}: {one.message}"


@pytest.fixture(scope="module")
def mariadb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MariaDB]:
    setup = f"CREATE USER {POOR}@'127.0.0.1' IDENTIFIED BY '{POOR}'"
    with MariaDB(tmp_path_factory.mktemp("mariadb"), setup=setup) as server:
        yield server


@pytest.fixture
def proxysql(tmp_path: Path, mariadb: MariaDB) -> Iterator[ProxySQL]:
    """A ProxySQL with a server, a user and a rule, in which nothing is wrong."""
    binary = proxysql_binary()
    if binary is None:
        pytest.skip(NO_BINARY)
    with ProxySQL(binary, tmp_path / "proxysql", monitor=True) as server:
        run = server.instance.execute
        for name, value in {
            "monitor_username": USER,
            "monitor_password": PASSWORD,
            "monitor_connect_interval": "500",
            "monitor_ping_interval": "500",
            "server_version": "10.11.6-MariaDB",
        }.items():
            run(f"SET mysql-{name}='{value}'")
        for statement in (
            f"INSERT INTO mysql_servers (hostgroup_id,hostname,port)"
            f" VALUES (10,'127.0.0.1',{mariadb.port})",
            f"INSERT INTO mysql_users (username,password,default_hostgroup)"
            f" VALUES ('{USER}','{PASSWORD}',10)",
            "INSERT INTO mysql_query_rules (rule_id,active,match_digest,destination_hostgroup,"
            "apply) VALUES (5,1,'^SELECT',10,1)",
        ):
            run(statement)
        for module in ("MYSQL VARIABLES", "MYSQL SERVERS", "MYSQL USERS", "MYSQL QUERY RULES"):
            run(f"LOAD {module} TO RUNTIME")
            run(f"SAVE {module} TO DISK")
        yield server


def load(instance: Instance, *statements: str, module: str = "MYSQL SERVERS") -> None:
    """Change, load and save."""
    for statement in (*statements, f"LOAD {module} TO RUNTIME", f"SAVE {module} TO DISK"):
        instance.execute(statement)


def test_a_healthy_one_is_left_in_peace(proxysql: ProxySQL) -> None:
    with until_found(proxysql) as found:
        assert found.findings == ()
        assert next(iter(known(proxysql).versions.values())).startswith("10.11")
    assert examined(proxysql, asks=False).findings == ()


def test_a_wrong_monitor_password(proxysql: ProxySQL) -> None:
    with until_found(proxysql):
        pass
    load(proxysql.instance, "SET mysql-monitor_password='wrong'", module="MYSQL VARIABLES")
    with until_found(proxysql, "monitor-denied") as found:
        assert "the monitor's account 'sb' is refused for" in message(found, "monitor-denied")
        assert "wrong" not in repr(found.findings)
    load(proxysql.instance, f"SET mysql-monitor_password='{PASSWORD}'", module="MYSQL VARIABLES")
    with until_found(proxysql):
        pass


def test_a_server_that_is_stopped(proxysql: ProxySQL, tmp_path: Path) -> None:
    with MariaDB(tmp_path / "other") as other:
        port = other.port
        load(
            proxysql.instance,
            "INSERT INTO mysql_servers (hostgroup_id,hostname,port)"
            f" VALUES (20,'127.0.0.1',{port})",
            "UPDATE mysql_query_rules SET destination_hostgroup=20",
            "LOAD MYSQL QUERY RULES TO RUNTIME",
            "SAVE MYSQL QUERY RULES TO DISK",
        )
        with until_found(proxysql):
            pass
    with until_found(proxysql, "backend-unreachable", "hostgroup-without-servers") as found:
        assert f"127.0.0.1:{port}: no connection for" in message(found, "backend-unreachable")
        said = message(found, "hostgroup-without-servers")
        assert said == f"hostgroup 20: queries of rule 5 fail after 10 s: 127.0.0.1:{port} SHUNNED"


def test_a_check_that_failed_and_is_made_no_more(proxysql: ProxySQL) -> None:
    run = proxysql.instance.execute
    for name, value in {
        "monitor_username": POOR,
        "monitor_password": POOR,
        "monitor_replication_lag_interval": "1000",
    }.items():
        run(f"SET mysql-{name}='{value}'")
    run("SAVE MYSQL VARIABLES TO DISK")
    load(proxysql.instance, "UPDATE mysql_servers SET max_replication_lag=5")
    proxysql.restart()  # the monitor would go on with connections of the account before
    with until_found(proxysql, "monitor-check-failed") as found:
        assert "check of replication lag fails for" in message(found, "monitor-check-failed")
    load(proxysql.instance, "UPDATE mysql_servers SET max_replication_lag=0")
    soon = known(proxysql)
    assert examine(replace(soon, now=soon.now + 60)).findings == ()


def test_hostgroups_without_servers(proxysql: ProxySQL) -> None:
    load(
        proxysql.instance,
        "UPDATE mysql_users SET default_hostgroup=99",
        module="MYSQL USERS",
    )
    load(
        proxysql.instance,
        "INSERT INTO mysql_query_rules_fast_routing VALUES ('sb','x',0,98,'')",
        "UPDATE mysql_query_rules SET apply=0",
        module="MYSQL QUERY RULES",
    )
    with until_found(proxysql, "users-without-servers", "hostgroup-without-servers") as found:
        assert message(found, "hostgroup-without-servers").startswith(
            "hostgroup 98: queries of 1 row of fast routing fail"
        )


def test_a_server_that_was_loaded_shunned(proxysql: ProxySQL, mariadb: MariaDB) -> None:
    """The hostgroup is served by another one, and the monitor gets through to both.

    127.1 is another name of the same address; to `localhost` it would look for a socket.
    """
    load(
        proxysql.instance,
        "INSERT INTO mysql_servers (hostgroup_id,hostname,port,status)"
        f" VALUES (10,'127.1',{mariadb.port},'SHUNNED')",
    )
    with until_found(proxysql, "server-shunned") as found:
        assert message(found, "server-shunned") == (
            f"127.1:{mariadb.port}: it takes no queries: SHUNNED in hostgroup 10, as it was"
            " loaded, and ProxySQL does not try it again"
        )
    load(proxysql.instance, "UPDATE mysql_servers SET status='ONLINE'")
    with until_found(proxysql):
        pass


def test_edits_that_are_not_loaded_or_not_saved(proxysql: ProxySQL) -> None:
    run = proxysql.instance.execute
    run("UPDATE mysql_servers SET weight=7")
    with until_found(proxysql, "not-loaded"):
        pass
    run("LOAD MYSQL SERVERS TO RUNTIME")
    with until_found(proxysql, "not-saved") as found:
        assert message(found, "not-saved").startswith("MYSQL SERVERS: what runs is not on DISK:")
    run("SAVE MYSQL SERVERS TO DISK")
    run("SET mysql-threads=8")
    run("SAVE MYSQL VARIABLES TO DISK")
    with until_found(proxysql, "restart-pending") as found:
        assert (
            message(found, "restart-pending") == "mysql-threads: it is 4 now, and 8 after a restart"
        )


@pytest.mark.parametrize(
    ("told", "code"),
    [
        ("8.0.36", "server-version-product"),
        ("11.4.2-MariaDB", "server-version-above"),
        ("5.5.30-MariaDB", "server-version-below"),
    ],
)
def test_a_version_that_does_not_fit(proxysql: ProxySQL, told: str, code: str) -> None:
    load(proxysql.instance, f"SET mysql-server_version='{told}'", module="MYSQL VARIABLES")
    with until_found(proxysql, code) as found:
        assert 'mysql-server_version: "10.11.' in found.findings[0].way_out


def test_encryption_that_is_not_there(proxysql: ProxySQL) -> None:
    load(proxysql.instance, "UPDATE mysql_servers SET use_ssl=1")
    with until_found(proxysql, "backend-without-tls"):
        # ProxySQL does not mind: that is why it is an error.
        assert query(proxysql, "SHOW STATUS LIKE 'Ssl_cipher'") == (("Ssl_cipher", ""),)
    load(proxysql.instance, "UPDATE mysql_servers SET use_ssl=0")
    load(proxysql.instance, "SET mysql-have_ssl='false'", module="MYSQL VARIABLES")
    load(proxysql.instance, "UPDATE mysql_users SET use_ssl=1", module="MYSQL USERS")
    with (
        until_found(proxysql, "users-cannot-use-tls"),
        pytest.raises(pymysql.err.OperationalError, match="SSL is required"),
    ):
        query(proxysql, "SELECT 1")


def query(server: ProxySQL, sql: str, account: str = USER) -> tuple[tuple[object, ...], ...]:
    """Return what a client gets; the accounts of these tests are their own passwords."""
    connection = pymysql.connect(
        host="127.0.0.1", port=server.traffic_port, user=account, password=account
    )
    with connection, connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchall()


def test_an_open_connection_knows_the_version(proxysql: ProxySQL) -> None:
    with until_found(proxysql):
        query(proxysql, "SELECT 1")
    deadline = time.monotonic() + 10
    while not (found := known(proxysql, asks=False).pooled_versions):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert next(iter(found.values())).startswith("10.11")


def test_a_galera_family_is_no_difference(tmp_path: Path) -> None:
    with (
        GaleraCluster(HOSTS, free_port()) as cluster,
        monitored_proxysql(tmp_path / "proxysql") as server,
    ):
        apply(server, files(cluster, HOSTS))
        settle(server.instance, HOSTS)
        with until_found(server):
            facts = known(server)
            assert [family.kind for family in facts.families] == ["galera"]
            assert set(facts.versions.values()) == {"8.0.36"}


def test_digests_that_are_off_widen_a_rule(proxysql: ProxySQL) -> None:
    load(proxysql.instance, "SET mysql-query_digests='false'", module="MYSQL VARIABLES")
    with until_found(proxysql, "digests-off-with-rules"):
        pass


def test_peers_that_are_split(nodes: tuple[ProxySQL, ProxySQL]) -> None:  # noqa: F811
    first, second = nodes
    wait_for(lambda: not cluster_codes(first))
    # Until both are loaded within one second.
    wait_for(lambda: len({load_users(node, number) for number, node in enumerate(nodes)}) == 1)
    wait_for(lambda: "peers-split" in cluster_codes(first) & cluster_codes(second))
    wait_for(lambda: load_users(first, 2) > 0 and "peers-split" not in cluster_codes(second))


def load_users(node: ProxySQL, number: int) -> int:
    """Load one user, and return the epoch that it got."""
    run = node.instance.execute
    run("DELETE FROM mysql_users")
    run(f"INSERT INTO mysql_users (username,password) VALUES ('u{number}','x')")
    run("LOAD MYSQL USERS TO RUNTIME")
    ((epoch,),) = node.instance.query(
        "SELECT epoch FROM runtime_checksums_values WHERE name='mysql_users'"
    )
    return int(epoch or 0)


def test_peers_on_one_machine_have_one_clock(nodes: tuple[ProxySQL, ProxySQL]) -> None:  # noqa: F811
    first, second = nodes
    wait_for(lambda: not cluster_codes(first))
    with AdminClient(login(first)) as client:
        clocks = read_peer_clocks(client)
    assert clocks.keys() == {("127.0.0.1", second.port)}
    assert abs(clocks["127.0.0.1", second.port]) < 1


def test_a_peer_that_is_not_there(nodes: tuple[ProxySQL, ProxySQL]) -> None:  # noqa: F811
    first, _ = nodes
    run = first.instance.execute
    run(f"INSERT INTO proxysql_servers (hostname, port) VALUES ('127.0.0.1', {free_port()})")
    run("LOAD PROXYSQL SERVERS TO RUNTIME")
    wait_for(lambda: "peer-not-seen" in cluster_codes(first))


def test_a_peer_that_ends(nodes: tuple[ProxySQL, ProxySQL]) -> None:  # noqa: F811
    first, second = nodes
    wait_for(lambda: not cluster_codes(first))
    second.stop()
    wait_for(lambda: cluster_codes(first) == {"peer-lost"}, most_s=90)


def cluster_codes(server: ProxySQL) -> set[str]:
    return {
        one.code for one in examined(server).findings if one.code.startswith(("peer", "cluster"))
    }


def wait_for(is_so: Callable[[], bool], *, most_s: float = 30) -> None:
    deadline = time.monotonic() + most_s
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.2)


def test_a_rule_whose_destination_never_counts_is_no_error(proxysql: ProxySQL) -> None:
    """No query ends at a hostgroup because of it, as a real query shows."""
    insert = (
        "INSERT INTO mysql_query_rules"
        " (rule_id,active,flagIN,match_digest,destination_hostgroup,apply) VALUES "
    )
    load(
        proxysql.instance,
        insert + "(1,1,0,'^SELECT',99,0)",
        insert + "(9,1,77,'^SELECT',98,1)",
        module="MYSQL QUERY RULES",
    )
    with until_found(proxysql):
        assert query(proxysql, "SELECT 7") == ((7,),)
    load(
        proxysql.instance,
        "UPDATE mysql_query_rules SET match_digest='^SELECT .* FOR UPDATE' WHERE rule_id=5",
        module="MYSQL QUERY RULES",
    )
    with until_found(proxysql, "hostgroup-without-servers") as found:
        said = message(found, "hostgroup-without-servers")
        assert said.startswith("hostgroup 99: queries of rule 1 fail")
    with pytest.raises(pymysql.err.OperationalError, match="hostgroup 99"):
        query(proxysql, "SELECT 7")


def test_users_whose_queries_rules_take_need_no_servers_at_home(proxysql: ProxySQL) -> None:
    users, rules = "MYSQL USERS", "MYSQL QUERY RULES"
    load(proxysql.instance, "SET mysql-connect_timeout_server_max=500", module="MYSQL VARIABLES")
    load(proxysql.instance, "UPDATE mysql_users SET default_hostgroup=99", module=users)
    assert [one.code for one in examined(proxysql).findings] == ["users-without-servers"]

    for_all = (
        "INSERT INTO mysql_query_rules (rule_id,active,match_digest,destination_hostgroup,apply)"
        " VALUES (9,1,'.',10,1)"
    )
    load(proxysql.instance, for_all, module=rules)
    found = examined(proxysql)
    assert message(found, "users-hardly-without-servers") == (
        f"hostgroup 99: queries of user {USER} that no rule takes, such as a SET that ProxySQL"
        " cannot read, fail after 0.5 s: there is no server at RUNTIME"
    )
    assert not found.has_errors
    login_here = {"host": "127.0.0.1", "port": proxysql.traffic_port, "user": USER}
    with pymysql.connect(**login_here, password=PASSWORD) as client, client.cursor() as cursor:
        for taken in ("SET NAMES utf8mb4", "SHOW STATUS LIKE 'uptime'", "DO 1", "SELECT 1"):
            cursor.execute(taken)
        with pytest.raises(pymysql.err.MySQLError) as failed:
            cursor.execute("SET NAMES concat('utf8')")
        assert failed.value.args[0] == NOT_REACHED

    load(proxysql.instance, "UPDATE mysql_users SET fast_forward=1", module=users)
    assert [one.code for one in examined(proxysql).findings] == ["users-without-servers"]
