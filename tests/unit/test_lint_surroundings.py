"""Lint, PX5xx: servers, users, variables and families; and every example of PX3xx to PX5xx."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from proxyctl.catalog import Version
from proxyctl.catalog.server_version import version_numbers
from proxyctl.config.project import Sources, load_project
from proxyctl.lint.check import Severity, all_checks
from proxyctl.lint.run import lint as report_on
from proxyctl.lint.subject import Subject
from proxyctl.state.configuration import Configuration, Held
from proxyctl.state.passwords import native_hash
from tests.support.build import layout, rows
from tests.unit.linted import in_file, lint

__all__ = ["lint"]

ROOT = Path(__file__).parents[2]
FOLDERS = sorted(
    {p.parent for d in ("examples", "templates") for p in ROOT.glob(f"{d}/**/*.y*ml*")}
    - {*ROOT.glob("examples/*/.github/workflows")}
)
OURS = sorted(code for code in all_checks() if code >= "PX3")


def subject_of(*paths):
    project = load_project(Sources(tuple(map(str, paths))), takes_dead_rules=True)
    return Subject(project.configuration)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(ROOT)))
def test_examples_and_templates_have_no_error_and_no_warning(folder, monkeypatch):
    for file in folder.glob("*.y*ml*"):
        for name in re.findall(r"\{env: (\w+)\}", file.read_text(encoding="utf-8")):
            monkeypatch.setenv(name, "sesame")
    subject = subject_of(folder)
    checks = [all_checks()[code] for code in OURS]
    bad = [check for check in checks if check.severity is not Severity.NOTE]
    assert [(check.code, found) for check in bad for found in check.find(subject)] == []


GALERA = """
mysql_galera_hostgroups:
  - {writer_hostgroup: 10, backup_writer_hostgroup: 11, reader_hostgroup: 12, offline_hostgroup: 13}
  - {writer_hostgroup: 20, backup_writer_hostgroup: 21, reader_hostgroup: 22, offline_hostgroup: 23}
mysql_servers:
  - {hostgroup_id: 10, hostname: pxc1, weight: 9}
  - {hostgroup_id: 10, hostname: pxc2}
"""


def test_a_node_in_two_clusters(lint):
    assert lint("PX501", GALERA) == []
    assert lint("PX501", GALERA + "  - {hostgroup_id: 10, hostname: pxc3, port: 3307}\n") == []
    (found,) = lint("PX501", GALERA + "  - {hostgroup_id: 22, hostname: pxc2}\n")
    assert found == (
        "22/pxc2/3306: pxc2:3306 is in the Galera families of hostgroup 10 and of hostgroup 20"
    )
    idle = GALERA.replace("offline_hostgroup: 23", "offline_hostgroup: 23, active: false")
    assert lint("PX501", idle + "  - {hostgroup_id: 22, hostname: pxc2}\n") == []


def test_families_of_two_tables_that_share_a_hostgroup(lint):
    other = "mysql_replication_hostgroups: [{writer_hostgroup: %s, reader_hostgroup: %s}]\n"
    assert lint("PX502", GALERA + other % (30, 12)) == [
        "30: hostgroup 12 is in a row of mysql_galera_hostgroups, too"
    ]
    assert lint("PX502", GALERA + other % (30, 31)) == []


def test_families_without_nodes(lint):
    assert lint("PX503", GALERA) == ["20: no server is in its hostgroups"]
    assert lint("PX503", GALERA[: GALERA.index("mysql_servers")]) == []


def test_a_writer_hostgroup_that_nothing_is_sent_to(lint):
    users = "mysql_users: [{username: app, password: {env: APP}, default_hostgroup: 10}]\n"
    served = GALERA + "  - {hostgroup_id: 20, hostname: pxc3}\n"
    assert lint("PX504", served + users) == ["20: hostgroup 20 gets no queries"]
    assert lint("PX504", GALERA + users) == []  # it has no server: PX503
    assert lint("PX504", served) == []
    rule = "mysql_query_rules: [{rule_id: 1, schemaname: a, destination_hostgroup: 20}]\n"
    assert lint("PX504", served + users + rule) == []


def test_families_that_nobody_monitors(lint):
    off = "variables: {mysql-monitor_enabled: false}\n"
    assert lint("PX505", off + GALERA) == [
        "mysql-monitor_enabled: nothing monitors the nodes of mysql_galera_hostgroups"
    ]
    assert lint("PX505", off) == lint("PX505", GALERA) == []


def one_family(nodes=3, **columns):
    cells = "".join(f", {name}: {value}" for name, value in columns.items())
    servers = "".join(f"  - {{hostgroup_id: 1, hostname: n{n}}}\n" for n in range(nodes))
    return (
        "mysql_galera_hostgroups:\n"
        "  - {writer_hostgroup: 1, backup_writer_hostgroup: 2, reader_hostgroup: 3,"
        f" offline_hostgroup: 4{cells}}}\n"
        f"mysql_servers:{' []' * (not nodes)}\n{servers}"
        "mysql_query_rules: [{rule_id: 1, match_digest: '^SELECT', destination_hostgroup: 3}]\n"
    )


def test_the_number_of_writers(lint):
    assert len(lint("PX511", one_family(max_writers=0))) == 1
    assert lint("PX511", one_family()) == lint("PX511", one_family(max_writers=2)) == []


def test_readers_that_stay_empty(lint):
    assert lint("PX513", one_family(writer_is_also_reader=0)) == [
        "1: hostgroup 3 gets queries, but no node: writer_is_also_reader is 0, so only nodes with"
        " read_only=1 are readers"
    ]
    assert lint("PX513", one_family(nodes=1, writer_is_also_reader=2)) == [
        "1: hostgroup 3 gets queries, but no node: max_writers is 1, so none of 1 node is a backup"
    ]
    assert lint("PX513", one_family(writer_is_also_reader=2)) == []
    assert lint("PX513", one_family(nodes=1, writer_is_also_reader=1)) == []
    unused = one_family(writer_is_also_reader=0).replace("destination_hostgroup: 3", "log: 1")
    assert lint("PX513", unused) == []


@pytest.mark.parametrize(
    ("columns", "severity"),
    [
        ("filename: /usr/bin/proxysql_galera_checker, arg1: --write-hg=10", "error"),
        ("filename: /usr/bin/proxysql_galera_checker, arg1: '--config-file=a -w 1'", "warning"),
        ("filename: /var/lib/proxysql/proxysql_galera_checker.sh, arg1: '10', arg2: '12'", "error"),
        ("filename: /bin/sh, arg1: '/opt/galera_check.pl -u=a -H=10:W,12:R'", "error"),
        ("filename: /usr/bin/pxc_scheduler_handler, arg1: --configfile=config.toml", "warning"),
        ("filename: /usr/bin/proxysql_galera_checker, arg1: --write-hg=510", None),
        ("filename: /usr/bin/proxysql_galera_checker, arg1: --write-hg=10, active: false", None),
        ("filename: /usr/bin/backup_users.sh, arg1: '10'", None),
    ],
)
def test_external_schedulers(lint, tmp_path, columns, severity):
    text = GALERA + f"scheduler: [{{id: 1, interval_ms: 3000, {columns}}}]\n"
    subject = in_file(tmp_path, text)
    found = report_on(subject, [all_checks()["PX521"]]).findings
    assert [one.severity for one in found] == ([] if severity is None else [severity])
    assert lint("PX521", text.replace("mysql_galera", "mysql_group_replication")) == []


def test_passwords_in_clear_text(lint):
    users = "mysql_users: [{username: app, password: %s}]\n"
    (found,) = lint("PX531", users % "sesame")
    assert found == "app/1: the password of app is in clear text"
    for password in ("{env: APP}", f"'{native_hash('sesame')}'", "null", "''"):
        assert lint("PX531", users % password) == []


def test_variables_with_a_password(lint):
    (found,) = lint("PX531", "variables: {mysql-monitor_password: sesame}\n")
    assert "sesame" not in found
    assert lint("PX531", "variables: {mysql-monitor_password: {env: APP}}\n") == []
    assert len(lint("PX531", "variables: {admin-admin_credentials: 'a:b'}\n")) == 1


def test_an_instance_is_no_file():
    held = Held(layout("mysql_users"), rows("mysql_users", {"username": "a", "password": "b"}))
    configuration = Configuration(
        Version(2, 7, 1), {"mysql_users": held}, {"mysql-monitor_password": "x"}
    )
    assert list(all_checks()["PX531"].find(Subject(configuration))) == []


def test_logins_that_everybody_knows(lint):
    (found,) = lint("PX532", "variables: {admin-admin_credentials: 'admin:admin;joe:x'}\n")
    assert found.startswith("admin-admin_credentials: the password of admin is well known")
    assert lint("PX532", "variables: {admin-admin_credentials: 'admin:q;joe:x'}\n") == []
    assert lint("PX532", "variables: {admin-refresh_interval: 3000}\n") == []


def test_the_default_monitor(lint):
    family = "mysql_replication_hostgroups: [{writer_hostgroup: 1, reader_hostgroup: 2}]\n"
    some = "variables: {mysql-max_connections: 9%s}\n"
    for user in ("", ", mysql-monitor_username: monitor"):
        assert lint("PX533", family + some % f"{user}, mysql-monitor_password: monitor") == [
            "mysql-monitor_password: the monitor logs in to the backends as monitor, with the"
            " default password"
        ]
    # An import comments the password out: what a file does not name is not known.
    assert lint("PX533", family + some % "") == lint("PX533", family) == []
    assert lint("PX533", family + some % ", mysql-monitor_username: monitor") == []
    assert lint("PX533", family + some % ", mysql-monitor_password: {env: APP}") == []
    other = ", mysql-monitor_username: proxysql, mysql-monitor_password: monitor"
    assert lint("PX533", family + some % other) == []
    assert lint("PX533", some % ", mysql-monitor_password: monitor") == []


def test_users_called_like_an_administrator(lint):
    users = "mysql_users: [{username: %s, password: {env: APP}}]\n"
    logins = "variables: {admin-admin_credentials: 'admin:x;joe:y'}\n"
    assert lint("PX534", logins + users % "joe") == [
        "joe/1: joe is in admin-admin_credentials: the user replaces that login"
    ]
    assert lint("PX534", logins + users % "app") == []
    # An import comments the credentials out: what a file does not name is not known.
    assert lint("PX534", users % "admin") == []


@pytest.mark.parametrize("column", ["active: false", "frontend: 0"])
def test_users_who_do_not_log_in_replace_no_administrator(lint, column):
    user = f"mysql_users: [{{username: admin, password: {{env: APP}}, {column}}}]\n"
    # Nor is it a mistake where the files set the login.
    logins = "variables: {admin-admin_credentials: 'admin:x'}\n"
    assert lint("PX534", user) == lint("PX534", logins + user) == []


def test_the_default_server_version(lint):
    assert lint("PX541", "variables: {mysql-max_connections: 9}\n") == [
        "mysql-server_version: not set: ProxySQL tells clients 8.0.11, whatever the backends are"
    ]
    for text in ("{mysql-server_version: '8.0.36'}", "{admin-refresh_interval: 3000}"):
        assert lint("PX541", f"variables: {text}\n") == []
    assert lint("PX541", "variables: {mysql-server_version: '8.0.11'}\n") == [
        "mysql-server_version: 8.0.11 is ProxySQL's default, whatever the backends are"
    ]
    # An instance that was 2.5 once may still run with the default of then.
    for version in ("8.0.11", "5.5.30"):
        running = Configuration(Version(2, 7, 1), {}, {"mysql-server_version": version})
        [found] = all_checks()["PX541"].find(Subject(running))
        assert found.message.startswith(f"{version} is")
        assert ("an older ProxySQL's" in found.message) is (version == "5.5.30")
        known = Subject(running, backend_versions=[f"{version}-log"])
        assert list(all_checks()["PX541"].find(known)) == []


@pytest.mark.parametrize(
    ("told", "backends", "message"),
    [
        ("8.0.36", ["8.0.36"], None),
        ("8.0.36", [], None),
        ("8.0.30 (ProxySQL)", ["8.0.36-28.1", "8.4.0"], None),
        (
            "8.0.36",
            ["8.4.0", "8.0.30"],
            "ProxySQL tells clients `8.0.36`, and the lowest backend is 8.0.30",
        ),
        ("10.6", ["5.5.5-10.6.12-MariaDB"], "ProxySQL tells clients `10.6`, and a backend is"),
        ("10.6.12-MariaDB", ["5.5.5-10.6.12-MariaDB-log"], None),
        ("8.0.36", ["what"], None),
    ],
)
def test_versions_of_backends(told, backends, message):
    running = Configuration(Version(2, 7, 1), {}, {"mysql-server_version": told})
    subject = Subject(running, backend_versions=backends)
    found = [one.message for one in all_checks()["PX542"].find(subject)]
    assert [one.startswith(message or "") for one in found] == ([] if message is None else [True])


def test_versions_that_clients_cannot_read(lint):
    (found,) = lint("PX543", "variables: {mysql-server_version: MariaDB-10.2.31}\n")
    assert found.startswith("mysql-server_version: `MariaDB-10.2.31` does not begin with a number")
    for version in ("8.0.17 (ProxySQL)", "9.1", "10.5.12-MariaDB-log"):
        assert lint("PX543", f"variables: {{mysql-server_version: '{version}'}}\n") == []


def test_numbers_of_a_version():
    assert version_numbers("8.0.36-28.1") == (8, 0, 36)
    assert version_numbers("5.5.5-10.6.12-MariaDB") == (10, 6, 12)
    assert version_numbers("9.1") == (9, 1, 0)
    assert version_numbers("MariaDB-10") is None


def test_no_time_for_pings(lint):
    none = "variables: {mysql-default_max_latency_ms: 0}\n"
    said = [
        "mysql-default_max_latency_ms: 0 leaves no time for a ping: servers without a"
        " max_latency_ms are never used"
    ]
    server = "mysql_servers: [{hostgroup_id: 1, hostname: db1%s}]\n"
    assert lint("PX551", none) == said
    assert lint("PX551", none + server % "") == said
    assert lint("PX551", none + server % ", max_latency_ms: 500") == []
    assert lint("PX551", "variables: {mysql-default_max_latency_ms: 9}\n") == []
