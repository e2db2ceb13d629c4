"""A healthy instance as the doctor is given it, others made from it, and what it finds."""

from __future__ import annotations

from dataclasses import replace

from proxyctl.catalog import REFERENCE
from proxyctl.doctor.examination import examine
from proxyctl.doctor.facts import (
    Checksum,
    Facts,
    MonitorLog,
    PeerChecksum,
    Rule,
    Server,
    User,
)
from proxyctl.nodes.model import Said
from proxyctl.survey import TableSurvey

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


DENIED = "Access denied for user 'mon'@'10.0.0.1' (using password: YES)"


def failing(log: str, error: str, node: tuple[str, int] = DB1, ago: int = 5) -> MonitorLog:
    return MonitorLog(log, node, NOW - ago, error, NOW - 200)


def with_logs(*logs: MonitorLog) -> Facts:
    names = {(one.log, one.node) for one in logs}
    others = (one for one in HEALTHY.monitor_logs if (one.log, one.node) not in names)
    return replace(HEALTHY, monitor_logs=(*logs, *others))


def with_survey(one: TableSurvey) -> Facts:
    return replace(HEALTHY, surveys={one.layout.name: one})


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
