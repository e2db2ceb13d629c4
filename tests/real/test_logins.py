"""proxyctl logs in to a real ProxySQL with every kind of account, over every transport."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from proxyctl.errors import InstanceError
from proxyctl.instance.client import AdminClient
from proxyctl.instance.connect import Login
from proxyctl.instance.tls import Authority
from proxyctl.proxysql.passwords import native_hash
from tests.support.commands.cli import Project, proxyctl
from tests.support.protocol.hostile_server import certificates
from tests.support.servers.instances import CONFIG, ProxySQL, binary_version, needed_binary

PASSWORDS = {
    "admin": "admin",
    "radmin": "radmin",
    "nothing": "",
    "short": "x",
    "long": "y" * 200,
    "quotes": "'\"`\\%_",
    "blanks": " a b ",
    "letters": "пароль☃",
    "signs": "!#$&()*+,-./<=>?@[]^{|}~",
}
"""By account of admin-admin_credentials; a password cannot have a colon or a semicolon."""
STATS = {"stats": "stats", "watch": "ö☃", "still": ""}
"""By account of admin-stats_credentials."""
SECRET = "s3cret-of-app"
"""The password of two accounts that admin-admin_credentials holds as a hash."""
NATIVE, SHA2 = "mysql_native_password", "caching_sha2_password"
TRANSPORTS = ("TCP", "TLS", "verified TLS", "TLS that names the host", "Unix socket")
HOST = "localhost"
"""The only name of this machine that a certificate of the tests can have."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProxySQL]:
    """A ProxySQL with all accounts, a Unix socket, and a certificate that names HOST."""
    folder = tmp_path_factory.mktemp("logins")
    made = certificates(folder, HOST)
    config = CONFIG.replace(':{port}"', ':{port};{folder}/admin.sock"')
    running = ProxySQL(needed_binary(), folder / "proxysql", config=config)
    running.folder.mkdir()
    for name, path in zip(("ca", "cert", "key"), made, strict=True):
        path.replace(running.folder / f"proxysql-{name}.pem")
    with running:
        yield running


@pytest.fixture(params=[NATIVE, SHA2])
def method(server: ProxySQL, request: pytest.FixtureRequest) -> str:
    """The method of the greeting, for which ProxySQL forgets the passwords that it has learned."""
    chosen: str = request.param
    has_methods = binary_version(server.binary) >= (2, 6, 0)
    if chosen == SHA2 and not has_methods:
        pytest.skip("this ProxySQL has no caching_sha2_password")
    instance = server.instance
    hashes = {"native": native_hash(SECRET)}
    if has_methods:
        instance.execute(f"SET mysql-default_authentication_plugin='{chosen}'")
        instance.load("MYSQL VARIABLES")
        salt = "abcdefghijklmnopqrst"
        [(text,)] = instance.query(f"SELECT CACHING_SHA2_PASSWORD('{SECRET}','{salt}')")
        hashes["sha2"] = str(text)
    only_admin = {"admin": "admin"}
    credentials = (("admin", only_admin), ("admin", PASSWORDS | hashes), ("stats", STATS))
    for kind, accounts in credentials:
        text = ";".join(f"{user}:{password}" for user, password in accounts.items())
        quoted = text.replace("'", "''")
        instance.execute(
            f"UPDATE global_variables SET variable_value='{quoted}'"
            f" WHERE variable_name='admin-{kind}_credentials'"
        )
        instance.load("ADMIN VARIABLES")
    instance.close()
    return chosen


def log_in(server: ProxySQL, transport: str, user: str, password: str) -> str:
    """Log in and ask for a row; return '' for success, else the error."""
    transports: dict[str, dict[str, Any]] = {
        "TCP": {},
        "TLS": {"tls_required": True},
        "verified TLS": {"ca": authority(server)},
        "TLS that names the host": {"ca": authority(server), "verifies_identity": True},
        "Unix socket": {"socket": str(server.folder / "admin.sock")},
    }
    try:
        with AdminClient(
            Login(HOST, server.port, user, password, **transports[transport])
        ) as client:
            assert client.query("SELECT 7") == [("7",)]
    except InstanceError as error:
        return f"{error.message}\n{error.fix}"
    return ""


def authority(server: ProxySQL) -> Authority:
    return Authority("ca.pem", (server.folder / "proxysql-ca.pem").read_text)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_every_account_over_every_transport(server: ProxySQL, method: str, transport: str) -> None:
    if "TLS" in transport and binary_version(server.binary) < (2, 6, 0):
        pytest.skip("its admin interface offers no TLS")
    for user, password in PASSWORDS.items():
        assert log_in(server, transport, user, password) == "", user
        found = log_in(server, transport, user, f"{password}x")
        assert "access denied: wrong user or password" in found
    for user, password in STATS.items():
        assert "may only read statistics" in log_in(server, transport, user, password), user
        assert "access denied" in log_in(server, transport, user, f"{password}x")
    assert "access denied" in log_in(server, transport, "nobody", "x")


@pytest.mark.since("2.6.0", "no caching_sha2_password")
def test_an_account_whose_password_is_a_hash(server: ProxySQL, method: str) -> None:
    """By caching_sha2_password ProxySQL asks for the password itself, until it has it once."""
    if method == NATIVE:
        for transport in TRANSPORTS:
            assert log_in(server, transport, "native", SECRET) == ""
            assert "access denied" in log_in(server, transport, "sha2", SECRET)
        return
    for user in ("native", "sha2"):
        for transport in ("TCP", "TLS", "Unix socket"):
            found = log_in(server, transport, user, SECRET)
            assert "the password was not sent" in found
            assert "log in once with --tls-ca" in found
        assert "access denied" in log_in(server, "verified TLS", user, "wrong")
        for transport in ("verified TLS", *TRANSPORTS):
            assert log_in(server, transport, user, SECRET) == ""


@pytest.mark.since("2.6.0", "its admin interface offers no TLS")
def test_the_certificates_that_proxysql_makes(tmp_path: Path, offline: Project) -> None:
    """They are verified with its own CA, and name no host."""
    with ProxySQL(needed_binary(), tmp_path / "proxysql") as server:
        assert log_in(server, "verified TLS", "admin", "admin") == ""
        found = log_in(server, "TLS that names the host", "admin", "admin")
        assert "TLS failed" in found
        assert "certificate verify failed" in found
        offline.connect(server.instance)
        ca = ("--tls-ca", str(server.folder / "proxysql-ca.pem"))
        assert proxyctl("rules", *ca).code == 0
        assert proxyctl("rules", *ca, "--tls-verify-identity").code == 1


def test_every_transport_from_the_command_line(
    server: ProxySQL, method: str, offline: Project
) -> None:
    offline.connect(server.instance)
    offline.monkeypatch.setenv("PROXYCTL_HOST", HOST)
    offline.monkeypatch.setenv("PROXYCTL_PASSWORD", PASSWORDS["letters"])
    ca = ("--tls-ca", str(server.folder / "proxysql-ca.pem"))
    tls = [("--tls-required",), ca, (*ca, "--tls-verify-identity")]
    has_tls = binary_version(server.binary) >= (2, 6, 0)
    for given in ((), ("--socket", str(server.folder / "admin.sock")), *(tls if has_tls else ())):
        found = proxyctl("export", "--user", "letters", *given)
        assert found.code == 0, found.text
        assert PASSWORDS["letters"] not in found.text
