"""What the doctor finds in facts to which a test brings no instance, subject by subject."""

from __future__ import annotations

from dataclasses import replace

import pytest

from proxyctl.catalog import REFERENCE, Version, parse_version
from proxyctl.doctor.examine import examine
from proxyctl.doctor.facts import Facts, MonitorLog, Protocol, Rule, Server, Use
from proxyctl.doctor.finding import (
    CODES,
    Examination,
    ExaminedFleet,
    Finding,
    duration,
    listed,
)
from proxyctl.instance.backend import NodeAnswer
from proxyctl.instance.members import Checksum, Member, Membership
from proxyctl.lint.check import Severity
from proxyctl.render.doctor import doctor_text
from proxyctl.render.style import Style
from proxyctl.state.families import Family
from tests.docs.pages import ROOT

NOW = 1_800_000_000
DB1, DB2 = ("db1", 3306), ("db2", 3306)
PX1, PX2 = ("px1", 6032), ("px2", 6032)
GALERA = Family("galera", 10, frozenset({10, 20, 30, 40}), offline=40)

HEALTHY = Facts(
    name="px1",
    address="10.0.0.1:6032",
    version_text="2.7.1-sandbox",
    version=REFERENCE,
    now=NOW,
    variables={
        "mysql-monitor_enabled": "true",
        "mysql-monitor_username": "mon",
        "mysql-server_version": "8.0.36",
        "mysql-have_ssl": "true",
        "mysql-query_digests": "true",
        "mysql-connect_timeout_server_max": "10000",
        "admin-cluster_username": "cluster",
        "admin-cluster_password": "secret",
    },
    hostgroup_names={},
    mysql=Protocol(
        "mysql",
        (Server(10, "db1", 3306), Server(20, "db2", 3306)),
        (Use("rule", 20, 1, "5"), Use("user", 10, 1, "app")),
    ),
    pgsql=Protocol("pgsql"),
    families=(),
    rules=(Rule(5, apply=True, matches_digest=True),),
    users_with_tls=(),
    monitor_logs=tuple(
        MonitorLog(log, node, NOW - 5) for log in ("connect", "ping") for node in (DB1, DB2)
    ),
    diffs={},
    answers={node: NodeAnswer(version="8.0.36-28.1", offers_tls=True) for node in (DB1, DB2)},
    versions=dict.fromkeys((DB1, DB2), "8.0.36-28.1"),
    membership=Membership(),
    resident_bytes=None,
    digest_bytes=None,
)


def found(facts: Facts) -> list[tuple[str, str, str]]:
    """Code, where and message of each finding."""
    return [(one.code, one.where, one.message) for one in examine(facts).findings]


def only(facts: Facts) -> tuple[str, str, str]:
    (one,) = found(facts)
    return one


def with_variables(**values: str) -> Facts:
    names = {name.replace("__", "-"): value for name, value in values.items()}
    return replace(HEALTHY, variables={**HEALTHY.variables, **names})


def with_servers(*servers: Server) -> Facts:
    return replace(HEALTHY, mysql=HEALTHY.mysql._replace(servers=servers))


def with_log(log: str, error: str | None, ago_s: int = 5) -> Facts:
    """db1 with this newest line of a log, whose errors began 200 s ago."""
    line = MonitorLog(log, DB1, NOW - ago_s, error, NOW - 200)
    others = (one for one in HEALTHY.monitor_logs if (one.log, one.node) != (log, DB1))
    return replace(HEALTHY, monitor_logs=(line, *others))


def with_versions(told: str, **versions: str) -> Facts:
    known = {(host, 3306): text for host, text in versions.items()}
    return replace(with_variables(mysql__server_version=told), answers={}, versions=known)


def clustered(own: Checksum, seen: Checksum, silent_s: float = 1.0, **variables: str) -> Facts:
    """A member with this checksum of MYSQL USERS, and what it last saw at its peer."""
    listed = (
        Member(PX1, {"mysql_users": own}, 0.5),
        Member(PX2, {"mysql_users": seen}, silent_s if seen.version else None),
    )
    membership = Membership(listed, {"mysql_users": own})
    return replace(with_variables(**variables), membership=membership)


def text_of(one: Examination) -> str:
    return doctor_text(ExaminedFleet([one], ()), is_all=False)


def unknown_host(*nodes: tuple[str, int]) -> Facts:
    logs = (
        MonitorLog("connect", node, NOW - 5, f"Unknown server host '{node[0]}' (-2)", NOW - 200)
        for node in nodes
    )
    return replace(HEALTHY, monitor_logs=tuple(logs))


def not_checked(version: str, *logs: MonitorLog) -> Facts:
    """A replication pair without a reader, at a ProxySQL of this version."""
    facts = replace(with_servers(Server(10, "db1", 3306)), families=(PAIR,))
    known = parse_version(version)
    return replace(facts, version_text=version, version=known, monitor_logs=logs)


def placed_apart() -> Facts:
    """Two members whose monitors have placed the same configured servers otherwise."""
    own = {"mysql_servers": Checksum(5, 1, "A"), "mysql_servers_v2": Checksum(2, 1, "C")}
    seen = {**own, "mysql_servers": Checksum(9, 1, "B")}
    members = (Member(PX1, own, 0.5), Member(PX2, seen, 1.0))
    return replace(HEALTHY, membership=Membership(members, own))


LOST = "Lost connection to server at 'handshake', system error: 110"
DENIED = "Access denied for user 'mon'@'10.0.0.1' (using password: YES)"
ON_1, ON_2 = Server(10, "db1", 3306), Server(20, "db2", 3306)
PAIR = Family("replication", 10, frozenset({10, 20}), reader=20)
SHUNNED_3 = with_servers(ON_1, ON_2, Server(10, "db3", 3306, "SHUNNED"))
TLS_1 = with_servers(ON_1._replace(use_ssl=True), ON_2)
NO_ANSWER = replace(
    HEALTHY, answers={DB1: NodeAnswer(unreachable="timed out")}, versions={DB2: "8.0.36"}
)
NO_TLS = replace(TLS_1, answers={DB1: NodeAnswer(version="8.0.36", offers_tls=False)})
USED_1 = (Use("rule", 10, 1, "5"), Use("user", 10, 1, "app"))
OFF = with_variables(mysql__query_digests="false")
FAST = replace(HEALTHY, mysql=HEALTHY.mysql._replace(uses=(Use("fast-routing row", 10, 200, ""),)))
NEW, OLDER = Checksum(3, NOW - 90, "A"), Checksum(2, NOW - 900, "B")
OWN = Checksum(2, NOW - 900, "A")
USERS_2 = "MYSQL USERS, peer px2:6032"

CASES: dict[str, tuple[Facts, str, str, str]] = {
    # The monitor. A ping uses a connection that was opened before the account was refused.
    "a refused account although pings succeed": (
        with_log("connect", DENIED, ago_s=60),
        "monitor-denied",
        "db1:3306",
        f"the monitor's account 'mon' has been refused for 3 min: {DENIED}",
    ),
    **{
        f"no answer to a {log}": (
            with_log(log, "timeout during ping", ago_s=1),
            "backend-unreachable",
            "db1:3306",
            "not been able to connect for 3 min: timeout during ping",
        )
        for log in ("connect", "ping")
    },
    "one cause is one finding": (
        unknown_host(DB1, DB2),
        "backend-unreachable",
        "2 servers",
        "Unknown server host '...' (-2)",
    ),
    "a lost server and its hostgroup are one finding": (
        replace(
            with_log("ping", "timeout"),
            mysql=HEALTHY.mysql._replace(servers=(ON_1._replace(status="SHUNNED"), ON_2)),
        ),
        "backend-unreachable",
        "db1:3306",
        "timeout; hostgroup 10 has no other server: queries from the default_hostgroup of user app"
        " fail after 10 s",
    ),
    "a check that got no connection, before the next connect check": (
        replace(
            with_log("read_only", f"timeout on creating new connection: {LOST}", ago_s=2),
            mysql=HEALTHY.mysql._replace(servers=(ON_1._replace(status="SHUNNED"), ON_2)),
        ),
        "backend-unreachable",
        "db1:3306",
        f"not been able to connect for 3 min: timeout on creating new connection: {LOST};"
        " hostgroup 10 has no other server",
    ),
    "a failed check": (
        with_log("read_only", "unknown variable"),
        "monitor-check-failed",
        "db1:3306",
        "unknown variable",
    ),
    "a server that takes no new connections may be down": (
        replace(
            with_log("ping", "timeout", ago_s=1),
            mysql=Protocol("mysql", (Server(10, "db1", 3306, max_connections=0),)),
        ),
        "node-drained",
        "db1:3306",
        "takes no new connections: max_connections 0 in hostgroup 10",
    ),
    "a shunned server": (SHUNNED_3, "server-shunned", "db3:3306", ""),
    # Hostgroups.
    "a hostgroup in use without servers": (
        replace(HEALTHY, mysql=HEALTHY.mysql._replace(servers=(), uses=USED_1), answers={}),
        "hostgroup-without-servers",
        "hostgroup 10",
        "queries from rule 5 and the default_hostgroup of user app fail",
    ),
    "a family before its first check": (
        not_checked("3.0.12-0-g1"),
        "family-not-checked",
        "hostgroup 20",
        "first check",
    ),
    "a family in a sandbox": (
        not_checked("2.7.1-sandbox"),
        "family-not-checked",
        "hostgroup 20",
        "sandbox",
    ),
    "a family behind its first check": (
        not_checked("2.7.1-sandbox", MonitorLog("read_only", DB1, NOW - 1)),
        "hostgroup-without-servers",
        "hostgroup 20",
        "the hostgroup has no server, since the monitor has placed db1:3306 in hostgroup 10",
    ),
    # TLS, versions, digests, memory.
    "no TLS where it should be": (NO_TLS, "backend-without-tls", "db1:3306", ""),
    "newer than a server": (
        with_versions("8.4.0", db1="8.0.36", db2="8.4.0"),
        "server-version-differs",
        "mysql-server_version",
        "which is newer than a server",
    ),
    "older than any server": (
        with_versions("5.7.30", db1="8.0.36-28.1"),
        "server-version-differs",
        "mysql-server_version",
        "an older series than any server",
    ),
    "another product": (
        with_versions("8.0.36", db1="5.5.5-10.6.1-MariaDB"),
        "server-version-differs",
        "mysql-server_version",
        "but a server is another product",
    ),
    "a server that did not answer": (
        replace(NO_ANSWER, version_text="3.0.12-0-g1", version=parse_version("3.0.12-0-g1")),
        "server-version-unknown",
        "db1:3306",
        "",
    ),
    "digests are off": (replace(OFF, rules=()), "digests-off", "", ""),
    "many digests": (replace(HEALTHY, digest_bytes=340_000_000), "digests-large", "", ""),
    "much memory": (
        replace(HEALTHY, resident_bytes=4_000_000_000),
        "memory-large",
        "",
        "ProxySQL holds 4.00 GB",
    ),
    # A cluster.
    "a peer that has not taken a change over": (
        clustered(NEW, OLDER),
        "peer-differs",
        USERS_2,
        "it answers, but has not",
    ),
    "members that never loaded": (
        clustered(Checksum(1, NOW - 900, "A"), Checksum(1, NOW - 800, "B")),
        "peer-differs",
        USERS_2,
        "neither member had",
    ),
    "a module that is not synchronised": (
        clustered(NEW, OLDER, admin__cluster_mysql_users_diffs_before_sync="0"),
        "peer-not-synchronised",
        USERS_2,
        "",
    ),
    "a peer that never answered": (
        clustered(OWN, Checksum(0, 0, "")),
        "peer-silent",
        "peer px2:6032",
        "it has never answered this member",
    ),
    "a peer that is silent": (
        clustered(OWN, OLDER, silent_s=240),
        "peer-silent",
        "peer px2:6032",
        "it has not answered for 240 s",
    ),
    "no account for peers": (
        clustered(OWN, OWN, admin__cluster_username=""),
        "cluster-no-account",
        "",
        "",
    ),
    # Known defects that touch the configuration.
    "RE2 replaces by case": (
        replace(with_variables(mysql__query_processor_regex="2"), rules=(Rule(3, replaces=True),)),
        "re2-replaces-by-case",
        "",
        "",
    ),
    "maintenance is not seen": (
        replace(with_versions("9.1.0", db1="9.1.0", db2="9.1.0"), families=(GALERA,)),
        "maintenance-not-seen",
        "",
        "",
    ),
}
"""The facts, the code of the one finding, where it is, and words of its message ("": any)."""


@pytest.mark.parametrize("case", CASES)
def test_what_is_found(case: str) -> None:
    facts, code, where, words = CASES[case]
    found_code, found_where, message = only(facts)
    assert (found_code, found_where) == (code, where or found_where)
    assert words in message


NOTHING = {
    "nothing is wrong": HEALTHY,
    "a later ping": with_log("connect", "Can't connect to MySQL server", ago_s=30),
    "the failed check is no longer made": with_log("read_only", "unknown variable", ago_s=900),
    "the shunned server serves elsewhere": with_servers(
        *SHUNNED_3.mysql.servers, Server(30, "db3", 3306)
    ),
    "a server of a sandbox that did not answer": NO_ANSWER,
    "nobody asked for TLS": replace(NO_TLS, answers={}),
    "the version of a server": with_versions("8.0.36", db1="8.0.36-28.1", db2="8.4.0"),
    "an older patch": with_versions("8.0.30", db1="8.0.36-28.1", db2="8.4.0"),
    "a change that is still on its way": clustered(Checksum(3, NOW - 20, "A"), OLDER),
    "nodes that each monitor places": placed_apart(),
    "a defect that is mended": replace(HEALTHY, version=Version(2, 5, 2)),
    "a defect that the rules do not meet": replace(FAST, rules=(Rule(1, apply=True), Rule(9))),
}


@pytest.mark.parametrize("case", NOTHING)
def test_what_is_no_finding(case: str) -> None:
    text = text_of(examine(NOTHING[case]))
    assert text == "px1  10.0.0.1:6032  ProxySQL 2.7.1-sandbox: nothing is wrong\n"


@pytest.mark.parametrize(
    ("server", "why"),
    [
        (Server(20, "db2", 3306, "SHUNNED"), "db2:3306 is SHUNNED"),
        (Server(20, "db2", 3306, weight=0), "db2:3306 has weight 0"),
        (Server(20, "db2", 3306, max_connections=0), "db2:3306 has max_connections 0"),
        (Server(30, "db2", 3306), "the hostgroup has no server at RUNTIME"),
    ],
)
def test_a_hostgroup_without_a_usable_server_is_an_error(server: Server, why: str) -> None:
    findings = examine(with_servers(ON_1, server)).findings
    (error,) = (one for one in findings if one.severity is Severity.ERROR)
    assert (error.code, error.where) == ("hostgroup-without-servers", "hostgroup 20")
    assert error.message == f"queries from rule 5 fail after 10 s: {why}"


def test_the_proposed_version_is_the_lowest_one() -> None:
    (one,) = examine(with_versions("x", db1="10.6.1-MariaDB-log", db2="11.4.2-MariaDB")).findings
    assert one.code == "server-version-unreadable"
    assert one.fix == 'variables: {mysql-server_version: "10.6.1-MariaDB"}'


# -- the release -----------------------------------------------------------------------------------


def of_release(text: str) -> Facts:
    return replace(HEALTHY, version_text=text, version=parse_version(text))


@pytest.mark.parametrize(
    ("text", "holes"),
    [
        ("2.7.1-16-g2726c27", ["CVE-2026-48772", "CVE-2026-48773", "fixed in 3.0.9", "3.0.12"]),
        ("3.0.11-0-g1", ["eight advisories, fixed in 3.0.12"]),
        ("3.1.11-0-g1", ["eight advisories, fixed in 3.1.12"]),
    ],
)
def test_one_finding_names_all_security_fixes_that_a_release_lacks(
    text: str, holes: list[str]
) -> None:
    (code, where, message), *_ = found(of_release(text))
    assert (code, where) == ("security-fixes-missing", "ProxySQL")
    assert all(hole in message for hole in holes)
    assert ("CVE" in message) == text.startswith("2.7.1")


def test_the_newest_known_release_lacks_nothing() -> None:
    assert found(of_release("3.0.12-0-ge2f317a")) == []


@pytest.mark.parametrize("text", ["3.0.14", "3.1.12", "4.0.12"])
def test_a_release_that_has_more_than_what_is_known(text: str) -> None:
    code, _, message = only(of_release(text))
    assert code == "release-unknown"
    told = " is newer than 3.0.12" if text == "3.0.14" else " tier) is 3.0.12 with additions"
    assert message.startswith(text)
    assert told in message


# -- what holds for all ----------------------------------------------------------------------------


def test_errors_come_first_and_ignored_findings_are_counted() -> None:
    facts = replace(FAST, resident_bytes=4_000_000_000, digest_bytes=340_000_000)
    one = examine(facts)
    assert [finding.severity for finding in one.findings] == list(Severity)
    left = examine(facts, {"fast-routing-skipped"})
    assert (left.ignored, left.worst) == (1, Severity.WARNING)
    assert (left.exit_code(strict=False), left.exit_code(strict=True)) == (0, 1)
    assert text_of(left).endswith("\n1 warning, 1 note, 1 ignored.\n")


def test_an_error_of_a_server_cannot_move_the_cursor() -> None:
    text = text_of(examine(with_log("connect", "Access denied \x1b[2J")))
    assert "Access denied \\x1b[2J" in text


def test_many_servers_are_counted_in_the_heading_and_named_below() -> None:
    nodes = [(f"db{number}.a-zone-with-a-long-name.example.com", 3306) for number in range(30)]
    finding = Finding.of_servers("server-shunned", nodes, "takes no queries", "wait")
    page = replace(examine(HEALTHY), findings=(finding,))
    text = doctor_text(ExaminedFleet([page], []), Style(width=80), is_all=False)
    assert "\n30 servers: server-shunned [warning] takes no queries\n  db0.a-zone" in text
    assert "and 10 more\n  fix: wait" in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_memory_is_said_when_it_is_asked_for() -> None:
    page = examine(replace(HEALTHY, digest_bytes=12_345))
    text = doctor_text(ExaminedFleet([page], []), is_all=False)
    assert text.endswith(": nothing is wrong; digests take 12.3 kB\n")


def test_every_code_is_on_the_page() -> None:
    page = (ROOT / "docs" / "how-to" / "doctor.md").read_text("utf-8")
    for name, code in CODES.items():
        assert f"| `{name}` | {code.severity} | {code.summary} |" in page


def test_lists_and_times() -> None:
    assert listed(range(5)) == "0, 1, 2, 3, 4"
    assert listed(range(9)) == "0, 1, 2, 3 and 5 more"
    assert [duration(s) for s in (0, 59, 60, 7_300)] == ["0 s", "59 s", "1 min", "2 h"]
