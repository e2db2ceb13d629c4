"""What can be wrong from outside: one clear message, the right code, nothing half done."""

from __future__ import annotations

import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
from mysql_mimic.errors import MysqlError

from proxyctl.admin.apply import ApplyOptions, apply_plan
from proxyctl.admin.client import AdminClient, Login
from proxyctl.admin.lock import Lock
from proxyctl.config.load import ParsedFiles, Sources
from proxyctl.errors import InstanceError, ProxyctlError
from proxyctl.sandbox import AdminError, CutConnectionError, Sandbox
from proxyctl.workflow import plan_files
from tests.cli import SECRETS, Outcome, Project, proxyctl
from tests.galera_nodes import GaleraCluster, GaleraNode
from tests.journeys.layers import dump, everywhere, of_layer
from tests.journeys.test_journeys import FILES, MANY, applied, apply, plan
from tests.servers import Instance, ProxySQL, free_port


def said(found: Outcome, code: int, *parts: str) -> None:
    """Check that it ended with this code and a message for people that has these parts."""
    assert found.code == code, found.text
    assert "Traceback" not in found.text
    assert "internal error" not in found.text
    assert not any(secret in found.text for secret in SECRETS.values())
    for part in parts:
        assert part in found.err, f"{part!r} is not in\n{found.err}"


# -- the way to the instance ----------------------------------------------------------------------


def test_nothing_listens(offline: Project) -> None:
    offline.write(FILES)
    port = free_port()
    for command in ("plan", "drift", "apply"):
        found = proxyctl(command, "--port", str(port))
        said(found, 1, f"cannot connect to 127.0.0.1:{port}: ", "refused", "hint: ", "6032")
        assert found.out == ""


def test_no_such_host(offline: Project) -> None:
    offline.write(FILES)
    said(plan("--host", "no-such-host.invalid"), 1, "cannot connect to no-such-host.invalid:6032")


def test_no_such_socket(offline: Project) -> None:
    offline.write(FILES)
    said(plan("--socket", "/nowhere/proxysql.sock"), 1, "/nowhere/proxysql.sock", "hint: ")


@contextmanager
def tcp_server(handle: Callable[[socket.socket], None]) -> Iterator[int]:
    """Serve a port on which every connection is given to `handle`, one after another."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        held: list[socket.socket] = []

        def serve() -> None:
            while True:
                try:
                    client, _ = server.accept()
                except OSError:
                    return
                held.append(client)
                handle(client)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        thread.join()
        for client in held:
            client.close()


def test_a_port_that_says_nothing() -> None:
    with tcp_server(lambda client: None) as port:
        login = Login(port=port, connect_timeout_s=1, read_timeout_s=60)
        with pytest.raises(InstanceError, match=r"cannot connect to .*: no answer within 1 s"):
            AdminClient(login)


@pytest.mark.parametrize("answer", [b"", b"SSH-2.0-OpenSSH_9.6\r\n", b"HTTP/1.1 400 Bad\r\n\r\n"])
def test_a_port_that_speaks_something_else(offline: Project, answer: bytes) -> None:
    offline.write(FILES)

    def speak(client: socket.socket) -> None:
        client.sendall(answer)
        client.shutdown(socket.SHUT_WR)

    with tcp_server(speak) as port:
        said(plan("--port", str(port)), 1, f"cannot connect to 127.0.0.1:{port}", "admin port")


class MySQLNode(GaleraNode):
    """A MySQL server, or the port of a ProxySQL that applications use."""

    def answer(self, sql: str) -> tuple[list[tuple[Any, ...]], list[str]]:
        if "@@version" in sql:
            return [("8.0.36",)], ["@@version"]
        if "DATABASE()" in sql:
            return [(None,)], ["DATABASE()"]
        raise MysqlError("Table 'sqlite_master' doesn't exist", 1146)


def test_a_mysql_server_is_no_proxysql(offline: Project) -> None:
    offline.write(FILES)
    mysql = GaleraCluster(["127.0.1.9"], free_port())
    mysql.nodes["127.0.1.9"] = MySQLNode("127.0.1.9")
    offline.monkeypatch.setenv("PROXYCTL_PASSWORD", "app")
    with mysql:
        found = plan("--host", "127.0.1.9", "--port", str(mysql.port), "-u", "app")
    said(found, 1, "does not answer as ProxySQL does", "8.0.36", "6032")


# -- who we are there -----------------------------------------------------------------------------


def test_admin_from_another_host(sandbox_project: Project, sandbox: Sandbox) -> None:
    sandbox_project.write(FILES)
    sandbox.options.clients_are_remote = True
    said(plan(), 1, "admin@127.0.0.1", "only from the machine it runs on", "radmin")
    sandbox_project.monkeypatch.setenv("PROXYCTL_PASSWORD", "radmin")
    assert plan("-u", "radmin").code == 2


def test_wrong_password(project: Project, instance: Instance) -> None:
    project.write(FILES)
    project.monkeypatch.setenv("PROXYCTL_PASSWORD", "not-the-pass")
    for found in (plan(), apply(), proxyctl("export"), proxyctl("unlock")):
        said(found, 1, f"admin@127.0.0.1:{instance.port}: access denied", "admin-admin_credentials")
        assert "not-the-pass" not in found.text


def test_stats_account(project: Project, instance: Instance) -> None:
    project.write(FILES)
    project.monkeypatch.setenv("PROXYCTL_PASSWORD", "stats")
    said(plan("-u", "stats"), 1, "the account stats may only read statistics", "admin-admin_cred")


def test_password_file_and_option_file(project: Project, instance: Instance) -> None:
    project.write(FILES)
    project.monkeypatch.delenv("PROXYCTL_PASSWORD")
    project.write("admin\n", "password")
    assert plan("--password-file", "password").code == 2
    said(plan("--password-file", "nowhere"), 1, "--password-file nowhere: No such file")
    project.write("[client]\nuser=radmin\npassword=radmin\n", "my.cnf")
    project.monkeypatch.delenv("PROXYCTL_USER")
    assert plan("--defaults-file", "my.cnf").code == 2
    project.write("password=s3cret-of-app\n", "my.cnf")
    said(plan("--defaults-file", "my.cnf"), 1, "my.cnf: not an option file")
    said(plan("--defaults-file", "nowhere.cnf"), 1, "nowhere.cnf: no such file")


def test_read_only_admin_interface(project: Project, instance: Instance) -> None:
    project.write(FILES)
    instance.execute(
        "UPDATE global_variables SET variable_value='true' WHERE variable_name='admin-read_only'"
    )
    instance.execute("LOAD ADMIN VARIABLES TO RUNTIME")
    before = dump(instance)
    assert plan().code == 2
    said(apply(), 1, "PROXYSQL READWRITE")
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


def test_logins_with_caching_sha2_password(project: Project, instance: Instance) -> None:
    plugin = "mysql-default_authentication_plugin"
    project.write(f"variables: {{{plugin}: caching_sha2_password}}\n")
    applied()
    instance.close()
    assert plan().code == 0
    project.monkeypatch.setenv("PROXYCTL_PASSWORD", "radmin")
    assert plan("-u", "radmin").code == 0
    project.monkeypatch.setenv("PROXYCTL_PASSWORD", "wrong")
    said(plan("-u", "radmin"), 1, "access denied")
    project.monkeypatch.setenv("PROXYCTL_PASSWORD", "admin")
    project.write(f"variables: {{{plugin}: mysql_native_password}}\n")
    applied()


def test_tls(fresh_proxysql: ProxySQL, offline: Project) -> None:
    offline.connect(fresh_proxysql.instance)
    offline.write(FILES)
    authority = str(fresh_proxysql.folder / "proxysql-ca.pem")
    assert plan("--tls-ca", authority).code == 2
    assert plan("--tls-required").code == 2
    assert plan("--tls-required", "--tls-ca", authority).code == 2

    wrong = offline.folder / "wrong.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=other"),
            *("-keyout", str(offline.folder / "key.pem"), "-out", str(wrong)),
        ],
        check=True,
        capture_output=True,
    )
    said(plan("--tls-ca", str(wrong)), 1, "TLS failed", "verify failed", "--tls-ca")
    said(plan("--tls-ca", "nowhere.pem"), 1, "--tls-ca nowhere.pem")
    said(plan("--tls-ca", "proxyctl.yaml"), 1, "--tls-ca proxyctl.yaml")

    fresh_proxysql.instance.execute("SET mysql-have_ssl='false'")
    fresh_proxysql.instance.execute("LOAD MYSQL VARIABLES TO RUNTIME")
    said(plan("--tls-required"), 1, "TLS failed", "mysql-have_ssl")


# -- the files ------------------------------------------------------------------------------------

RULE = "mysql_query_rules:\n  - {rule_id: 1, match_digest: '^SELECT'}\n"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("mysql_serverz: []\n", ["proxyctl.yaml:1:1: mysql_serverz: ", "did you mean 'mysql_ser"]),
        (
            "mysql_users:\n  - {username: a, user: a}\n",
            ["proxyctl.yaml:2:19: mysql_users[0].user: ", "did you mean 'username'"],
        ),
        ("mysql_servers: 3\n", ["proxyctl.yaml:1:16: mysql_servers: "]),
        (
            "mysql_servers:\n  - {hostgroup_id: 1, hostname: a, port: five}\n",
            ["proxyctl.yaml:2:42: mysql_servers[0].port: "],
        ),
        ("variables: {mysql-server_version: 8.10}\n", ["proxyctl.yaml:1:35: ", "quote it"]),
        (
            "hostgroups: {writer: {id: 1}}\nmysql_servers:\n"
            "  - {hostgroup_id: writr, hostname: a}\n",
            ["proxyctl.yaml:3:20: ", "'writr'", "did you mean 'writer'"],
        ),
        (
            RULE + "  - {rule_id: 1, match_digest: x}\n",
            ["proxyctl.yaml:3:5: ", "proxyctl.yaml:2:5"],
        ),
        (
            "mysql_servers:\n  - {hostgroup_id: 1, hostname: a, status: BROKEN}\n",
            ["proxyctl.yaml:2:44: mysql_servers[0].status: "],
        ),
        (
            "mysql_servers:\n  - {hostgroup_id: 1, hostname: a, weight: -1}\n",
            ["proxyctl.yaml:2:44: mysql_servers[0].weight: "],
        ),
        (RULE.replace("^SELECT", "^SELECT ("), ["proxyctl.yaml:2:32: ", "match_digest"]),
        (
            RULE.replace("match_digest", "client_addr: '10.%.1', match_digest"),
            ["proxyctl.yaml:2:31: ", "client_addr"],
        ),
        ("mysql_users:\n  - {username: admin, password: x}\n", ["proxyctl.yaml:2:", "admin"]),
        ("mysql_users:\n  - {username: new}\n", ["proxyctl.yaml:2:", "no password"]),
        ("variables: {mysql-no_such: '1'}\n", ["proxyctl.yaml:1:13: ", "mysql-no_such"]),
        ("mysql_users: [\n", ["proxyctl.yaml:"]),
        ("a: \t- b\n", ["proxyctl.yaml:1:"]),
        ("mysql_users:\n  - {username: a, password: {env: NOT_SET}}\n", ["NOT_SET"]),
        ("mysql_users:\n  - {username: a, password: {file: nowhere}}\n", ["nowhere"]),
    ],
)
def test_a_mistake_in_the_files(
    sandbox_project: Project, sandbox_instance: Instance, text: str, parts: list[str]
) -> None:
    sandbox_project.write(text)
    before = dump(sandbox_instance)
    for found in (plan(), apply(), proxyctl("drift")):
        said(found, 1, *parts, "1 mistake in the files")
        assert found.out == ""
    machine = plan("--format", "json")
    error = machine.json["error"]
    assert (machine.code, error["type"], error["exit_code"]) == (1, "ConfigError", 1)
    assert error["mistakes"][0]["path"] == "proxyctl.yaml"
    assert dump(sandbox_instance) == before


def test_all_mistakes_are_said_at_once(sandbox_project: Project) -> None:
    sandbox_project.write("version: 2\nmysql_users:\n  - {usr: a}\nscheduler: {}\n")
    found = plan()
    said(found, 1, "mistakes in the files")
    places = [
        line.split(": ")[0] for line in found.err.splitlines() if line[0] not in " 0123456789"
    ]
    assert len(places) >= 3
    assert places == sorted(places)


def test_no_files(sandbox_project: Project) -> None:
    said(plan(), 1, "proxyctl.yaml: no such file", "proxyctl init")
    said(plan("-f", "nowhere"), 1, "nowhere: ")


def test_a_user_named_like_an_administrator_at_runtime(
    project: Project, instance: Instance
) -> None:
    instance.execute(
        "UPDATE global_variables SET variable_value='admin:admin;radmin:radmin;boss:x'"
        " WHERE variable_name='admin-admin_credentials'"
    )
    instance.execute("LOAD ADMIN VARIABLES TO RUNTIME")
    project.write("mysql_users:\n  - {username: boss, password: {env: APP_PASSWORD}}\n")
    before = dump(instance)
    said(apply(), 1, "proxyctl.yaml:2:", "'boss' is an administrator", "lock the administrator out")
    assert dump(instance) == before


# -- the command line -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ["frobnicate"],
        ["plan", "--frob"],
        ["plan", "--format", "xml"],
        ["plan", "--port", "0"],
        ["plan", "--port", "abc"],
        ["plan", "--var", "novalue"],
        ["plan", "--instance", "nowhere"],
        ["apply", "one", "two"],
        ["apply", "--lock-timeout", "-1"],
        ["export", "--layer", "moon"],
        ["export", "--secrets", "clear"],
        ["plan", "--format"],
        ["sandbox", "--proxysql-version", "x"],
    ],
)
def test_a_wrong_command_line(offline: Project, arguments: list[str]) -> None:
    offline.write(FILES)
    found = proxyctl(*arguments)
    said(found, 64)
    assert found.err.strip()
    assert found.out == ""


def test_no_command_at_all_shows_the_commands(offline: Project) -> None:
    found = proxyctl()
    said(found, 64)
    assert "Usage" in found.text


def test_a_misspelt_admin_module_has_a_hint(sandbox_project: Project) -> None:
    sandbox_project.write(FILES)
    said(plan("--only", "MYSQL USRES"), 64, "did you mean 'MYSQL USERS'?")


def test_several_instances_need_a_choice(offline: Project) -> None:
    offline.write(
        "instances:\n  - {name: a, host: 127.0.0.1, port: 1}\n  - {name: b, host: 127.0.0.1}\n"
    )
    said(plan(), 64, "several instances", "a, b")
    said(plan("--instance", "a"), 1, "cannot connect to 127.0.0.1:1")


def test_an_error_as_json(project: Project, instance: Instance) -> None:
    project.write(FILES)
    project.monkeypatch.setenv("PROXYCTL_PASSWORD", "wrong")
    for arguments in (["plan"], ["apply", "--auto-approve"], ["drift"]):
        found = proxyctl(*arguments, "--format", "json")
        error = found.json["error"]
        assert (found.code, error["type"], error["exit_code"]) == (1, "InstanceError", 1)
        assert "access denied" in error["message"]
        assert error["hint"]


# -- in the middle of an apply --------------------------------------------------------------------

CHANGED = (
    FILES.replace("^SELECT.*FOR", "^SELECT .*FOR")
    .replace("weight: 100", "weight: 70")
    .replace("8.0.36", "8.4.0")
    .replace("{env: APP_PASSWORD}", "{env: OTHER_PASSWORD}")
)
STEPS = [
    f"{verb} {module} {to}"
    for verb, to in (("LOAD", "TO RUNTIME"), ("SAVE", "TO DISK"))
    for module in ("MYSQL VARIABLES", "MYSQL SERVERS", "MYSQL QUERY RULES", "MYSQL USERS")
]


class Once:
    """A hook that acts at one statement, the first time only."""

    def __init__(self, start: str, act: Callable[[], None]) -> None:
        self.start = start
        self.act = act
        self.happened = False

    def __call__(self, sql: str) -> None:
        if sql.startswith(self.start) and not self.happened:
            self.happened = True
            self.act()


def cut() -> None:
    raise CutConnectionError


def fail() -> None:
    raise AdminError("the disk is full", code=1045)


@pytest.mark.parametrize("step", STEPS)
def test_the_connection_breaks_after_a_step(
    sandbox_project: Project, sandbox: Sandbox, sandbox_instance: Instance, step: str
) -> None:
    sandbox_project.write(FILES)
    applied()
    sandbox_project.write(CHANGED)
    hook = sandbox.options.after_statement = Once(step, cut)
    done = apply()
    assert hook.happened
    assert done.code == 0, done.text
    assert plan().code == 0


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("act", [cut, fail])
def test_a_step_that_does_not_happen_is_taken_back(
    sandbox_project: Project,
    sandbox: Sandbox,
    sandbox_instance: Instance,
    step: str,
    act: Callable[[], None],
) -> None:
    sandbox_project.write(FILES)
    applied()
    before = dump(sandbox_instance)
    sandbox_project.write(CHANGED)
    hook = sandbox.options.before_statement = Once(step, act)
    found = apply()
    assert hook.happened
    said(found, 4, "everything was restored", "a plain second run of apply")
    for module in ("MYSQL VARIABLES", "MYSQL SERVERS", "MYSQL QUERY RULES", "MYSQL USERS"):
        assert f"{module}: MEMORY as before, RUNTIME as before, DISK as before" in found.err
    assert dump(sandbox_instance) == before
    assert sandbox_instance.query("SELECT count(*) FROM proxyctl_lock") == [("0",)]
    applied()
    assert plan().code == 0


@pytest.mark.parametrize("start", ["UPDATE mysql_query_rules", "UPDATE mysql_users"])
@pytest.mark.parametrize("hook", ["before_statement", "after_statement"])
@pytest.mark.parametrize("act", [cut, fail])
def test_nothing_is_loaded_when_staging_fails(
    sandbox_project: Project,
    sandbox: Sandbox,
    sandbox_instance: Instance,
    start: str,
    hook: str,
    act: Callable[[], None],
) -> None:
    sandbox_project.write(FILES)
    applied()
    before = dump(sandbox_instance)
    sandbox_project.write(CHANGED)
    once = Once(start, act)
    setattr(sandbox.options, hook, once)
    found = apply()
    assert once.happened
    said(found, 1, "nothing was loaded; MEMORY was put back")
    assert dump(sandbox_instance) == before


def test_a_rule_that_is_dropped_at_load(
    sandbox_project: Project, sandbox: Sandbox, sandbox_instance: Instance
) -> None:
    sandbox_project.write(FILES)
    applied()
    before = dump(sandbox_instance)
    sandbox_project.write(CHANGED)

    def drop() -> None:
        rules = sandbox.runtime["mysql_query_rules"]
        sandbox.runtime["mysql_query_rules"] = [rule for rule in rules if rule["rule_id"] != 20]

    sandbox.options.after_statement = Once("LOAD MYSQL QUERY RULES", drop)
    found = apply()
    said(found, 4, "RUNTIME does not hold what was written", "mysql_query_rules 20", "is missing")
    said(found, 4, "everything was restored")
    assert dump(sandbox_instance) == before


def test_a_value_that_proxysql_silently_refuses(project: Project, instance: Instance) -> None:
    project.write(FILES)
    applied()
    before = dump(instance)
    project.write(CHANGED.replace("variables:\n", "variables:\n  mysql-default_charset: klingon\n"))
    found = apply()
    said(found, 4, "mysql-default_charset", "'klingon'", "'utf8'", "everything was restored")
    assert dump(instance) == before
    machine = apply("--format", "json")
    error = machine.json["error"]
    assert (machine.code, error["type"], error["exit_code"]) == (4, "ApplyError", 4)
    assert len(error["layers"]) == 4
    assert dump(instance) == before


def test_a_restore_that_fails_says_what_each_layer_holds(
    sandbox_project: Project, sandbox: Sandbox, sandbox_instance: Instance
) -> None:
    sandbox_project.write(FILES)
    applied()
    before = dump(sandbox_instance)
    sandbox_project.write(CHANGED)

    def refuse_loads(sql: str) -> None:
        if sql.startswith("LOAD MYSQL QUERY RULES"):
            fail()

    sandbox.options.before_statement = refuse_loads
    found = apply()
    said(found, 4, "restoring failed", "MYSQL QUERY RULES: ", "RUNTIME not known", "DISK as before")
    assert of_layer(dump(sandbox_instance), "DISK") == of_layer(before, "DISK")
    sandbox.options.before_statement = None
    applied("--discard-pending")
    assert plan().code == 0


STAYS, RETURNS = "stays away", "comes back"


@pytest.mark.parametrize(
    ("step", "what", "code", "disk"),
    [
        ("MYSQL QUERY RULES: write MEMORY", RETURNS, 1, "2"),
        ("LOAD MYSQL QUERY RULES TO RUNTIME", RETURNS, 4, "2"),
        ("LOAD MYSQL QUERY RULES TO RUNTIME", STAYS, 4, "2"),
        ("SAVE MYSQL QUERY RULES TO DISK", RETURNS, 4, "2"),
    ],
)
def test_a_proxysql_that_dies_in_the_middle(
    fresh_proxysql: ProxySQL, offline: Project, step: str, what: str, code: int, disk: str
) -> None:
    offline.connect(fresh_proxysql.instance)
    offline.write(FILES)
    applied()
    before = dump(fresh_proxysql.instance)
    offline.write(MANY)
    fresh_proxysql.instance.close()

    def die(text: str) -> None:
        if text == step:
            fresh_proxysql.kill()
            if what == RETURNS:
                fresh_proxysql.start()

    with AdminClient(Login(port=fresh_proxysql.port, password="admin")) as client:
        lock = Lock(client, "apply")
        lock.take(timeout_s=0)
        found = plan_files(client, ParsedFiles(Sources(("proxyctl.yaml",))))
        with pytest.raises(ProxyctlError) as caught:
            apply_plan(client, found, lock, ApplyOptions(progress=die))
    assert caught.value.exit_code == code, caught.value.lines()
    assert "connection was lost" in caught.value.message

    if what == STAYS:
        assert "MYSQL QUERY RULES: MEMORY " in "\n".join(caught.value.lines())
        fresh_proxysql.start()
    rows = fresh_proxysql.instance.query("SELECT count(*) FROM disk.mysql_query_rules")
    assert rows == [(disk,)]
    assert of_layer(dump(fresh_proxysql.instance), "DISK") == of_layer(before, "DISK")
    applied()
    assert plan().code == 0
    assert everywhere(fresh_proxysql.instance, "SELECT count(*) FROM {}mysql_query_rules") == [
        ("2902",)
    ]
