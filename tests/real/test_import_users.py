"""The accounts of a real MariaDB become users of ProxySQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from proxyctl.proxysql.passwords import native_hash
from proxyctl.sandbox import Sandbox
from tests.support.commands.cli import Outcome, Project, proxyctl
from tests.support.servers.instances import Instance
from tests.support.servers.mariadb import MISSING, MariaDB

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]

SETUP = """
CREATE USER app@'%' IDENTIFIED BY 'app-password';
GRANT ALL ON shop.* TO app@'%';
CREATE USER report@'10.%' IDENTIFIED BY 'same';
CREATE USER report@'192.168.%' IDENTIFIED BY 'same';
CREATE USER two@'10.%' IDENTIFIED BY 'one';
CREATE USER two@'192.168.%' IDENTIFIED BY 'other';
CREATE USER boss@'%' IDENTIFIED BY 'boss-password';
GRANT ALL ON *.* TO boss@'%' WITH GRANT OPTION;
CREATE USER monitor@'%' IDENTIFIED BY 'monitor';
GRANT REPLICATION CLIENT ON *.* TO monitor@'%';
CREATE USER gone@'%' IDENTIFIED BY 'gone' ACCOUNT LOCK;
CREATE USER local@'localhost' IDENTIFIED VIA unix_socket;
CREATE ROLE readers;
CREATE USER reader@'%' IDENTIFIED BY 'reader';
GRANT SELECT ON *.* TO reader@'%';
CREATE USER tls@'%' IDENTIFIED BY 'tls' REQUIRE SSL;
CREATE USER tls@'10.%' IDENTIFIED BY 'tls';
CREATE USER cert@'%' IDENTIFIED BY 'cert' REQUIRE X509;
CREATE USER issuer@'%' IDENTIFIED BY 'issuer' REQUIRE ISSUER '/CN=ca';
CREATE USER cipher@'%' IDENTIFIED BY 'cipher' REQUIRE CIPHER 'AES128-SHA';
CREATE USER gonetls@'%' IDENTIFIED BY 'gone' REQUIRE SSL ACCOUNT LOCK;
INSTALL SONAME 'auth_ed25519';
CREATE USER curve@'%' IDENTIFIED VIA ed25519 USING PASSWORD('curve-password');
CREATE USER open@'localhost';
CREATE USER opentls@'%' REQUIRE SSL
"""


UPDATE = ("--default-hostgroup", "10", "--update", "users.yaml")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MariaDB]:
    with MariaDB(tmp_path_factory.mktemp("mariadb"), setup=SETUP) as running:
        yield running


def imported(server: MariaDB, *arguments: str) -> Outcome:
    return proxyctl("import", "--users-from", f"127.0.0.1:{server.port}", *arguments)


def test_users_come_with_their_hashes_and_others_are_named(
    server: MariaDB, offline: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROXYCTL_BACKEND_USER", "boss")
    monkeypatch.setenv("PROXYCTL_BACKEND_PASSWORD", "boss-password")
    done = imported(server, "--default-hostgroup", "10", "-o", "users.yaml")
    assert done.code == 0, done.text
    text = Path("users.yaml").read_text()
    lines = [line for line in text.splitlines() if "username: " in line]
    users = [line.split("username: ")[1].split(",")[0] for line in lines]
    assert {"app", "reader", "report"} <= {*users}
    assert {"boss", "monitor", "gone", "local", "two", "readers"}.isdisjoint(users)
    app = next(line for line in lines if "username: app" in line)
    assert native_hash("app-password") in app
    assert "default_hostgroup: 10" in app
    for warning in (
        "boss@% is left out: it is an administrator (SUPER, ",
        "monitor@% is left out: it is an administrator (REPL CLIENT)",
        "gone@% is left out: it is locked",
        "local@localhost is left out: ProxySQL cannot log in with unix_socket",
        "two is left out: its password differs at each of 10.%, 192.168.%",
    ):
        assert warning in done.err, done.err
    assert "readers" not in done.text
    assert "mariadb.sys" not in done.text
    assert native_hash("app-password") not in imported(server, "--secrets", "omit").out
    checked = proxyctl("validate", "-f", "users.yaml")
    assert checked.code == 0, checked.text


def test_a_file_that_a_schedule_brings_up_to_date(
    server: MariaDB, offline: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROXYCTL_BACKEND_USER", "boss")
    monkeypatch.setenv("PROXYCTL_BACKEND_PASSWORD", "boss-password")
    chosen = ("--select", "sched_*", "--exclude", "*_tmp", *UPDATE)
    for name in ("a", "b", "tmp"):
        server.run(f"CREATE USER sched_{name}@'%' IDENTIFIED BY '{name}'")
    found = imported(server, *chosen, "--check")
    assert (found.code, found.err) == (2, "")
    assert found.out == "users.yaml: 2 to add\n  + user sched_a\n  + user sched_b\n"
    assert not Path("users.yaml").exists()
    assert imported(server, *chosen).code == 0
    assert Path("users.yaml").stat().st_mode & 0o777 == 0o600
    written = Path("users.yaml").read_bytes()
    for code in (imported(server, *chosen, "--check").code, imported(server, *chosen).code):
        assert code == 0
    assert Path("users.yaml").read_bytes() == written

    edited = written.decode().replace("default_hostgroup: 10", "default_hostgroup: 20")
    Path("users.yaml").write_text(edited)
    server.run("ALTER USER sched_a@'%' IDENTIFIED BY 'other'; DROP USER sched_b@'%'")
    found = imported(server, *chosen)
    assert found.out == (
        "users.yaml: 1 to change, 1 to delete\n  ~ user sched_a: password\n  - user sched_b\n"
    )
    assert (found.code, found.err) == (0, "written to users.yaml\n")
    row = f"{{username: sched_a, password: '{native_hash('other')}', default_hostgroup: 20}}"
    assert Path("users.yaml").read_text() == f"version: 1\n\nmysql_users:\n  - {row}\n"

    server.run("DROP USER sched_a@'%'")
    for arguments in (chosen, (*chosen, "--check")):
        found = imported(server, *arguments)
        assert found.code == 3, found.text
        assert "no account of 127.0.0.1" in found.err
    assert "sched_a" in Path("users.yaml").read_text()


def test_accounts_that_need_more_than_a_user_are_named(
    server: MariaDB, offline: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROXYCTL_BACKEND_USER", "boss")
    monkeypatch.setenv("PROXYCTL_BACKEND_PASSWORD", "boss-password")
    done = imported(server)
    assert done.code == 0, done.text
    for warning in (
        "warning: opentls@%, tls@%: REQUIRE SSL: ProxySQL needs `use_ssl: true` at the servers",
        "warning: cert@%: REQUIRE X509: ",
        "warning: cipher@%, issuer@%: REQUIRE ISSUER, SUBJECT or CIPHER: ",
        "warning: open@localhost, opentls@%: no password: anyone who can reach ProxySQL can log in",
        "warning: gonetls@% is left out: it is locked",
    ):
        assert warning in done.err, done.err
    for user in ("tls", "cert", "issuer", "cipher", "open", "opentls"):
        assert f"username: {user}," in done.out, done.out


def test_the_server_refuses_a_connection_without_what_the_account_requires(
    server: MariaDB, offline: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it refuses ProxySQL: proxyctl connects without TLS here."""
    for user in ("tls", "cert", "issuer", "cipher"):
        monkeypatch.setenv("PROXYCTL_BACKEND_USER", user)
        monkeypatch.setenv("PROXYCTL_BACKEND_PASSWORD", user)
        refused = imported(server)
        assert f"Access denied for user '{user}'" in refused.text


@pytest.mark.parametrize(
    ("user", "reason"),
    [
        ("curve", "the account logs in with client_ed25519, which proxyctl does not support"),
        ("local", "Access denied for user 'local'"),
    ],
)
def test_an_account_with_another_method_is_refused(
    server: MariaDB, offline: Project, user: str, reason: str
) -> None:
    offline.monkeypatch.setenv("PROXYCTL_BACKEND_USER", user)
    offline.monkeypatch.setenv("PROXYCTL_BACKEND_PASSWORD", "curve-password")
    found = imported(server)
    assert found.code == 1
    assert reason in found.err
    with Sandbox() as sandbox:
        offline.connect(Instance(sandbox.host, sandbox.port))
        for sql in (
            "INSERT INTO mysql_servers (hostgroup_id, hostname, port)"
            f" VALUES (1, '127.0.0.1', {server.port})",
            f"SET mysql-monitor_username='{user}'",
            "SET mysql-monitor_password='curve-password'",
            "LOAD MYSQL SERVERS TO RUNTIME",
            "LOAD MYSQL VARIABLES TO RUNTIME",
        ):
            sandbox.run(sql)
        assert f"not reached from here: {reason}" in proxyctl("nodes", "list").out
        found = proxyctl("doctor")
        assert "internal error" not in found.text
        assert "curve-password" not in found.text


def test_an_account_that_may_not_read_accounts_is_refused(
    server: MariaDB, offline: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROXYCTL_BACKEND_USER", "app")
    monkeypatch.setenv("PROXYCTL_BACKEND_PASSWORD", "app-password")
    refused = imported(server)
    assert refused.code == 1
    assert "let 'app' read the schema mysql" in refused.text
    monkeypatch.setenv("PROXYCTL_BACKEND_PASSWORD", "wrong")
    wrong = imported(server)
    assert wrong.code == 1
    assert "Access denied for user 'app'" in wrong.text
