"""The doctor's findings on facts that no test brings about on an instance: `doctor.txt` by case."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from proxyctl.catalog import REFERENCE, Version, parse_version
from proxyctl.doctor.examine import examine
from proxyctl.doctor.facts import Facts, MonitorLog, Protocol, RuntimeRule, Use
from proxyctl.doctor.finding import (
    CODES,
    Diagnosis,
    Examination,
    ExaminedFleet,
)
from proxyctl.instance.backend import NodeAnswer
from proxyctl.instance.certificate import Certificate
from proxyctl.instance.cluster import Checksum, Member, Membership
from proxyctl.lint.finding import Severity
from proxyctl.proxysql.cell_types import MistypedCells, mistyped
from proxyctl.proxysql.servers import Server, server_reader
from proxyctl.proxysql.topology import Family, Topologies, Topology
from proxyctl.render.doctor import doctor_text
from proxyctl.render.style import Style
from proxyctl.rows.row import Key
from tests.golden.conftest import Recorded
from tests.support.build import diff, layout, servers
from tests.support.paths import ROOT

GOLDEN = Path(__file__).with_name("doctor.txt")
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
    rules=(RuntimeRule(5, apply=True, matches_digest=True),),
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


def with_variables(**values: str) -> Facts:
    names = {name.replace("__", "-"): value for name, value in values.items()}
    return replace(HEALTHY, variables={**HEALTHY.variables, **names})


def with_certificate(days: int, *names: str) -> Facts:
    shown = Certificate(NOW + days * 86_400, names, "px1.example.com")
    return replace(HEALTHY, certificate=shown)


def with_server_certificates(first_days: int, *days: int | None) -> Facts:
    """Return facts of servers with use_ssl 1, one for each certificate, and of one without."""
    asked = {
        Server(10, f"tls{number}", 3306, "ONLINE", use_ssl=1): NodeAnswer(
            version="8.0.36-28.1",
            offers_tls=True,
            certificate_end=None if days_left is None else NOW + days_left * 86_400 + 60,
        )
        for number, days_left in enumerate((first_days, *days))
    }
    plain = NodeAnswer(version="8.0.36-28.1", offers_tls=True, certificate_end=NOW)
    facts = with_servers(ON_1, ON_2, *asked)
    answers = {server.node: answer for server, answer in asked.items()}
    return replace(facts, answers={DB1: plain, DB2: plain, **answers})


def with_servers(*servers: Server) -> Facts:
    return replace(HEALTHY, mysql=HEALTHY.mysql._replace(servers=servers))


def with_log(log: str, error: str | None, ago_s: int = 5) -> Facts:
    """Return facts where db1 has this newest line in a log, and its errors began 200 s ago."""
    line = MonitorLog(log, DB1, NOW - ago_s, error, NOW - 200)
    others = (other for other in HEALTHY.monitor_logs if (other.log, other.node) != (log, DB1))
    return replace(HEALTHY, monitor_logs=(line, *others))


def with_versions(server_version: str, **versions: str) -> Facts:
    known = {(host, 3306): text for host, text in versions.items()}
    return replace(with_variables(mysql__server_version=server_version), answers={}, versions=known)


def clustered(own: Checksum, seen: Checksum, silent_s: float = 1.0, **variables: str) -> Facts:
    """Return a member with this checksum of MYSQL USERS, and the last one seen at its peer."""
    listed = (
        Member(PX1, {"mysql_users": own}, 0.5),
        Member(PX2, {"mysql_users": seen}, silent_s if seen.version else None),
    )
    membership = Membership(listed, {"mysql_users": own})
    return replace(with_variables(**variables), membership=membership)


def mistyped_cells(table: str, name: str, count: int, first: Key) -> MistypedCells:
    """Return cells of a column that are BLOBs."""
    of = layout(table)
    column = of.column(name)
    return MistypedCells(of.table, column, next(mistyped(of.table, column)), count, first)


def unknown_host(*nodes: tuple[str, int]) -> Facts:
    logs = (
        MonitorLog("connect", node, NOW - 5, f"Unknown server host '{node[0]}' (-2)", NOW - 200)
        for node in nodes
    )
    return replace(HEALTHY, monitor_logs=tuple(logs))


def not_checked(version: str, *logs: MonitorLog) -> Facts:
    """Return a replication pair without a reader, on a ProxySQL of this version."""
    facts = replace(with_servers(Server(10, "db1", 3306)), families=(PAIR,))
    known = parse_version(version)
    return replace(facts, version_text=version, version=known, monitor_logs=logs)


def with_layers(runtime: str, memory: str, families: tuple[Family, ...] = ()) -> Facts:
    """Return facts with these servers at RUNTIME, and these in MEMORY and on DISK."""
    found = diff(
        None,
        servers(memory),
        runtime=servers(runtime),
        table="mysql_servers",
        topologies=Topologies(memory=Topology(families)),
    )
    rows = map(server_reader(found.layout), found.runtime.values())
    return replace(with_servers(*rows), families=families, diffs={found.layout.name: found})


def placed_apart() -> Facts:
    """Return two members whose monitors have placed the same configured servers differently."""
    own = {"mysql_servers": Checksum(5, 1, "A"), "mysql_servers_v2": Checksum(2, 1, "C")}
    seen = {**own, "mysql_servers": Checksum(9, 1, "B")}
    members = (Member(PX1, own, 0.5), Member(PX2, seen, 1.0))
    return replace(HEALTHY, membership=Membership(members, own))


LOST = "Lost connection to server at 'handshake', system error: 110"
DENIED = "Access denied for user 'mon'@'10.0.0.1' (using password: YES)"
ON_1, ON_2 = Server(10, "db1", 3306), Server(20, "db2", 3306)
PAIR = Family("replication", 10, frozenset({10, 20}), reader=20)
BOTH = "10 db1, 20 db2"
SHUNNED_3 = with_servers(ON_1, ON_2, Server(10, "db3", 3306, "SHUNNED"))
NO_ANSWER = replace(
    HEALTHY, answers={DB1: NodeAnswer(unreachable="timed out")}, versions={DB2: "8.0.36"}
)
NO_TLS = replace(
    with_servers(ON_1._replace(use_ssl=1), ON_2),
    answers={DB1: NodeAnswer(version="8.0.36", offers_tls=False)},
)
USED_1 = (Use("rule", 10, 1, "5"), Use("user", 10, 1, "app"))
FAST = replace(HEALTHY, mysql=HEALTHY.mysql._replace(uses=(Use("fast-routing row", 10, 200, ""),)))
NEW, OLDER = Checksum(3, NOW - 90, "A"), Checksum(2, NOW - 900, "B")
OWN = Checksum(2, NOW - 900, "A")

CASES = {
    "nothing is wrong": HEALTHY,
    # The certificate that clients see.
    "a certificate that lasts": with_certificate(31, "*.example.com"),
    "a certificate that expires soon": with_certificate(29),
    "a certificate that has expired, of another host": with_certificate(-1, "px2.example.com"),
    "certificates of servers": with_server_certificates(29, 31, None),
    "certificates of servers that end together": with_server_certificates(-3, 2, 2),
    # The monitor. A ping uses a connection that was opened before the account was refused.
    "a refused account although pings succeed": with_log("connect", DENIED, ago_s=60),
    "no answer to a connect": with_log("connect", "timeout during ping", ago_s=1),
    "no answer to a ping": with_log("ping", "timeout during ping", ago_s=1),
    "a later ping is an answer": with_log("connect", "Can't connect to MySQL server", ago_s=30),
    "one cause is one finding": unknown_host(DB1, DB2),
    "a lost server and its hostgroup are one finding": replace(
        with_log("ping", "timeout"),
        mysql=HEALTHY.mysql._replace(servers=(ON_1._replace(status="SHUNNED"), ON_2)),
    ),
    "a check that got no connection, before the next connect check": replace(
        with_log("read_only", f"timeout on creating new connection: {LOST}", ago_s=2),
        mysql=HEALTHY.mysql._replace(servers=(ON_1._replace(status="SHUNNED"), ON_2)),
    ),
    "a failed check": with_log("read_only", "unknown variable"),
    "a failed check that is no longer made": with_log("read_only", "unknown variable", ago_s=900),
    "an error of a server cannot move the cursor": with_log("connect", "Access denied \x1b[2J"),
    # Servers and hostgroups.
    "a server that takes no new connections may be down": replace(
        with_log("ping", "timeout", ago_s=1),
        mysql=Protocol("mysql", (Server(10, "db1", 3306, max_connections=0),)),
    ),
    "a shunned server": SHUNNED_3,
    "a shunned server that serves elsewhere": with_servers(
        *SHUNNED_3.mysql.servers, Server(30, "db3", 3306)
    ),
    "a server that stays SHUNNED": with_layers(*[f"{BOTH}, 10 db3 SHUNNED"] * 2),
    "servers that stay SHUNNED, and one that ProxySQL tries again": replace(
        with_layers(
            f"{BOTH}, 10 db3 SHUNNED, 10 db4 SHUNNED, 20 db5 SHUNNED, 20 db6 SHUNNED",
            f"{BOTH}, 10 db3 SHUNNED, 10 db4 SHUNNED, 20 db5 SHUNNED, 20 db6",
        ),
        hostgroup_names={10: "writer"},
    ),
    "one that stays SHUNNED in a family": with_layers(
        *[f"{BOTH}, 20 db3 SHUNNED"] * 2, families=(PAIR,)
    ),
    "one that the Galera monitor uses again": with_layers(
        *[f"{BOTH}, 20 db3 SHUNNED"] * 2, families=(GALERA,)
    ),
    "a hostgroup in use without servers": replace(
        HEALTHY, mysql=HEALTHY.mysql._replace(servers=(), uses=USED_1), answers={}
    ),
    "the last server of a hostgroup is SHUNNED": with_servers(
        ON_1, Server(20, "db2", 3306, "SHUNNED")
    ),
    "the last server of a hostgroup has weight 0": with_servers(
        ON_1, Server(20, "db2", 3306, weight=0)
    ),
    "the last server of a hostgroup has max_connections 0": with_servers(
        ON_1, Server(20, "db2", 3306, max_connections=0)
    ),
    "the last server of a hostgroup went to another": with_servers(ON_1, Server(30, "db2", 3306)),
    "a family before its first check": not_checked("3.0.12-0-g1"),
    "a family in a sandbox": not_checked("2.7.1-sandbox"),
    "a family behind its first check": not_checked(
        "2.7.1-sandbox", MonitorLog("read_only", DB1, NOW - 1)
    ),
    # TLS and versions.
    "no TLS where it should be": NO_TLS,
    "nobody asked for TLS": replace(NO_TLS, answers={}),
    "the version of a server": with_versions("8.0.36", db1="8.0.36-28.1", db2="8.4.0"),
    "a version with an older patch": with_versions("8.0.30", db1="8.0.36-28.1", db2="8.4.0"),
    "a version newer than a server": with_versions("8.4.0", db1="8.0.36", db2="8.4.0"),
    "a version older than any server": with_versions("5.7.30", db1="8.0.36-28.1"),
    "a version of another product": with_versions("8.0.36", db1="5.5.5-10.6.1-MariaDB"),
    "the proposed version is the lowest one": with_versions(
        "x", db1="10.6.1-MariaDB-log", db2="11.4.2-MariaDB"
    ),
    "a server that did not answer": replace(
        NO_ANSWER, version_text="3.0.12-0-g1", version=parse_version("3.0.12-0-g1")
    ),
    "a server of a sandbox that did not answer": NO_ANSWER,
    # Digests and memory.
    "digests are off": replace(with_variables(mysql__query_digests="false"), rules=()),
    "many digests": replace(HEALTHY, digest_bytes=340_000_000),
    "much memory": replace(HEALTHY, resident_bytes=4_000_000_000),
    "memory that was asked for": replace(HEALTHY, digest_bytes=12_345),
    "errors come first": replace(FAST, resident_bytes=4_000_000_000, digest_bytes=340_000_000),
    # A cluster.
    "a peer that has not copied a change": clustered(NEW, OLDER),
    "a change that is still on its way": clustered(Checksum(3, NOW - 20, "A"), OLDER),
    "nodes that each monitor places": placed_apart(),
    "members that never loaded": clustered(
        Checksum(1, NOW - 900, "A"), Checksum(1, NOW - 800, "B")
    ),
    "a module that is not synchronised": clustered(
        NEW, OLDER, admin__cluster_mysql_users_diffs_before_sync="0"
    ),
    "a peer that never answered": clustered(OWN, Checksum(0, 0, "")),
    "a peer that is silent": clustered(OWN, OLDER, silent_s=240),
    "no account for peers": clustered(OWN, OWN, admin__cluster_username=""),
    # The release, and known defects that touch the configuration.
    **{
        f"the release {text}": replace(HEALTHY, version_text=text, version=parse_version(text))
        for text in (
            *("2.7.1-16-g2726c27", "3.0.11-0-g1", "3.1.11-0-g1", "3.0.12-0-ge2f317a"),
            *("3.0.14", "3.1.12", "4.0.12"),
        )
    },
    "cells of another type": replace(
        HEALTHY,
        mistyped=(
            mistyped_cells("mysql_users", "password", 1, ("sha", 1)),
            mistyped_cells("mysql_servers", "hostname", 3, (10, "db1", 3306)),
        ),
    ),
    "RE2 replaces by case": replace(
        with_variables(mysql__query_processor_regex="2"),
        rules=tuple(RuntimeRule(n, replaces=True) for n in range(1, 10)),
    ),
    "maintenance is not seen": replace(
        with_versions("9.1.0", db1="9.1.0", db2="9.1.0"), families=(GALERA,)
    ),
    "a defect that is mended": replace(HEALTHY, version=Version(2, 5, 2)),
    "a defect that the rules do not meet": replace(
        FAST, rules=(RuntimeRule(1, apply=True), RuntimeRule(9))
    ),
}


def text_of(one: Examination) -> str:
    return doctor_text(ExaminedFleet([one], ()), is_all=False)


def test_what_the_doctor_says(recorded: Recorded) -> None:
    text = "\n".join(f"# {name}\n{text_of(examine(facts))}" for name, facts in CASES.items())
    recorded(GOLDEN, text)


def test_ignored_findings_are_counted() -> None:
    left = examine(CASES["errors come first"], {"fast-routing-skipped"})
    assert (left.ignored, left.worst) == (1, Severity.WARNING)
    assert (left.exit_code(strict=False), left.exit_code(strict=True)) == (0, 1)
    assert text_of(left).endswith("\n1 warning, 1 note, 1 ignored.\n")


def test_many_servers_are_counted_in_the_heading_and_named_below() -> None:
    nodes = [(f"db{number}.a-zone-with-a-long-name.example.com", 3306) for number in range(30)]
    finding = Diagnosis.of_servers("server-shunned", nodes, "takes no queries", "wait")
    page = replace(examine(HEALTHY), findings=(finding,))
    text = doctor_text(ExaminedFleet([page], []), Style(width=80), is_all=False)
    assert "\n30 servers: server-shunned [warning] takes no queries\n  db0.a-zone" in text
    assert "and 10 more\n  fix: wait" in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_every_code_is_on_the_page() -> None:
    page = (ROOT / "docs" / "reference" / "doctor-findings.md").read_text("utf-8")
    for name, code in CODES.items():
        assert f"| `{name}` | {code.severity} | {code.summary} |" in page
