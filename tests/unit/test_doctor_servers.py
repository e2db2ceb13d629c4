"""What the doctor finds in the servers: versions, what the monitor met, who serves, TLS."""

from __future__ import annotations

from dataclasses import replace

import pytest

from proxyctl.doctor.examination import examine
from proxyctl.doctor.facts import (
    Rule,
    Server,
    Side,
    User,
)
from proxyctl.drains import Drain
from proxyctl.nodes.model import Said
from tests.unit.doctor_facts import (
    DB1,
    DB2,
    DENIED,
    HEALTHY,
    NOW,
    failing,
    found,
    only,
    said,
    with_logs,
    with_variables,
)


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


def test_no_version_fits_both_products() -> None:
    facts = replace(HEALTHY, said=said(db1="8.0.36", db2="10.11.6-MariaDB-log"))
    (product,) = examine(facts).findings
    assert product.code == "server-version-product"
    assert product.way_out == (
        "no version fits both: put the servers of each product behind a ProxySQL of their own"
    )


def test_several_series_are_explained_by_hostgroup() -> None:
    facts = replace(HEALTHY, said=said(db1="8.0.36", db2="8.4.3"))
    code, _, message = only(facts)
    assert code == "server-versions-differ"
    assert "(8.0.36 in 10; 8.4.3 in 20)" in message
    assert examine(facts).findings[0].way_out == "go on telling the lowest until all are alike"
    older = replace(facts, variables={**facts.variables, "mysql-server_version": "8.0.30"})
    assert examine(older).findings[0].way_out == (
        'tell the lowest until all are alike: variables: {mysql-server_version: "8.0.36"}'
    )


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
    # A ping may use a connection from the time when the server still took new ones.
    assert only(with_logs(failing("connect", DENIED, ago=50)))[0] == "monitor-denied"
    full = failing("connect", "Too many connections", ago=50)
    assert only(with_logs(full))[0] == "backend-unreachable"


def test_a_check_that_fails_on_a_connection_that_works() -> None:
    code, where, message = only(with_logs(failing("read_only", "SELECT command denied")))
    assert (code, where) == ("monitor-check-failed", "db1:3306")
    assert "check of read only fails for 3 min" in message
    lost = failing("ping", "Can't connect"), failing("connect", "Can't connect")
    codes = [code for code, *_ in found(with_logs(*lost, failing("read_only", "no connection")))]
    assert codes == ["backend-unreachable"]


def test_a_check_that_is_made_no_more_tells_of_old_times() -> None:
    lag = with_variables(mysql__monitor_replication_lag_interval="10000")
    logs = (*HEALTHY.monitor_logs, failing("replication_lag", "Access denied", ago=50))
    assert [code for code, *_ in found(replace(lag, monitor_logs=logs))] == ["monitor-check-failed"]
    logs = (*HEALTHY.monitor_logs, failing("replication_lag", "Access denied", ago=51))
    assert found(replace(lag, monitor_logs=logs)) == []


def test_the_way_out_is_the_right_that_the_server_names() -> None:
    mariadb = "Access denied; you need (at least one of) the SUPER, SLAVE MONITOR privilege(s)"
    (finding,) = examine(with_logs(failing("replication_lag", mariadb))).findings
    assert finding.way_out == "GRANT SLAVE MONITOR ON *.* TO 'mon'@'%', which the server names"


@pytest.mark.parametrize(
    ("log", "error", "way_out"),
    [
        ("connect", "Access denied, this account is locked", "ALTER USER 'mon'@'%' ACCOUNT UNLOCK"),
        (
            "connect",
            "Connections using insecure transport are prohibited while"
            " --require_secure_transport=ON.",
            "`use_ssl: true` of the server in mysql_servers",
        ),
        (
            "connect",
            "User is blocked because of too many credential errors; unblock with 'ALTER USER /"
            " FLUSH PRIVILEGES'",
            "set mysql-monitor_password (`{env: NAME}`) to that of the account, then"
            " FLUSH PRIVILEGES there",
        ),
        (
            "connect",
            "Access denied for user 'mon'@'10.0.0.1'. Account is blocked for 3 day(s) (3 day(s)"
            " remaining) due to 3 consecutive failed logins.",
            "set mysql-monitor_password (`{env: NAME}`) to that of the account, then"
            " ALTER USER 'mon'@'%' ACCOUNT UNLOCK",
        ),
        (
            "connect",
            "Your password has expired. To log in you must change it using a client that supports"
            " expired passwords",
            "ALTER USER 'mon'@'%' IDENTIFIED BY '...' there, and set mysql-monitor_password"
            " (`{env: NAME}`) to that of the account",
        ),
        (
            "connect",
            "User 'mon' has exceeded the 'max_connections_per_hour' resource (current value: 9)",
            "ALTER USER 'mon'@'%' WITH MAX_CONNECTIONS_PER_HOUR 0 there, which is no limit",
        ),
        (
            "connect",
            "Host '10.0.0.1' is blocked because of many connection errors; unblock with"
            " 'mariadb-admin flush-hosts'",
            "FLUSH HOSTS there, or TRUNCATE performance_schema.host_cache since MySQL 8.4",
        ),
        (
            "connect",
            "Can't connect to server on 'db1' (115)",
            "start it, or take it out of mysql_servers; see `proxyctl nodes list`",
        ),
        (
            "connect",
            "The server is currently in offline mode",
            "look there at what the error says; see `proxyctl nodes list`",
        ),
        (
            "read_only",
            "You must SET PASSWORD before executing this statement",
            "ALTER USER 'mon'@'%' IDENTIFIED BY '...' there, and set mysql-monitor_password"
            " (`{env: NAME}`) to that of the account",
        ),
        (
            "read_only",
            "Unknown system variable 'super_read_only'",
            "it has no variable super_read_only: choose another check_type in"
            " mysql_replication_hostgroups, or take the server out of the family",
        ),
    ],
)
def test_the_way_out_is_what_the_error_asks_for(log: str, error: str, way_out: str) -> None:
    newest = failing(log, error, ago=1)
    (finding,) = examine(with_logs(newest)).findings
    assert finding.way_out == way_out


def test_an_account_that_has_to_use_tls_is_refused_like_one_with_a_wrong_password() -> None:
    facts = with_logs(failing("connect", DENIED))
    assert "it may have to use TLS" in examine(facts).findings[0].way_out
    encrypted = tuple(one._replace(use_ssl=True) for one in facts.servers)
    assert "TLS" not in examine(replace(facts, servers=encrypted)).findings[0].way_out


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


def test_copies_that_begin_at_a_flag_may_be_sent_elsewhere() -> None:
    along = Rule(5, 20, mirror=50, apply=True, mirrors_along=True)
    assert only(replace(HEALTHY, rules=(along,)))[2] == (
        "the copies of rule 5 that no rule of their mirror_flagOUT sends elsewhere, if any, go"
        " there; there is no server at RUNTIME"
    )
    both = (along, Rule(6, 20, mirror=50))
    assert only(replace(HEALTHY, rules=both))[2].startswith("the copies of rules 5, 6 go there")


def test_fast_routing_that_is_never_asked() -> None:
    """The last rule has apply, and with that no query gets to where fast routing sends."""
    facts = replace(HEALTHY, fast_routing={30: 3})
    assert only(facts)[0] == "fast-routing-skipped"
    behind = replace(facts, rules=(*HEALTHY.rules, Rule(6, 10)))
    assert only(behind)[:2] == ("hostgroup-without-servers", "hostgroup 30")
    assert found(replace(behind, rules=tuple(reversed(behind.rules)))) == found(behind)
    assert found(replace(facts, rules=())) == found(behind)


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


def test_a_server_that_is_shunned_beside_others_that_serve() -> None:
    servers = (*HEALTHY.servers, Server(20, "db3", 3306, "SHUNNED"))
    code, where, message = only(replace(HEALTHY, servers=servers))
    assert (code, where) == ("server-shunned", "db3:3306")
    assert message == "it takes no queries: SHUNNED in hostgroup 20"
    # A node that waits beside a writer reads elsewhere.
    reads = (*servers, Server(30, "db3", 3306))
    assert found(replace(HEALTHY, servers=reads)) == []
    # Of one that the monitor does not get through to another finding tells.
    lost = (*HEALTHY.monitor_logs, failing("ping", "Can't connect", ("db3", 3306)))
    assert only(replace(HEALTHY, servers=servers, monitor_logs=lost))[0] == "backend-unreachable"


def test_more_servers_than_max_num_online_servers_serve_nobody() -> None:
    """Whatever their weight is; one that is not ONLINE does not count."""
    pair = (Server(10, "db1", 3306), Server(10, "db3", 3306, weight=0), Server(20, "db2", 3306))
    facts = replace(HEALTHY, servers=pair, most_online={10: 1, 20: 1})
    assert only(facts) == (
        "users-without-servers",
        "hostgroup 10",
        "queries of user app that no rule takes fail after 10 s: 2 servers are ONLINE, and"
        " max_num_online_servers is 1: none takes any",
    )
    assert examine(facts).findings[0].way_out == (
        "raise max_num_online_servers of hostgroup 10, take a server out of it, or change"
        " default_hostgroup"
    )
    soft = pair[1]._replace(status="OFFLINE_SOFT")
    assert only(replace(facts, servers=(pair[0], soft, pair[2])))[0] == "node-drained"


def test_servers_that_answer_too_late_serve_nobody() -> None:
    slow = Server(10, "db1", 3306, max_latency_ms=20, too_slow_ms=30.4)
    facts = replace(HEALTHY, servers=(slow, HEALTHY.servers[1]))
    assert only(facts) == (
        "users-without-servers",
        "hostgroup 10",
        "queries of user app that no rule takes fail after 10 s: db1:3306 answered a ping after"
        " 30 ms, which is more than it may take",
    )
    assert found(replace(facts, servers=(*facts.servers, Server(10, "db3", 3306)))) == []


@pytest.mark.parametrize("without", [{"weight": 0}, {"max_connections": 0}])
def test_the_way_out_for_servers_that_are_online_and_take_nothing(without: dict[str, int]) -> None:
    idle = Server(10, "db1", 3306)._replace(**without)
    facts = replace(HEALTHY, servers=(idle, HEALTHY.servers[1]))
    assert examine(facts).findings[0].way_out == (
        "give a server there a weight and max_connections above 0, or change default_hostgroup"
    )
