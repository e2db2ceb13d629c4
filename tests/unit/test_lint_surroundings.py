"""Lint, PX5xx: servers, users, variables and families; and every example of PX3xx to PX5xx."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from proxyctl.catalog import Version
from proxyctl.catalog.releases import version_numbers
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


def with_node(hostgroup, name, port=3306, families=GALERA):
    return f"{families}  - {{hostgroup_id: {hostgroup}, hostname: {name}, port: {port}}}\n"


def user(password="{env: APP}", name="app", **cells):
    more = "".join(f", {column}: {value}" for column, value in cells.items())
    return f"mysql_users: [{{username: {name}, password: {password}{more}}}]\n"


def setting(**values):
    named = ", ".join(f"{name.replace('__', '-')}: {text}" for name, text in values.items())
    return f"variables: {{{named}}}\n"


OF_GALERA_ONLY = GALERA[: GALERA.index("mysql_servers")]
IDLE = GALERA.replace("offline_hostgroup: 23", "offline_hostgroup: 23, active: false")
PAIR = "mysql_replication_hostgroups: [{writer_hostgroup: %s, reader_hostgroup: %s}]\n"
MONITOR_OFF = setting(mysql__monitor_enabled="false")
SERVED = with_node(20, "pxc3")
AT_10 = user(default_hostgroup=10)
RULE_TO_20 = "mysql_query_rules: [{rule_id: 1, schemaname: a, destination_hostgroup: 20}]\n"
UNUSED = one_family(writer_is_also_reader=0).replace("destination_hostgroup: 3", "log: 1")
LOGINS = setting(admin__admin_credentials="'admin:x;joe:y'")
NO_LATENCY = setting(mysql__default_max_latency_ms=0)
SERVER = "mysql_servers: [{hostgroup_id: 1, hostname: db1%s}]\n"
NO_TIME = (
    "mysql-default_max_latency_ms: 0 leaves no time for a ping: servers without a max_latency_ms"
    " are never used"
)
NO_NODE = "1: hostgroup 3 gets queries, but no node: "
DEFAULT = "mysql-monitor_password: the monitor logs in to the backends as monitor, with the default"

FOUND = [
    (
        "PX501",
        with_node(22, "pxc2"),
        "22/pxc2/3306: pxc2:3306 is in the Galera families of hostgroup 10 and of hostgroup 20",
    ),
    (
        "PX502",
        GALERA + PAIR % (30, 12),
        "30: hostgroup 12 is in a row of mysql_galera_hostgroups, too",
    ),
    ("PX503", GALERA, "20: no server is in its hostgroups"),
    ("PX504", SERVED + AT_10, "20: hostgroup 20 gets no queries"),
    (
        "PX505",
        MONITOR_OFF + GALERA,
        "mysql-monitor_enabled: nothing monitors the nodes of mysql_galera_hostgroups",
    ),
    ("PX511", one_family(max_writers=0, writer_is_also_reader=1), ""),
    (
        "PX511",
        one_family(writer_is_also_reader=0),
        f"{NO_NODE}writer_is_also_reader is 0, so only nodes with read_only=1 are readers",
    ),
    (
        "PX511",
        one_family(nodes=1, writer_is_also_reader=2),
        f"{NO_NODE}max_writers is 1, so none of 1 node is a backup",
    ),
    ("PX531", user("sesame"), "app/1: the password of app is in clear text"),
    ("PX531", setting(mysql__monitor_password="sesame"), ""),
    ("PX531", setting(admin__admin_credentials="'a:b'"), ""),
    (
        "PX532",
        setting(admin__admin_credentials="'admin:admin;joe:x'"),
        "admin-admin_credentials: the password of admin is well known",
    ),
    ("PX532", PAIR % (1, 2) + setting(mysql__monitor_password="monitor"), DEFAULT),
    (
        "PX532",
        PAIR % (1, 2)
        + setting(mysql__monitor_username="monitor", mysql__monitor_password="monitor"),
        DEFAULT,
    ),
    (
        "PX534",
        LOGINS + user(name="joe"),
        "joe/1: joe is in admin-admin_credentials: the user replaces that login",
    ),
    (
        "PX541",
        setting(mysql__server_version="MariaDB-10.2.31"),
        "mysql-server_version: `MariaDB-10.2.31` does not begin with a number",
    ),
    ("PX551", NO_LATENCY, NO_TIME),
    ("PX551", NO_LATENCY + SERVER % "", NO_TIME),
]
"""A check, a file, and how the one finding begins."""


@pytest.mark.parametrize(("code", "text", "beginning"), FOUND, ids=lambda given: str(given)[:50])
def test_a_mistake_is_found(lint, code, text, beginning):
    (found,) = lint(code, text)
    assert found.startswith(beginning)
    assert "sesame" not in found


CLEAN = [
    ("PX501", GALERA),
    ("PX501", with_node(10, "pxc3", 3307)),
    ("PX501", with_node(22, "pxc2", families=IDLE)),
    ("PX502", GALERA + PAIR % (30, 31)),
    ("PX503", OF_GALERA_ONLY),
    ("PX504", GALERA + AT_10),  # it has no server: PX503
    ("PX504", SERVED),
    ("PX504", SERVED + AT_10 + RULE_TO_20),
    ("PX505", MONITOR_OFF),
    ("PX505", GALERA),
    ("PX511", one_family(writer_is_also_reader=1)),
    ("PX511", one_family(max_writers=2, writer_is_also_reader=1)),
    ("PX511", one_family(writer_is_also_reader=2)),
    ("PX511", one_family(nodes=1, writer_is_also_reader=1)),
    ("PX511", UNUSED),
    *(
        ("PX531", user(password))
        for password in ("{env: APP}", f"'{native_hash('sesame')}'", "null", "''")
    ),
    ("PX531", setting(mysql__monitor_password="{env: APP}")),
    ("PX532", setting(admin__admin_credentials="'admin:q;joe:x'")),
    ("PX532", setting(admin__refresh_interval=3000)),
    # An import comments passwords out: what a file does not name is not known.
    ("PX532", PAIR % (1, 2)),
    ("PX532", PAIR % (1, 2) + setting(mysql__max_connections=9)),
    ("PX532", PAIR % (1, 2) + setting(mysql__monitor_username="monitor")),
    ("PX532", PAIR % (1, 2) + setting(mysql__monitor_password="{env: APP}")),
    (
        "PX532",
        PAIR % (1, 2) + setting(mysql__monitor_username="p", mysql__monitor_password="monitor"),
    ),
    ("PX532", setting(mysql__monitor_password="monitor")),
    ("PX534", LOGINS + user()),
    ("PX534", user(name="admin")),
    # Users who do not log in replace no administrator.
    *(
        ("PX534", text + user(name="admin", **off))
        for text in ("", LOGINS)
        for off in ({"active": "false"}, {"frontend": 0})
    ),
    *(
        ("PX541", setting(mysql__server_version=f"'{version}'"))
        for version in ("8.0.17 (ProxySQL)", "9.1", "10.5.12-MariaDB-log")
    ),
    ("PX551", NO_LATENCY + SERVER % ", max_latency_ms: 500"),
    ("PX551", setting(mysql__default_max_latency_ms=9)),
]


@pytest.mark.parametrize(("code", "text"), CLEAN, ids=lambda given: str(given)[:50])
def test_what_is_right_is_left_alone(lint, code, text):
    assert lint(code, text) == []


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


def test_an_instance_is_no_file():
    held = Held(layout("mysql_users"), rows("mysql_users", {"username": "a", "password": "b"}))
    configuration = Configuration(
        Version(2, 7, 1), {"mysql_users": held}, {"mysql-monitor_password": "x"}
    )
    assert list(all_checks()["PX531"].find(Subject(configuration))) == []


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
    found = [one.message for one in all_checks()["PX541"].find(subject)]
    assert [one.startswith(message or "") for one in found] == ([] if message is None else [True])


def test_numbers_of_a_version():
    assert version_numbers("8.0.36-28.1") == (8, 0, 36)
    assert version_numbers("5.5.5-10.6.12-MariaDB") == (10, 6, 12)
    assert version_numbers("9.1") == (9, 1, 0)
    assert version_numbers("MariaDB-10") is None
