"""The doctor's findings on a real ProxySQL with real servers and peers, one by one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pymysql
import pytest

from proxyctl.doctor import settings
from proxyctl.doctor.examine import examine
from proxyctl.doctor.facts import Facts, read_facts
from proxyctl.doctor.finding import Examination
from proxyctl.instance.client import AdminClient
from tests.real.galera_rig import apply, files, login
from tests.support.protocol.hostile_server import certificates
from tests.support.servers.galera_family import HOSTS, monitored_proxysql
from tests.support.servers.galera_nodes import GaleraCluster
from tests.support.servers.instances import Instance, ProxySQL, free_port, needed_binary
from tests.support.servers.mariadb import MISSING, PASSWORD, USER, MariaDB
from tests.support.servers.placement_samples import settle
from tests.support.waiting import until

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]


ANY_RELEASE = {"security-fixes-missing"}


@pytest.fixture(scope="module")
def mariadb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MariaDB]:
    with MariaDB(tmp_path_factory.mktemp("mariadb")) as server:
        yield server


@pytest.fixture
def proxysql(tmp_path: Path, mariadb: MariaDB) -> Iterator[ProxySQL]:
    """A ProxySQL without findings."""
    with ProxySQL(needed_binary(), tmp_path / "proxysql", monitor=True) as server:
        run = server.instance.execute
        for name, value in {
            "monitor_username": USER,
            "monitor_password": PASSWORD,
            "monitor_connect_interval": "500",
            "monitor_ping_interval": "500",
            "server_version": "10.11.6-MariaDB",
        }.items():
            run(f"SET mysql-{name}='{value}'")
        run(
            f"INSERT INTO mysql_servers (hostgroup_id,hostname,port)"
            f" VALUES (10,'127.0.0.1',{mariadb.port})",
            f"INSERT INTO mysql_users (username,password,default_hostgroup)"
            f" VALUES ('{USER}','{PASSWORD}',10)",
            "INSERT INTO mysql_query_rules (rule_id,active,match_digest,destination_hostgroup,"
            "apply) VALUES (5,1,'^SELECT',10,1)",
        )
        modules = ("MYSQL VARIABLES", "MYSQL SERVERS", "MYSQL USERS", "MYSQL QUERY RULES")
        server.instance.load(*modules, saves=True)
        yield server


def load(instance: Instance, *statements: str, module: str = "MYSQL SERVERS") -> None:
    """Change, load and save."""
    instance.execute(*statements)
    instance.load(module, saves=True)


def query(server: ProxySQL, sql: str, account: str = USER) -> tuple[tuple[object, ...], ...]:
    """Return a client's rows; each account here has its name as the password."""
    connection = pymysql.connect(
        host="127.0.0.1", port=server.traffic_port, user=account, password=account
    )
    with connection, connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchall()


@contextmanager
def until_found(server: ProxySQL, *codes: str) -> Iterator[Examination]:
    """Examine until exactly these codes are found; the monitor takes a second."""
    deadline = time.monotonic() + 30
    while True:
        found = examine(known(server), ANY_RELEASE)
        if sorted(finding.code for finding in found.findings) == sorted(codes):
            yield found
            return
        assert time.monotonic() < deadline, found.findings
        time.sleep(0.2)


def known(server: ProxySQL, *, asks: bool = True) -> Facts:
    with AdminClient(login(server)) as client:
        return read_facts(client, asks=asks)


def message(found: Examination, code: str) -> str:
    (finding,) = [finding for finding in found.findings if finding.code == code]
    return f"{finding.where}: {finding.message}"


@pytest.mark.since("2.6.0", "its admin interface offers no TLS")
def test_a_certificate_that_expires_soon(proxysql: ProxySQL, tmp_path: Path) -> None:
    with until_found(proxysql):
        assert known(proxysql).certificate is not None
    ours = certificates(tmp_path, "proxysql.example.com")
    for part, path in zip(("ca", "cert", "key"), ours, strict=True):
        path.replace(proxysql.folder / f"proxysql-{part}.pem")
    proxysql.instance.execute("PROXYSQL RELOAD TLS")
    with until_found(proxysql, "certificate-expires") as found:
        assert message(found, "certificate-expires").endswith((", in 1 d", ", in 2 d"))
    with AdminClient(replace(login(proxysql), host="127.1")) as client:
        _, note = settings.certificate(read_facts(client, asks=False))
    assert note.code == "certificate-of-other-host"
    assert note.message.startswith("it is for proxysql.example.com: clients that verify names")


def test_a_wrong_monitor_password(proxysql: ProxySQL) -> None:
    with until_found(proxysql):
        pass
    load(proxysql.instance, "SET mysql-monitor_password='wrong'", module="MYSQL VARIABLES")
    with until_found(proxysql, "monitor-denied") as found:
        assert "the monitor's account 'sb' has been refused for" in message(found, "monitor-denied")
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
        )
        load(
            proxysql.instance,
            "UPDATE mysql_query_rules SET destination_hostgroup=20",
            module="MYSQL QUERY RULES",
        )
        with until_found(proxysql):
            pass

    def unreachable_text() -> str:
        return message(examine(known(proxysql), ANY_RELEASE), "backend-unreachable")

    with until_found(proxysql, "backend-unreachable"):
        pass
    # The cause and what it does to the hostgroup are one finding.
    until(lambda: "has no other server" in unreachable_text())
    assert unreachable_text().startswith(
        f"127.0.0.1:{port}: the monitor has not been able to connect for"
    )
    assert unreachable_text().endswith(
        "; hostgroup 20 has no other server: queries from rule 5 fail after 10 s"
    )


def test_a_version_that_does_not_fit(proxysql: ProxySQL) -> None:
    load(proxysql.instance, "SET mysql-server_version='8.0.36'", module="MYSQL VARIABLES")
    with until_found(proxysql, "server-version-differs") as found:
        assert 'mysql-server_version: "10.11.' in found.findings[0].fix
    # An open connection knows it, too.
    query(proxysql, "SELECT 1")
    until(lambda: bool(known(proxysql, asks=False).versions))
    assert next(iter(known(proxysql, asks=False).versions.values())).startswith("10.11")


def test_encryption_that_cannot_be_had(proxysql: ProxySQL) -> None:
    load(proxysql.instance, "UPDATE mysql_servers SET use_ssl=1")
    with until_found(proxysql, "backend-without-tls"):
        # ProxySQL connects all the same: that is why it is an error.
        assert query(proxysql, "SHOW STATUS LIKE 'Ssl_cipher'") == (("Ssl_cipher", ""),)
    load(proxysql.instance, "UPDATE mysql_servers SET use_ssl=0")
    load(proxysql.instance, "SET mysql-have_ssl='false'", module="MYSQL VARIABLES")
    load(proxysql.instance, "UPDATE mysql_users SET use_ssl=1", module="MYSQL USERS")
    with (
        until_found(proxysql, "users-cannot-use-tls"),
        pytest.raises(pymysql.err.OperationalError, match="SSL is required"),
    ):
        query(proxysql, "SELECT 1")


def test_the_certificate_of_a_server(proxysql: ProxySQL, tmp_path: Path) -> None:
    _, cert, key = certificates(tmp_path, "127.0.0.1")
    with MariaDB(tmp_path / "tls", options=[f"--ssl-cert={cert}", f"--ssl-key={key}"]) as server:
        load(
            proxysql.instance,
            "INSERT INTO mysql_servers (hostgroup_id, hostname, port, use_ssl)"
            f" VALUES (20, '127.0.0.1', {server.port}, 1)",
        )
        with until_found(proxysql, "backend-certificate-expires") as found:
            expected = f"127.0.0.1:{server.port}: use_ssl is 1, and the certificate expires on "
            assert message(found, "backend-certificate-expires").startswith(expected)
        load(proxysql.instance, "UPDATE mysql_servers SET use_ssl=0")
        with until_found(proxysql):
            pass


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


# -- cluster ---------------------------------------------------------------------------------------


def test_peers_that_were_loaded_in_the_same_second(nodes: tuple[ProxySQL, ProxySQL]) -> None:
    first, second = nodes
    until(lambda: not cluster_codes(first))
    until(lambda: len({load_users(node, number) for number, node in enumerate(nodes)}) == 1)
    until(lambda: "peer-differs" in cluster_codes(first) & cluster_codes(second))
    until(lambda: load_users(first, 2) > 0 and "peer-differs" not in cluster_codes(second))


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


def test_a_peer_that_is_not_there(nodes: tuple[ProxySQL, ProxySQL]) -> None:
    first, _ = nodes
    run = first.instance.execute
    run(f"INSERT INTO proxysql_servers (hostname, port) VALUES ('127.0.0.1', {free_port()})")
    run("LOAD PROXYSQL SERVERS TO RUNTIME")
    until(lambda: "peer-silent" in cluster_codes(first))


def cluster_codes(server: ProxySQL) -> set[str]:
    codes = (finding.code for finding in examine(known(server), ANY_RELEASE).findings)
    return {code for code in codes if code.startswith(("peer", "cluster"))}
