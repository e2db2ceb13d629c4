"""What the doctor finds, from the rows that it is given."""

from __future__ import annotations

from dataclasses import replace

import pytest

from proxyctl.catalog import REFERENCE, Version
from proxyctl.doctor.examination import KINDS, all_checks, examine
from proxyctl.doctor.facts import (
    Checksum,
    Facts,
    MonitorLog,
    PeerChecksum,
    Rule,
    Server,
    Side,
    User,
)
from proxyctl.doctor.finding import Severity
from proxyctl.doctor.wording import lasting, listed
from proxyctl.drains import Drain
from proxyctl.families import Family
from proxyctl.nodes.model import Said
from proxyctl.render.doctor_machine import doctor_json
from proxyctl.render.doctor_text import doctor_text
from proxyctl.survey import TableSurvey
from tests.build import layout, rows, survey
from tests.docs.pages import ROOT

NOW = 1_800_000_000
DB1, DB2 = ("db1", 3306), ("db2", 3306)
HEALTHY = Facts(
    name="px1",
    address="10.0.0.1:6032",
    version_text="2.7.1",
    version=REFERENCE,
    now=NOW,
    variables={
        "mysql-monitor_enabled": "true",
        "mysql-monitor_username": "mon",
        "mysql-monitor_history": "7200000",
        "mysql-server_version": "8.0.36",
        "mysql-have_ssl": "true",
        "mysql-query_digests": "true",
        "mysql-connect_timeout_server_max": "10000",
        "admin-cluster_username": "cluster",
        "admin-cluster_password": "secret",
    },
    servers=(Server(10, "db1", 3306), Server(20, "db2", 3306)),
    rules=(Rule(5, 20, apply=True, matches_digest=True),),
    users=(User("app", 10),),
    monitor_logs=tuple(
        MonitorLog(log, node, NOW - 5) for log in ("connect", "ping") for node in (DB1, DB2)
    ),
    said={node: Said(version="8.0.36-28.1", offers_tls=True) for node in (DB1, DB2)},
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


def said(**versions: str) -> dict[tuple[str, int], Said]:
    return {(host, 3306): Said(version=text, offers_tls=True) for host, text in versions.items()}


def test_nothing_is_said_of_a_healthy_one() -> None:
    assert found(HEALTHY) == []
    text = doctor_text(examine(HEALTHY))
    assert text == "px1  10.0.0.1:6032  ProxySQL 2.7.1: nothing is wrong\n"


# -- versions -------------------------------------------------------------------------------------


def test_a_version_above_the_lowest_server() -> None:
    facts = replace(HEALTHY, said=said(db1="8.0.36-28.1", db2="8.0.30"))
    code, _, message = only(facts)
    assert code == "server-version-above"
    assert message.startswith("clients are told 8.0.36, and db2:3306 is 8.0.30: ")
    assert examine(facts).findings[0].way_out == 'variables: {mysql-server_version: "8.0.30"}'


def test_an_old_default_below_the_servers_loses_fractions_of_seconds() -> None:
    code, _, message = only(with_variables(**{"mysql__server_version": "5.5.30"}))
    assert code == "server-version-below"
    assert "fractions of seconds" in message
    # The present default of another patch release does no harm.
    assert found(with_variables(**{"mysql__server_version": "8.0.11"})) == []


def test_another_product() -> None:
    facts = replace(HEALTHY, said=said(db1="10.11.6-MariaDB-log", db2="10.11.6-MariaDB-log"))
    code, _, message = only(facts)
    assert code == "server-version-product"
    assert "db1:3306, db2:3306 are 10.11.6-MariaDB-log" in message
    (finding,) = examine(facts).findings
    assert finding.way_out == 'variables: {mysql-server_version: "10.11.6-MariaDB"}'


def test_several_series_are_explained_by_hostgroup() -> None:
    facts = replace(HEALTHY, said=said(db1="8.0.36", db2="8.4.3"))
    code, _, message = only(facts)
    assert code == "server-versions-differ"
    assert "(8.0.36 in 10; 8.4.3 in 20)" in message


def test_where_the_monitor_has_placed_nodes_changes_no_words() -> None:
    """Instances in front of the same servers have the same findings, whoever writes now."""
    other = tuple(one._replace(hostgroup=30 - one.hostgroup) for one in HEALTHY.servers)
    old = replace(HEALTHY, said=said(db2="8.0.30", db1="8.0.30"))
    assert found(old) == found(replace(old, said=said(db1="8.0.30", db2="8.0.30"), servers=other))


def test_a_version_that_is_none() -> None:
    facts = with_variables(**{"mysql__server_version": "MariaDB-10.6"})
    assert "server-version-unreadable" in [code for code, _, _ in found(facts)]


def test_open_connections_know_the_version_of_a_server_that_is_out_of_reach() -> None:
    away = {**said(db1="8.0.36"), DB2: Said(unreachable="timed out")}
    assert only(replace(HEALTHY, said=away))[:2] == ("server-version-unknown", "db2:3306")
    known = replace(HEALTHY, said=away, pooled_versions={DB2: "8.0.30"})
    assert only(known)[0] == "server-version-above"
    assert found(replace(HEALTHY, said={}, asks=False)) == []


# -- the monitor ----------------------------------------------------------------------------------

DENIED = "Access denied for user 'mon'@'10.0.0.1' (using password: YES)"


def failing(log: str, error: str, node: tuple[str, int] = DB1, ago: int = 5) -> MonitorLog:
    return MonitorLog(log, node, NOW - ago, error, NOW - 200)


def with_logs(*logs: MonitorLog) -> Facts:
    names = {(one.log, one.node) for one in logs}
    others = (one for one in HEALTHY.monitor_logs if (one.log, one.node) not in names)
    return replace(HEALTHY, monitor_logs=(*logs, *others))


def test_a_refused_account_names_all_servers_that_refuse_it() -> None:
    both = [failing(log, DENIED, node) for node in (DB1, DB2) for log in ("connect", "ping")]
    code, where, message = only(with_logs(*both))
    assert (code, where) == ("monitor-denied", "db1:3306, db2:3306")
    assert message == f"the monitor's account 'mon' is refused for 3 min: {DENIED}"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("Can't connect to server on 'db1' (115)", "no connection for 3 min: Can't connect"),
        ("Lost connection to server at 'handshake', system error: 110", "no answer in time for"),
        ("timeout during connect", "no answer in time for 3 min: timeout"),
    ],
)
def test_no_answer_is_told_from_a_refusal(error: str, words: str) -> None:
    code, _, message = only(with_logs(failing("connect", error), failing("ping", error)))
    assert code == "backend-unreachable"
    assert words in message


def test_a_connection_that_failed_before_a_later_ping_is_old_news() -> None:
    lost = "Can't connect to server on 'db1' (115)"
    assert found(with_logs(failing("connect", lost, ago=50))) == []
    # A ping may use a connection from the time when the account was still let in.
    assert only(with_logs(failing("connect", DENIED, ago=50)))[0] == "monitor-denied"


def test_a_check_that_fails_on_a_connection_that_works() -> None:
    code, where, message = only(with_logs(failing("read_only", "SELECT command denied")))
    assert (code, where) == ("monitor-check-failed", "db1:3306")
    assert "check of read only fails for 3 min" in message
    lost = failing("ping", "Can't connect"), failing("connect", "Can't connect")
    codes = [code for code, *_ in found(with_logs(*lost, failing("read_only", "no connection")))]
    assert codes == ["backend-unreachable"]


def test_a_server_out_of_service_may_be_down() -> None:
    away = tuple(one._replace(status="OFFLINE_SOFT") for one in HEALTHY.servers)
    facts = replace(with_logs(failing("ping", "Can't connect")), servers=away, rules=(), users=())
    assert found(facts) == [
        (
            "node-drained",
            f"{host}:3306",
            f"it takes no new connections: OFFLINE_SOFT in hostgroup {id_}",
        )
        for host, id_ in (("db1", 10), ("db2", 20))
    ]


def test_a_drained_node_says_by_whom_and_since_when() -> None:
    drain = Drain(DB2, NOW - 60, "anna on ops1", "new disk", True, {})
    away = (Server(10, "db1", 3306), Server(20, "db2", 3306, max_connections=0))
    down = failing("ping", "Can't connect", DB2)
    facts = replace(with_logs(down), servers=away, rules=(), drains={DB2: drain})
    assert found(facts) == [("node-drained", "db2:3306", drain.text())]
    assert examine(facts).findings[0].way_out == "`proxyctl nodes restore db2:3306`"
    # One that somebody began, and that RUNTIME does not show.
    half = replace(HEALTHY, drains={DB2: replace(drain, is_done=False)})
    assert "half drained by anna on ops1" in only(half)[2]
    assert found(replace(HEALTHY, drains={DB2: drain})) == []


def test_a_monitor_that_is_off() -> None:
    facts = replace(
        with_logs(failing("connect", DENIED)),
        variables={**HEALTHY.variables, "mysql-monitor_enabled": "false"},
    )
    assert only(facts)[0] == "monitor-off"


# -- hostgroups -----------------------------------------------------------------------------------


def test_hostgroups_that_nobody_serves() -> None:
    facts = replace(
        HEALTHY,
        rules=(Rule(5, 30), Rule(6, 30), Rule(7, 40, answers=True), Rule(8, mirror=50)),
        users=(User("app", 60), User("batch", 60)),
        fast_routing={30: 3},
        hostgroup_names={30: "shard0"},
    )
    assert found(facts) == [
        (
            "hostgroup-without-servers",
            "hostgroup 30 (shard0)",
            "queries of rules 5, 6 and 3 rows of fast routing fail after 10 s: there is no server"
            " at RUNTIME",
        ),
        (
            "users-without-servers",
            "hostgroup 60",
            "queries of users app, batch that no rule takes fail after 10 s: there is no server at"
            " RUNTIME",
        ),
        (
            "mirror-without-servers",
            "hostgroup 50",
            "the copies of rule 8 go there; there is no server at RUNTIME",
        ),
    ]


def test_hostgroups_of_postgresql_are_others() -> None:
    pgsql = Side(
        "pgsql", (Server(30, "pg1", 5432),), (Rule(5, 30), Rule(6, 20)), (User("app", 10),)
    )
    facts = with_variables(**{"pgsql__connect_timeout_server_max": "5000"})
    assert found(replace(facts, pgsql=pgsql)) == [
        (
            "hostgroup-without-servers",
            "pgsql hostgroup 20",
            "queries of rule 6 fail after 5 s: there is no server at RUNTIME",
        ),
        (
            "users-without-servers",
            "pgsql hostgroup 10",
            "queries of user app that no rule takes fail after 5 s: there is no server at RUNTIME",
        ),
    ]


def test_servers_that_take_nothing() -> None:
    servers = (
        Server(20, "db1", 3306, "SHUNNED"),
        Server(20, "db2", 3306, weight=0),
        Server(20, "db3", 3306, max_connections=0),
        Server(10, "db1", 3306),
    )
    (_, _, message), drained = found(replace(HEALTHY, servers=servers))
    assert drained[:2] == ("node-drained", "db3:3306")
    assert message.endswith(
        "db1:3306 SHUNNED, db2:3306 has weight 0, db3:3306 has max_connections 0"
    )


# -- TLS ------------------------------------------------------------------------------------------


def test_encryption_that_cannot_be_had() -> None:
    servers = tuple(one._replace(use_ssl=True) for one in HEALTHY.servers)
    without = {DB1: Said(version="8.0.36", offers_tls=False), DB2: HEALTHY.said[DB2]}
    assert only(replace(HEALTHY, servers=servers, said=without))[:2] == (
        "backend-without-tls",
        "db1:3306",
    )
    facts = replace(with_variables(**{"mysql__have_ssl": "false"}), users=(User("app", 10, True),))
    assert only(facts)[0] == "users-cannot-use-tls"
    assert found(with_variables(**{"mysql__have_ssl": "false"})) == []


# -- layers ---------------------------------------------------------------------------------------


def with_survey(one: TableSurvey) -> Facts:
    return replace(HEALTHY, surveys={one.layout.name: one})


ONE = {"hostgroup_id": 10, "hostname": "db1"}


def way_out(one: TableSurvey) -> str:
    return examine(with_survey(one)).findings[0].way_out


def test_layers_that_are_out_of_step() -> None:
    old, new = rows("mysql_servers", ONE), rows("mysql_servers", {**ONE, "weight": 7})
    edited = survey(None, new, runtime=old, disk=old, table="mysql_servers")
    assert only(with_survey(edited)) == (
        "not-loaded",
        "MYSQL SERVERS",
        "MEMORY is not what runs: mysql_servers 10:db1:3306; the next LOAD makes it live",
    )
    assert way_out(edited).endswith("; if not, LOAD MYSQL SERVERS FROM DISK")
    # What runs was never saved: DISK must not be taken for it.
    unsaved = survey(None, new, runtime=old, disk={}, table="mysql_servers")
    assert "FROM DISK" not in way_out(unsaved)
    saved = survey(None, new, runtime=old, disk=new, table="mysql_servers")
    assert "the next LOAD, or a restart, makes it live" in only(with_survey(saved))[2]
    loaded = survey(None, new, runtime=new, disk=old, table="mysql_servers")
    assert only(with_survey(loaded)) == (
        "not-saved",
        "MYSQL SERVERS",
        "what runs is not on DISK: mysql_servers 10:db1:3306; a restart brings the old state back",
    )


def test_a_variable_that_waits_for_a_restart() -> None:
    now = {("mysql-threads",): ("mysql-threads", "4")}
    later = {("mysql-threads",): ("mysql-threads", "8")}
    pending = survey(None, now, disk=later, table="mysql_variables")
    facts = with_survey(pending)
    assert found(replace(facts, variables={**facts.variables, "mysql-threads": "4"})) == [
        ("restart-pending", "mysql-threads", "it is 4 now, and 8 after a restart")
    ]


def test_nothing_on_disk_is_no_other_value() -> None:
    """A new ProxySQL 3.0 keeps an empty text there, and begins with its default every time."""
    now = {("pgsql-interfaces",): ("pgsql-interfaces", "0.0.0.0:6133")}
    later = {("pgsql-interfaces",): ("pgsql-interfaces", "")}
    facts = with_survey(survey(None, now, disk=later, table="pgsql_variables"))
    assert found(replace(facts, variables={**facts.variables, **dict(now.values())})) == []


def test_an_apply_that_died() -> None:
    assert only(replace(HEALTHY, dead_apply="apply by pid 7 on ci"))[0] == "dead-apply"


# -- the cluster ----------------------------------------------------------------------------------

PX1, PX2 = ("px1", 6032), ("px2", 6032)


def clustered(own: Checksum, seen: Checksum, **variables: str) -> Facts:
    facts = with_variables(**variables)
    return replace(
        facts,
        peers=(PX1, PX2),
        own={"mysql_users": own},
        peer_checksums=(
            PeerChecksum(PX1, "mysql_users", own, NOW - 1),
            PeerChecksum(PX2, "mysql_users", seen, NOW - 1 if seen.version else 0),
        ),
    )


@pytest.mark.parametrize(
    ("own", "seen", "code"),
    [
        (Checksum(2, NOW - 900, "0xA"), Checksum(3, NOW - 900, "0xB"), "peers-split"),
        (Checksum(3, NOW - 90, "0xA"), Checksum(1, NOW - 9, "0xB"), "peer-catching-up"),
        (Checksum(3, NOW - 90, "0xA"), Checksum(2, NOW - 900, "0xB"), "peer-behind"),
        (Checksum(3, NOW - 900, "0xA"), Checksum(2, NOW - 90, "0xB"), "peer-behind"),
        (Checksum(3, NOW - 2, "0xA"), Checksum(2, NOW - 900, "0xB"), "peer-catching-up"),
        (Checksum(1, NOW - 900, "0xA"), Checksum(1, NOW - 800, "0xB"), "peers-without-source"),
    ],
)
def test_a_peer_that_differs(own: Checksum, seen: Checksum, code: str) -> None:
    assert only(clustered(own, seen))[:2] == (code, "MYSQL USERS, peer px2:6032")


@pytest.mark.parametrize(
    ("ahead_s", "text"),
    [
        (90.4, "its clock is 1 min ahead: a LOAD at this instance may be taken for older"),
        (-7200, "its clock is 2 h behind: a LOAD at the peer may be taken for older"),
    ],
)
def test_clocks_that_are_apart(ahead_s: float, text: str) -> None:
    alike = Checksum(2, NOW - 90, "0xA")
    facts = replace(clustered(alike, alike), peer_clocks={PX1: 0.0, PX2: ahead_s})
    code, where, message = only(facts)
    assert (code, where) == ("peer-clock", "peer px2:6032")
    assert message.startswith(text)
    assert found(replace(facts, peer_clocks={PX2: ahead_s / 10_000})) == []


def test_a_module_that_was_loaded_in_the_future() -> None:
    """Here it was taken over; there it is still on its way."""
    late = Checksum(3, NOW + 600, "0xA")
    text = "loaded last by a clock that is up to 10 min ahead"
    code, where, message = only(clustered(late, late))
    assert (code, where) == ("loaded-in-future", "MYSQL USERS")
    assert message.startswith(text)
    both = found(clustered(Checksum(3, NOW - 90, "0xB"), late))
    assert [one[0] for one in both] == ["loaded-in-future", "peer-catching-up"]
    for harmless in (Checksum(3, NOW + 9, "0xA"), Checksum(1, NOW + 600, "0xA")):
        assert found(clustered(harmless, harmless)) == []


def test_who_has_to_follow_is_said() -> None:
    newer, older = Checksum(3, NOW - 90, "0xA"), Checksum(2, NOW - 900, "0xB")
    assert "does not take over what was loaded here 1 min ago" in only(clustered(newer, older))[2]
    assert "this instance does not take over" in only(clustered(older, newer))[2]


def test_a_module_that_is_not_synchronised() -> None:
    newer, older = Checksum(3, NOW - 90, "0xA"), Checksum(2, NOW - 900, "0xB")
    facts = clustered(newer, older, **{"admin__cluster_mysql_users_diffs_before_sync": "0"})
    assert only(facts)[0] == "peers-not-synchronised"


def test_the_monitors_moves_do_not_count() -> None:
    facts = replace(
        clustered(Checksum(2, NOW - 90, "0xA"), Checksum(2, NOW - 90, "0xA")),
        own={"mysql_servers": Checksum(5, NOW, "0xA"), "mysql_servers_v2": Checksum(2, 1, "0xC")},
        peer_checksums=(
            PeerChecksum(PX1, "mysql_servers", Checksum(5, NOW, "0xA"), NOW),
            PeerChecksum(PX2, "mysql_servers", Checksum(9, NOW, "0xB"), NOW),
        ),
    )
    assert found(facts) == []


def test_a_peer_that_never_answered() -> None:
    nothing = Checksum(0, 0, "")
    facts = clustered(Checksum(2, NOW, "0xA"), nothing)
    assert only(facts)[:2] == ("peer-not-seen", "peer px2:6032")
    assert only(clustered(Checksum(2, NOW, "0xA"), nothing, admin__cluster_username=""))[0] == (
        "cluster-no-account"
    )


def test_a_peer_that_is_lost_is_not_compared() -> None:
    facts = clustered(Checksum(3, NOW - 90, "0xA"), Checksum(2, NOW - 900, "0xB"))
    here, there = facts.peer_checksums
    facts = replace(facts, peer_checksums=(here, there._replace(seen_at=NOW - 240)))
    assert found(facts) == [("peer-lost", "peer px2:6032", "has not answered for 4 min")]


# -- digests, memory, defects ---------------------------------------------------------------------


def test_digests_that_are_off() -> None:
    off = with_variables(**{"mysql__query_digests": "false"})
    assert only(off)[0] == "digests-off-with-rules"
    assert only(replace(off, rules=(Rule(5, 20),)))[0] == "digests-off"


def test_memory() -> None:
    assert only(replace(HEALTHY, digest_bytes=340_000_000))[0] == "digests-large"
    assert only(replace(HEALTHY, resident_bytes=4_000_000_000))[2] == "ProxySQL holds 4.00 GB"


FAST = replace(HEALTHY, fast_routing={10: 200}, rules=(Rule(1), Rule(9, 20, apply=True)))
RE2 = replace(
    with_variables(**{"mysql__query_processor_regex": "2"}), rules=(Rule(3, replaces=True),)
)
GALERA = Family("galera", 10, frozenset({10, 20, 30, 40}), offline=40)


@pytest.mark.parametrize(
    ("facts", "code"),
    [
        (FAST, "fast-routing-skipped"),
        (RE2, "re2-replaces-by-case"),
        (replace(HEALTHY, version=Version(2, 5, 1)), "digests-stall-queries"),
        (
            replace(
                with_variables(**{"mysql__server_version": "9.1.0"}),
                families=(GALERA,),
                said=said(db1="9.1.0", db2="9.1.0"),
            ),
            "maintenance-not-seen",
        ),
        (
            replace(
                clustered(
                    Checksum(2, 1, "0xA"),
                    Checksum(2, 1, "0xA"),
                    admin__cluster_mysql_servers_sync_algorithm="1",
                ),
                families=(GALERA,),
            ),
            "placement-travels",
        ),
        (
            with_survey(
                survey(
                    None,
                    {(1,): tuple(c.default for c in layout("restapi_routes").columns)},
                    table="restapi_routes",
                )
            ),
            "restapi-saves-scheduler",
        ),
    ],
)
def test_a_known_defect_is_told_to_those_it_touches(facts: Facts, code: str) -> None:
    assert only(facts)[0] == code


def test_a_defect_of_other_versions_is_not_told() -> None:
    assert found(replace(HEALTHY, version=Version(2, 5, 2))) == []
    assert found(replace(FAST, rules=(Rule(1, 20, apply=True), Rule(9)))) == []


# -- all of it ------------------------------------------------------------------------------------


def test_the_gravest_comes_first_and_what_is_ignored_is_counted() -> None:
    facts = replace(FAST, resident_bytes=4_000_000_000, dead_apply="apply by pid 7 on ci")
    one = examine(facts)
    assert [finding.severity for finding in one.findings] == list(Severity)
    assert one.has_errors
    left = examine(facts, {"fast-routing-skipped"})
    assert (left.ignored, left.has_errors, left.gravest) == (1, False, Severity.WARNING)
    assert (left.exit_code(strict=False), left.exit_code(strict=True)) == (0, 1)
    assert doctor_text(left).endswith("\n1 warning, 1 remark, 1 ignored.\n")
    assert '"ignored": 1' in doctor_json(left)


def test_what_a_server_says_cannot_move_the_cursor() -> None:
    text = doctor_text(examine(with_logs(failing("connect", "Access denied \x1b[2J"))))
    assert "Access denied \\x1b[2J" in text


def test_every_module_with_checks_is_run() -> None:
    folder = ROOT / "proxyctl" / "doctor"
    with_checks = {
        path.stem
        for path in folder.glob("*.py")
        if "@check(" in path.read_text("utf-8") or "register(Check(" in path.read_text("utf-8")
    }
    assert with_checks - {"finding"} == set(KINDS)


def test_every_code_is_on_the_page() -> None:
    page = (ROOT / "docs" / "how-to" / "doctor.md").read_text("utf-8")
    for code, check in all_checks().items():
        assert f"| `{code}` | {check.severity} | {check.summary} |" in page


def test_lists_and_times() -> None:
    assert listed(range(5)) == "0, 1, 2, 3, 4"
    assert listed(range(9)) == "0, 1, 2, 3 and 5 more"
    assert [lasting(s) for s in (0, 59, 60, 7_300)] == ["0 s", "59 s", "1 min", "2 h"]
