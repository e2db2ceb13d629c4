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
    Severity,
    duration,
    listed,
)
from proxyctl.instance.backend import NodeAnswer
from proxyctl.instance.members import Checksum, Member, Membership
from proxyctl.render.doctor import doctor_text
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


def test_a_healthy_instance_has_no_finding() -> None:
    text = text_of(examine(HEALTHY))
    assert text == "px1  10.0.0.1:6032  ProxySQL 2.7.1-sandbox: nothing is wrong\n"


# -- monitor ---------------------------------------------------------------------------------------

DENIED = "Access denied for user 'mon'@'10.0.0.1' (using password: YES)"


def test_a_refused_account_is_reported_although_pings_succeed() -> None:
    """A ping uses a connection that was opened before the account was refused."""
    assert only(with_log("connect", DENIED, ago_s=60)) == (
        "monitor-denied",
        "db1:3306",
        f"access denied to the monitor's account 'mon' for 3 min: {DENIED}",
    )


@pytest.mark.parametrize("log", ["connect", "ping"])
def test_a_server_that_does_not_answer(log: str) -> None:
    code, where, message = only(with_log(log, "timeout during ping", ago_s=1))
    assert (code, where) == ("backend-unreachable", "db1:3306")
    assert message.endswith("no connection for 3 min: timeout during ping")


def test_a_failed_connection_is_over_with_a_later_ping() -> None:
    assert found(with_log("connect", "Can't connect to MySQL server", ago_s=30)) == []


def test_a_failed_check_is_over_when_it_is_no_longer_made() -> None:
    assert only(with_log("read_only", "unknown variable"))[0] == "monitor-check-failed"
    assert found(with_log("read_only", "unknown variable", ago_s=900)) == []


def test_a_server_that_is_out_of_service_may_be_down() -> None:
    facts = replace(
        with_log("ping", "timeout", ago_s=1),
        mysql=Protocol("mysql", (Server(10, "db1", 3306, max_connections=0),)),
    )
    assert only(facts) == (
        "node-drained",
        "db1:3306",
        "takes no new connections: max_connections 0 in hostgroup 10",
    )


def test_a_shunned_server_beside_one_that_serves() -> None:
    shunned = with_servers(*HEALTHY.mysql.servers, Server(10, "db3", 3306, "SHUNNED"))
    assert only(shunned)[:2] == ("server-shunned", "db3:3306")
    online = Server(30, "db3", 3306)
    assert found(with_servers(*shunned.mysql.servers, online)) == []


# -- hostgroups ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("server", "why"),
    [
        (Server(20, "db2", 3306, "SHUNNED"), "db2:3306 is SHUNNED"),
        (Server(20, "db2", 3306, weight=0), "db2:3306 has weight 0"),
        (Server(20, "db2", 3306, max_connections=0), "db2:3306 has max_connections 0"),
        (Server(30, "db2", 3306), "the hostgroup has no server at RUNTIME"),
    ],
)
def test_a_hostgroup_without_a_usable_server(server: Server, why: str) -> None:
    (error,) = (
        one
        for one in examine(with_servers(Server(10, "db1", 3306), server)).findings
        if one.severity is Severity.ERROR
    )
    assert (error.code, error.where) == ("hostgroup-without-servers", "hostgroup 20")
    assert error.message == f"queries of rule 5 fail after 10 s: {why}"


PAIR = Family("replication", 10, frozenset({10, 20}), reader=20)


@pytest.mark.parametrize(
    ("version", "words"), [("3.0.12-0-g1", "first check"), ("2.7.1-sandbox", "sandbox")]
)
def test_a_family_that_the_monitor_has_not_checked_yet_may_be_empty(
    version: str, words: str
) -> None:
    facts = replace(with_servers(Server(10, "db1", 3306)), families=(PAIR,))
    facts = replace(facts, version_text=version, version=parse_version(version))
    code, where, message = only(facts)
    assert (code, where) == ("family-not-checked", "hostgroup 20")
    assert words in message
    checked = replace(facts, monitor_logs=(MonitorLog("read_only", DB1, NOW - 1),))
    assert only(checked)[0] == "hostgroup-without-servers"


def test_one_hostgroup_without_servers_is_one_finding() -> None:
    code, where, message = only(with_servers(Server(30, "db2", 3306), Server(20, "db2", 3306)))
    assert (code, where) == ("users-without-servers", "hostgroup 10")
    uses = (Use("rule", 10, 1, "5"), Use("user", 10, 1, "app"))
    both = replace(HEALTHY, mysql=HEALTHY.mysql._replace(servers=(), uses=uses), answers={})
    code, where, message = only(both)
    assert (code, where) == ("hostgroup-without-servers", "hostgroup 10")
    assert "rule 5 and user app that no rule routes fail" in message


def test_one_cause_is_one_finding_with_its_servers() -> None:
    lost = tuple(
        MonitorLog("connect", node, NOW - 5, f"Unknown server host '{node[0]}' (-2)", NOW - 200)
        for node in (DB1, DB2)
    )
    code, where, message = only(replace(HEALTHY, monitor_logs=lost))
    assert (code, where) == ("backend-unreachable", "db1:3306, db2:3306")
    assert message.endswith("Unknown server host '...' (-2)")


# -- TLS, versions, digests, memory ----------------------------------------------------------------


def test_a_server_without_tls_that_should_have_it() -> None:
    facts = replace(
        with_servers(Server(10, "db1", 3306, use_ssl=True), Server(20, "db2", 3306)),
        answers={DB1: NodeAnswer(version="8.0.36", offers_tls=False)},
    )
    assert only(facts)[:2] == ("backend-without-tls", "db1:3306")
    assert found(replace(facts, answers={})) == []


@pytest.mark.parametrize(
    ("told", "versions", "words"),
    [
        ("8.4.0", {"db1": "8.0.36", "db2": "8.4.0"}, "which is newer than a server"),
        ("5.7.30", {"db1": "8.0.36-28.1"}, "an older series than any server"),
        ("8.0.36", {"db1": "5.5.5-10.6.1-MariaDB"}, "but a server is another product"),
    ],
)
def test_a_version_that_does_not_fit(told: str, versions: dict[str, str], words: str) -> None:
    code, _, message = only(with_versions(told, **versions))
    assert code == "server-version-differs"
    assert words in message


@pytest.mark.parametrize("told", ["8.0.36", "8.0.30"])
def test_a_version_that_fits(told: str) -> None:
    assert found(with_versions(told, db1="8.0.36-28.1", db2="8.4.0")) == []


def test_the_proposed_version_is_the_lowest_one() -> None:
    (one,) = examine(with_versions("x", db1="10.6.1-MariaDB-log", db2="11.4.2-MariaDB")).findings
    assert one.code == "server-version-unreadable"
    assert one.fix == 'variables: {mysql-server_version: "10.6.1-MariaDB"}'


def test_a_server_that_was_asked_and_did_not_answer() -> None:
    refused = replace(
        HEALTHY, answers={DB1: NodeAnswer(unreachable="timed out")}, versions={DB2: "8.0.36"}
    )
    assert only(refused)[:2] == ("server-version-unknown", "db1:3306")


def test_digests_and_memory() -> None:
    off = with_variables(mysql__query_digests="false")
    assert only(off)[0] == "digests-off-with-rules"
    assert only(replace(off, rules=()))[0] == "digests-off"
    assert only(replace(HEALTHY, digest_bytes=340_000_000))[0] == "digests-large"
    assert only(replace(HEALTHY, resident_bytes=4_000_000_000))[2] == "ProxySQL holds 4.00 GB"


# -- cluster ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("own", "seen", "words"),
    [
        (
            Checksum(3, NOW - 90, "A"),
            Checksum(2, NOW - 900, "B"),
            "it answers, but has not",
        ),
        (
            Checksum(3, NOW - 900, "A"),
            Checksum(2, NOW - 90, "B"),
            "it loaded other content later",
        ),
        (
            Checksum(2, NOW - 900, "A"),
            Checksum(3, NOW - 900, "B"),
            "it loaded other content in the same",
        ),
        (
            Checksum(1, NOW - 900, "A"),
            Checksum(1, NOW - 800, "B"),
            "neither member had",
        ),
    ],
)
def test_a_peer_that_differs(own: Checksum, seen: Checksum, words: str) -> None:
    code, where, message = only(clustered(own, seen))
    assert (code, where) == ("peer-differs", "MYSQL USERS, peer px2:6032")
    assert words in message


def test_a_change_may_take_half_a_minute_to_travel() -> None:
    late, old = Checksum(3, NOW - 20, "A"), Checksum(2, NOW - 900, "B")
    assert found(clustered(late, old)) == []


def test_a_module_that_is_not_synchronised() -> None:
    off = {"admin__cluster_mysql_users_diffs_before_sync": "0"}
    facts = clustered(Checksum(3, NOW - 90, "A"), Checksum(2, NOW - 900, "B"), **off)
    assert only(facts)[0] == "peer-not-synchronised"


def test_a_peer_that_does_not_answer() -> None:
    own = Checksum(2, NOW - 900, "A")
    silent = clustered(own, Checksum(0, 0, ""))
    assert only(silent) == ("peer-silent", "peer px2:6032", "it has never answered this member")
    lost = clustered(own, Checksum(2, NOW - 900, "B"), silent_s=240)
    assert only(lost) == ("peer-silent", "peer px2:6032", "it has not answered for 240 s")
    assert only(clustered(own, own, admin__cluster_username=""))[0] == "cluster-no-account"


def test_nodes_that_each_monitor_places_do_not_differ() -> None:
    own = {"mysql_servers": Checksum(5, 1, "A"), "mysql_servers_v2": Checksum(2, 1, "C")}
    seen = {**own, "mysql_servers": Checksum(9, 1, "B")}
    listed = (Member(PX1, own, 0.5), Member(PX2, seen, 1.0))
    placed = replace(HEALTHY, membership=Membership(listed, own))
    assert found(placed) == []


# -- known defects ---------------------------------------------------------------------------------

FAST = replace(HEALTHY, mysql=HEALTHY.mysql._replace(uses=(Use("fast-routing row", 10, 200, ""),)))


@pytest.mark.parametrize(
    ("facts", "code"),
    [
        (FAST, "fast-routing-skipped"),
        (
            replace(
                with_variables(mysql__query_processor_regex="2"),
                rules=(Rule(3, replaces=True),),
            ),
            "re2-replaces-by-case",
        ),
        (replace(HEALTHY, version=Version(2, 5, 1)), "digests-stall-queries"),
        (
            replace(with_versions("9.1.0", db1="9.1.0", db2="9.1.0"), families=(GALERA,)),
            "maintenance-not-seen",
        ),
    ],
)
def test_a_known_defect_that_touches_the_configuration(facts: Facts, code: str) -> None:
    assert only(facts)[0] == code


def test_a_defect_of_other_versions_or_other_rules_is_not_reported() -> None:
    assert found(replace(HEALTHY, version=Version(2, 5, 2))) == []
    assert found(replace(FAST, rules=(Rule(1, apply=True), Rule(9)))) == []


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


def test_every_code_is_on_the_page() -> None:
    page = (ROOT / "docs" / "how-to" / "doctor.md").read_text("utf-8")
    for name, code in CODES.items():
        assert f"| `{name}` | {code.severity} | {code.summary} |" in page


def test_lists_and_times() -> None:
    assert listed(range(5)) == "0, 1, 2, 3, 4"
    assert listed(range(9)) == "0, 1, 2, 3 and 5 more"
    assert [duration(s) for s in (0, 59, 60, 7_300)] == ["0 s", "59 s", "1 min", "2 h"]
