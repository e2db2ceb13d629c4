"""Logging in: accounts, verified TLS, and a password that no stranger gets."""

from __future__ import annotations

from pathlib import Path

import pytest

from proxyctl.sandbox import Sandbox
from tests.support.commands.cli import Project, proxyctl
from tests.support.commands.story import FILES, applied, apply, ended, plan
from tests.support.protocol.hostile_server import PLAIN, HostileServer, certificates
from tests.support.servers.instances import Instance, ProxySQL
from tests.support.servers.layers import dump

PASSWORD = "s3cret-of-app"


@pytest.fixture
def bait(offline: Project) -> Project:
    """A project that logs in with a password that nobody should get."""
    offline.write(FILES)
    offline.monkeypatch.setenv("PROXYCTL_PASSWORD", PASSWORD)
    return offline


@pytest.mark.parametrize("option", ["--tls-required", "--tls-ca"])
def test_without_tls_nothing_is_sent_where_it_is_required(bait: Project, option: str) -> None:
    authority, _, _ = certificates(bait.folder, "proxysql.example.com")
    asked = (option,) if option == "--tls-required" else (option, str(authority))
    with HostileServer("claims to be MySQL", PLAIN, bait.folder) as server:
        found = plan("--port", str(server.port), *asked)
    ended(found, 1, "TLS failed", "mysql-have_ssl")
    assert server.heard == []


@pytest.mark.since("2.6.0", "its admin interface offers no TLS")
def test_tls_with_certificates_of_our_own(
    fresh_proxysql: ProxySQL, offline: Project, tmp_path: Path
) -> None:
    """TLS verifies the CA: its certificate is valid for any host."""
    authority, certificate, key = certificates(tmp_path, "proxysql.example.com")
    stranger, _, _ = certificates(tmp_path, "somebody.example.org")
    fresh_proxysql.stop()
    for name, path in (("ca", authority), ("cert", certificate), ("key", key)):
        path.replace(fresh_proxysql.folder / f"proxysql-{name}.pem")
    fresh_proxysql.start()
    offline.connect(fresh_proxysql.instance)
    offline.write(FILES)
    ours = str(fresh_proxysql.folder / "proxysql-ca.pem")

    found = plan("--tls-ca", ours, "--debug")
    assert found.code == 2, found.text
    assert "TLSv1.3, the certificate is verified" in found.err
    found = plan("--tls-required", "--debug")
    assert found.code == 2, found.text
    assert "TLSv1.3, the certificate is not verified" in found.err
    ended(plan("--tls-ca", str(stranger)), 1, "TLS failed", "certificate verify failed")

    offline.write(
        f"instances:\n  - {{name: px, host: 127.0.0.1, port: {fresh_proxysql.port}, user: admin,"
        f" tls_required: true, tls_ca: {stranger}}}\n{FILES}"
    )
    for name in ("HOST", "PORT"):
        offline.monkeypatch.delenv(f"PROXYCTL_{name}")
    ended(plan("--instance", "px"), 1, "TLS failed")
    assert plan("--instance", "px", "--tls-ca", ours).code == 2
    (offline.folder / "ca.pem").write_bytes(Path(ours).read_bytes())
    files = (offline.folder / "proxyctl.yaml").read_text()
    offline.write(files.replace(str(stranger), "ca.pem"))
    found = plan("--instance", "px", "--restrict-paths", "--debug")
    assert found.code == 2, found.text
    assert "TLSv1.3, the certificate is verified" in found.err
    offline.write(files.replace(str(stranger), "proxyctl.yaml"))
    ended(plan("--instance", "px"), 1, "tls_ca proxyctl.yaml: no certificate in PEM")


# -- accounts --------------------------------------------------------------------------------------


def test_admin_from_another_host(sandbox_project: Project, sandbox: Sandbox) -> None:
    sandbox_project.write(FILES)
    sandbox.options.clients_are_remote = True
    ended(plan(), 1, "admin@127.0.0.1", "only from the machine it runs on", "radmin")
    sandbox_project.monkeypatch.setenv("PROXYCTL_PASSWORD", "radmin")
    assert plan("-u", "radmin").code == 2


def test_a_password_from_a_command(sandbox_project: Project, sandbox: Sandbox) -> None:
    """It runs once for a plan, and not at all where a source that wins has a password."""
    instance = (
        f"name: px, host: {sandbox.host}, port: {sandbox.port}, password: {{command: [sh, p]}}"
    )
    sandbox_project.write(f"instances: [{{{instance}}}]\n{FILES}")
    sandbox_project.write("echo run >> runs; echo admin", "p")
    runs = sandbox_project.folder / "runs"
    assert plan("--instance", "px").code == 2
    assert not runs.exists()
    sandbox_project.monkeypatch.delenv("PROXYCTL_PASSWORD")
    ended(
        plan("--instance", "px", "--restrict-paths"), 1, "px.password", "--restrict-paths refuses"
    )
    found = plan("--instance", "px", "--debug")
    assert found.code == 2, found.text
    assert "the password comes from the instance px in the files" in found.err
    assert runs.read_text() == "run\n"
    sandbox_project.write("echo admin; echo the vault is sealed >&2; exit 2", "p")
    ended(plan("--instance", "px"), 1, "instances.px.password: sh: ", "2: the vault is sealed")


def test_wrong_password(project: Project, instance: Instance) -> None:
    project.write(FILES)
    project.monkeypatch.setenv("PROXYCTL_PASSWORD", "not-the-pass")
    for outcome in (plan(), apply(), proxyctl("export"), proxyctl("unlock")):
        ended(
            outcome, 1, f"admin@127.0.0.1:{instance.port}: access denied", "admin-admin_credentials"
        )
        assert "not-the-pass" not in outcome.text


def test_a_wrong_password_is_named_by_its_source(project: Project, instance: Instance) -> None:
    """The environment wins over the files, and a forgotten variable is hard to see."""
    address = f"host: 127.0.0.1, port: {instance.port}"
    project.write(f"instances: [{{name: px, {address}, password: in-the-files}}]\n{FILES}")
    project.monkeypatch.setenv("PROXYCTL_PASSWORD", "forgotten")
    ended(
        plan("--instance", "px"), 1, "access denied", "  password: it came from PROXYCTL_PASSWORD; "
    )
    project.monkeypatch.delenv("PROXYCTL_PASSWORD")
    ended(
        plan("--instance", "px"), 1, "access denied", "it came from the instance px in the files; "
    )
    (project.folder / "password").write_text("in-a-file")
    found = plan("--instance", "px", "--password-file", "password")
    ended(found, 1, "access denied", "it came from --password-file; ")


def test_explain_with_the_user_of_the_query_as_the_admin_account(offline: Project) -> None:
    offline.write(FILES)
    ended(proxyctl("explain", "SELECT 1", "--user", "app"), 64, "reads the files", "--username")


def test_no_password(project: Project) -> None:
    project.write(FILES)
    project.monkeypatch.delenv("PROXYCTL_PASSWORD")
    ended(plan(), 1, "no password given", "set PROXYCTL_PASSWORD or --password-file")


def test_a_password_of_any_alphabet(
    project: Project, instance: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROXYCTL_PASSWORD", "пароль")
    ended(proxyctl("export"), 1, "access denied")
    instance.execute("SET admin-admin_credentials='admin:admin;radmin:radmin;other:пароль'")
    instance.execute("LOAD ADMIN VARIABLES TO RUNTIME")
    assert proxyctl("export", "--user", "other").code == 0


def test_stats_account(project: Project, instance: Instance) -> None:
    project.write(FILES)
    project.monkeypatch.setenv("PROXYCTL_PASSWORD", "stats")
    ended(plan("-u", "stats"), 1, "the account stats may only read statistics", "admin-admin_cred")


def test_password_file_and_option_file(project: Project, instance: Instance) -> None:
    project.write(FILES)
    project.monkeypatch.delenv("PROXYCTL_PASSWORD")
    project.write("admin\n", "password")
    assert plan("--password-file", "password").code == 2
    ended(plan("--password-file", "nowhere"), 1, "--password-file nowhere: no such file")
    project.write("[client]\nuser=radmin\npassword=radmin\n", "my.cnf")
    project.monkeypatch.delenv("PROXYCTL_USER")
    assert plan("--defaults-file", "my.cnf").code == 2
    project.write("password=s3cret-of-app\n", "my.cnf")
    ended(plan("--defaults-file", "my.cnf"), 1, "my.cnf: not an option file")
    ended(plan("--defaults-file", "nowhere.cnf"), 1, "nowhere.cnf: no such file")


def test_read_only_admin_interface(project: Project, instance: Instance) -> None:
    project.write(FILES)
    instance.execute(
        "UPDATE global_variables SET variable_value='true' WHERE variable_name='admin-read_only'"
    )
    instance.execute("LOAD ADMIN VARIABLES TO RUNTIME")
    before = dump(instance)
    shown = plan()
    assert shown.code == 2
    assert "read-only (admin-read_only): an apply needs PROXYSQL READWRITE" in shown.text
    ended(apply(), 1, "the admin interface is read-only (admin-read_only)", "PROXYSQL READWRITE")
    assert dump(instance) == before
    instance.execute("PROXYSQL READWRITE")


@pytest.mark.parametrize("version", ["MariaDB-10.2.31", "x", "10.11.6-MariaDB"])
def test_any_announced_version_can_be_managed(
    project: Project, instance: Instance, version: str
) -> None:
    project.write(FILES.replace("8.0.36", version))
    applied()
    instance.close()
    assert plan().code == 0
    project.write(FILES)
    applied()
    assert plan().code == 0


@pytest.mark.since("2.6.0", "no caching_sha2_password")
def test_logins_with_caching_sha2_password(project: Project, instance: Instance) -> None:
    plugin = "mysql-default_authentication_plugin"
    project.write(f"variables: {{{plugin}: caching_sha2_password}}\n")
    applied()
    instance.close()
    assert plan().code == 0
    project.monkeypatch.setenv("PROXYCTL_PASSWORD", "radmin")
    assert plan("-u", "radmin").code == 0
    project.monkeypatch.setenv("PROXYCTL_PASSWORD", "wrong")
    ended(plan("-u", "radmin"), 1, "access denied")
    project.monkeypatch.setenv("PROXYCTL_PASSWORD", "admin")
    project.write(f"variables: {{{plugin}: mysql_native_password}}\n")
    applied()


def test_the_port_for_applications(fresh_proxysql: ProxySQL, offline: Project) -> None:
    """The port refuses an admin account as the admin port does, and greets other accounts."""
    admin = fresh_proxysql.instance
    admin.execute("INSERT INTO mysql_users (username,password) VALUES ('app','app')")
    admin.execute("LOAD MYSQL USERS TO RUNTIME")
    admin.execute("SET mysql-connect_timeout_server_max=100")
    admin.execute("LOAD MYSQL VARIABLES TO RUNTIME")
    port = f"--port={fresh_proxysql.traffic_port}"
    offline.write(FILES)
    offline.monkeypatch.setenv("PROXYCTL_PASSWORD", "admin")
    ended(
        plan(port),
        1,
        "access denied",
        "the one for applications (6033 by default) refuses all of these accounts",
    )
    offline.monkeypatch.setenv("PROXYCTL_PASSWORD", "app")
    ended(plan(port, "-u", "app"), 1, "not an admin interface", "6033 is for applications")
