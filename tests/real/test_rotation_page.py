"""The page "Rotate passwords", with clients that log in all the time: no login fails."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.cluster.rig import agree, fleet_of, keep_apart
from tests.real.login_clients import Application, failed_at_servers, refused
from tests.support.commands.cli import Project
from tests.support.commands.story import applied, apply, plan
from tests.support.documentation.pages import blocks
from tests.support.paths import ROOT
from tests.support.servers.instances import ProxySQL, needed_binary
from tests.support.servers.mariadb import MISSING, MariaDB
from tests.support.waiting import until

pytestmark = [pytest.mark.real, pytest.mark.alone]

PAGE = ROOT / "docs" / "how-to" / "rotate-passwords.md"
OLD, NEW = "old-s3cret", "new-s3cret"
ONE = "ALTER USER {}@'127.0.0.1' IDENTIFIED BY '{}'"
BOTH = (
    "ALTER USER {0}@'127.0.0.1' IDENTIFIED VIA mysql_native_password USING PASSWORD('" + OLD + "')"
    " OR mysql_native_password USING PASSWORD('" + NEW + "')"
)


@pytest.fixture(scope="module")
def mariadb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MariaDB]:
    """The server behind ProxySQL. Its accounts have the old password."""
    if MISSING:
        pytest.skip(f"needs {', '.join(MISSING)}")
    needed_binary()
    names = ("app", "app_b", "monitor", "monitor_b")
    setup = ";".join(f"CREATE USER {name}@'127.0.0.1' IDENTIFIED BY '{OLD}'" for name in names)
    with MariaDB(tmp_path_factory.mktemp("mariadb"), setup=setup) as server:
        yield server


@pytest.fixture
def proxysql(tmp_path: Path) -> Iterator[ProxySQL]:
    with ProxySQL(needed_binary(), tmp_path / "proxysql", monitor=True) as server:
        yield server


@pytest.fixture
def project(proxysql: ProxySQL, mariadb: MariaDB, offline: Project) -> Project:
    """The files of the page by name, with the server that runs here."""
    offline.connect(proxysql.instance)
    offline.monkeypatch.setenv("APP_PASSWORD", OLD)
    offline.monkeypatch.setenv("MONITOR_PASSWORD", OLD)
    for block in blocks(PAGE):
        if name := block.options.get("file"):
            here = f"127.0.0.1, port: {mariadb.port}"
            offline.write(block.text.replace("db1.example.com", here), name)
    return offline


@pytest.mark.since("3.0.0", "no second password")
def test_a_second_password(proxysql: ProxySQL, mariadb: MariaDB, project: Project) -> None:
    applied("-f", "app.yaml")
    with Application(proxysql, "app", OLD) as first, Application(proxysql, "app", OLD) as second:
        mariadb.run(BOTH.format("app"))
        first.goes_on()
        project.monkeypatch.setenv("APP_OLD_PASSWORD", OLD)
        project.monkeypatch.setenv("APP_PASSWORD", NEW)
        done = applied("-f", "app-both.yaml")
        assert not any(secret in done.text for secret in (OLD, NEW, NEW.encode().hex().upper()))
        first.goes_on()
        first.log_in_with("app", NEW)
        second.goes_on()
        until(lambda: second_passwords(proxysql) > 0, what="no login with the second password")
        second.log_in_with("app", NEW)
        until(lambda: second_passwords(proxysql) == 0, what="sessions with the old password")
        applied("-f", "app.yaml")
        first.goes_on()
        mariadb.run(ONE.format("app", NEW))
        first.goes_on()
        second.goes_on()
    assert (first.failures, second.failures) == ([], [])
    assert (refused(proxysql), failed_at_servers(proxysql)) == (0, 0)
    assert plan("-f", "app.yaml").code == 0
    with Application(proxysql, "app", NEW) as client:
        client.log_in_with("app", OLD)
    assert "Access denied" in client.failures[0]


def second_passwords(server: ProxySQL) -> int:
    """Return how many clients are logged in with a second password, as the page asks for it."""
    [(count,)] = server.instance.query(
        "SELECT Variable_Value FROM stats_mysql_global"
        " WHERE Variable_Name='Client_Connections_connected_addl_pass'"
    )
    return int(str(count))


def test_a_second_user(proxysql: ProxySQL, mariadb: MariaDB, project: Project) -> None:
    mariadb.run(ONE.format("app", OLD) + ";" + ONE.format("app_b", NEW))
    applied("-f", "app.yaml")
    with Application(proxysql, "app", OLD) as first, Application(proxysql, "app", OLD) as second:
        project.monkeypatch.setenv("APP_B_PASSWORD", NEW)
        applied("-f", "two-users.yaml")
        first.goes_on()
        first.log_in_with("app_b", NEW)
        second.goes_on()
        second.log_in_with("app_b", NEW)
        until(lambda: sessions_of(proxysql, "app") == 0, what="sessions of the old user")
        applied("-f", "app-b.yaml")
        first.goes_on()
        mariadb.run(ONE.format("app", "nobody-knows"))
        second.goes_on()
    assert (first.failures, second.failures) == ([], [])
    assert (refused(proxysql), failed_at_servers(proxysql)) == (0, 0)


def sessions_of(server: ProxySQL, user: str) -> int:
    """Return how many sessions a user has."""
    rows = server.instance.query(
        f"SELECT frontend_connections FROM stats_mysql_users WHERE username='{user}'"
    )
    return int(str(rows[0][0]))


@pytest.mark.parametrize("renames", [False, True], ids=["password", "account"])
def test_the_monitor(proxysql: ProxySQL, mariadb: MariaDB, project: Project, renames: bool) -> None:
    mariadb.run(ONE.format("monitor", OLD) + ";" + ONE.format("monitor_b", NEW))
    for check in ("connect", "ping", "read_only"):
        proxysql.instance.execute(f"SET mysql-monitor_{check}_interval=200")
    proxysql.instance.load("MYSQL VARIABLES", saves=True)
    applied("-f", "monitor.yaml")
    until(lambda: checks(proxysql) > 5, what="the monitor does not check")
    first = checked_at(proxysql)
    text = (project.folder / "monitor.yaml").read_text()
    if renames:
        project.write(text.replace("username: monitor", "username: monitor_b"), "monitor.yaml")
    else:
        mariadb.run(BOTH.format("monitor"))
    project.monkeypatch.setenv("MONITOR_PASSWORD", NEW)
    applied("-f", "monitor.yaml")
    go_on(proxysql)
    mariadb.run(ONE.format("monitor", "nobody-knows" if renames else NEW))
    go_on(proxysql)
    assert first is not None
    assert errors(proxysql, first) == []
    found = proxysql.instance.query("SELECT DISTINCT status FROM runtime_mysql_servers")
    assert found == [("ONLINE",)]


def checks(server: ProxySQL) -> int:
    """Return how many logins of the monitor have succeeded."""
    return len(
        server.instance.query(
            "SELECT 1 FROM monitor.mysql_server_connect_log WHERE connect_error IS NULL"
        )
    )


def go_on(server: ProxySQL) -> None:
    """Wait for ten more logins of the monitor."""
    wanted = checks(server) + 10
    until(lambda: checks(server) > wanted, what="the monitor does not log in")


def checked_at(server: ProxySQL) -> str | None:
    """Return the time of the first login that succeeded."""
    [(found,)] = server.instance.query(
        "SELECT MIN(time_start_us) FROM monitor.mysql_server_connect_log"
        " WHERE connect_error IS NULL"
    )
    return found


def errors(server: ProxySQL, since: str) -> list[object]:
    """Return the errors of all checks since a time."""
    return [
        row
        for check in ("connect", "ping", "read_only")
        for row in server.instance.query(
            f"SELECT error FROM (SELECT {'error' if check == 'read_only' else check + '_error'}"
            f" AS error, time_start_us FROM monitor.mysql_server_{check}_log)"
            f" WHERE error IS NOT NULL AND time_start_us>={since}"
        )
    ]


def test_an_administrator(proxysql: ProxySQL, project: Project) -> None:
    use = project.monkeypatch.setenv
    use("ADMIN_CREDENTIALS", "admin:admin;ops:" + OLD)
    applied("-f", "admin.yaml")
    use("PROXYCTL_USER", "ops")
    use("PROXYCTL_PASSWORD", OLD)
    for at_once in (f"admin:admin;ops:{NEW}", f"admin:admin;ops:{OLD};ops:{NEW}", "admin:admin"):
        use("ADMIN_CREDENTIALS", at_once)
        found = apply("-f", "admin.yaml")
        assert (found.code, "ops, the login in use, would" in found.err) == (3, True), found.text
    use("ADMIN_CREDENTIALS", f"admin:admin;ops:{OLD};ops_b:{NEW}")
    applied("-f", "admin.yaml")
    assert plan("-f", "admin.yaml").code == 0
    use("PROXYCTL_USER", "ops_b")
    use("PROXYCTL_PASSWORD", NEW)
    use("ADMIN_CREDENTIALS", f"admin:admin;ops_b:{NEW}")
    applied("-f", "admin.yaml")
    assert plan("-f", "admin.yaml").code == 0
    assert refused(proxysql) == 0
    use("PROXYCTL_USER", "ops")
    use("PROXYCTL_PASSWORD", OLD)
    assert "access denied" in plan("-f", "admin.yaml").err
    proxysql.restart()
    use("PROXYCTL_USER", "ops_b")
    use("PROXYCTL_PASSWORD", NEW)
    assert plan("-f", "admin.yaml").code == 0


@pytest.mark.since("2.6.0", "mysql_servers_v2")
@pytest.mark.parametrize(
    "travels", [True, False], ids=["members copy them", "members do not copy them"]
)
def test_a_cluster(three: list[ProxySQL], offline: Project, travels: bool) -> None:
    """Each member logs in to the others all the time; one that restarts logs in anew."""
    project, use = offline, offline.monkeypatch.setenv
    for block in blocks(PAGE):
        if name := block.options.get("file"):
            project.write(block.text, name)
    project.write(fleet_of(*three), "instances.yaml")
    if not travels:
        keep_apart(three)

    def apply_at_all(credentials: str, file: str, password: str) -> None:
        use("ADMIN_CREDENTIALS", f"admin:admin;radmin:radmin;{credentials}")
        use("CLUSTER_PASSWORD", password)
        wait = () if travels else ("--peer-timeout", "2")
        applied("--all", *wait, "-f", file, "-f", "instances.yaml")
        until(lambda: all(agree(member, three) for member in three), what="members differ")

    apply_at_all(f"cluster:cluster;cluster_b:{NEW}", "cluster.yaml", "cluster")
    apply_at_all(f"cluster:cluster;cluster_b:{NEW}", "cluster-b.yaml", NEW)
    three[1].restart()
    until(lambda: all(agree(member, three) for member in three), what="members differ")
    apply_at_all(f"cluster_b:{NEW}", "cluster-b.yaml", NEW)
    three[2].restart()
    until(lambda: all(agree(member, three) for member in three), what="members differ")
    assert [refused(member) for member in three] == [0, 0, 0]
    for member in three:
        project.connect(member.instance)
        assert plan("-f", "cluster-b.yaml").code == 0
