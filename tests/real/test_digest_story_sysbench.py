"""What sysbench does to a MariaDB behind ProxySQL: listed, reported, improved, and compared."""

from __future__ import annotations

import select
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from proxyctl.stats.digest_file import read_digest_file
from proxyctl.stats.report import make_report
from tests.real.sysbench_rig import sysbench_rig
from tests.support.cli import Outcome, Project, proxyctl
from tests.support.mariadb_server import MISSING, MariaDB, sysbench
from tests.support.servers import ProxySQL

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]

FILES = """\
version: 1
hostgroups: {writer: {id: 10}, reader: {id: 20}}
mysql_servers:
  - {hostgroup_id: writer, hostname: 127.0.0.1, port: %d}
  - {hostgroup_id: reader, hostname: 127.0.0.1, port: %d}
mysql_users:
  - {username: sb, password: sb, default_hostgroup: writer}
mysql_query_rules:
"""
BY_TABLE = [
    f"  - {{rule_id: {100 + number}, match_digest: '^DELETE FROM old{number}',"
    " destination_hostgroup: writer, apply: true}\n"
    for number in range(20)
]
SELECTS = (
    "  - {rule_id: 200, match_digest: '^SELECT c FROM sbtest1',"
    " destination_hostgroup: writer, apply: true}\n"
    "  - {rule_id: 210, match_digest: '^SELECT', destination_hostgroup: reader, apply: true}\n"
)
REWRITE = (
    "  - {rule_id: 50, match_pattern: 'DISTINCT (.*) ORDER BY c',"
    " replace_pattern: 'DISTINCT \\1'}\n"
)
DISTINCT = "SELECT DISTINCT c FROM sbtest{} WHERE id BETWEEN ? AND ?"
Servers = tuple[ProxySQL, MariaDB]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with sysbench_rig(tmp_path_factory.mktemp("sysbench")) as both:
        yield both


@pytest.fixture
def project(servers: Servers, offline: Project) -> Project:
    """A folder connected to the ProxySQL, whose statistics begin at nothing."""
    proxysql, mariadb = servers
    offline.connect(proxysql.instance)
    put(offline, mariadb, *BY_TABLE, SELECTS)
    proxysql.instance.execute("TRUNCATE TABLE stats_mysql_query_digest")
    return offline


def put(project: Project, mariadb: MariaDB, *rules: str) -> None:
    project.write(FILES % (mariadb.port, mariadb.port) + "".join(rules))
    done("apply", "--auto-approve")


def done(*arguments: str) -> Outcome:
    found = proxyctl(*arguments)
    assert found.code == 0, found.text
    return found


def send(proxysql: ProxySQL, events: int) -> None:
    sysbench(proxysql.traffic_port, "--time=600", f"--events={events}", "run")


def snapshot(proxysql: ProxySQL, name: str) -> tuple[int, int]:
    """Take one, in a second of its own; return the sums that the admin interface has itself."""
    done("digest", "snapshot", "-o", name)
    [(before,)] = proxysql.instance.query("SELECT strftime('%s','now')")
    [row] = proxysql.instance.query(
        "SELECT sum(count_star), sum(sum_time) FROM stats_mysql_query_digest"
    )
    while proxysql.instance.query("SELECT strftime('%s','now')") <= [(before,)]:
        select.select([], [], [], 0.05)
    return int(row[0] or 0), int(row[1] or 0)


def test_a_report_between_snapshots_has_the_sums_of_the_admin_interface(
    servers: Servers, project: Project
) -> None:
    proxysql, _ = servers
    send(proxysql, 10)
    first = snapshot(proxysql, "1.gz")
    send(proxysql, 40)
    second = snapshot(proxysql, "2.gz")
    send(proxysql, 20)
    third = snapshot(proxysql, "3.gz")
    said = done("digest", "report", "1.gz", "2.gz", "3.gz", "-o", "report.html")
    report = make_report([read_digest_file(Path(name)) for name in ("1.gz", "2.gz", "3.gz")])
    assert (report.calls, report.time) == (third[0] - first[0], third[1] - first[1])
    assert [(one.calls, one.time, one.is_reset) for one in report.intervals] == [
        (second[0] - first[0], second[1] - first[1], False),
        (third[0] - second[0], third[1] - second[1], False),
    ]
    assert sum(one.time for one in report.digests) == report.time
    assert f"{report.count} digests reported in report.html" in said.err
    page = Path("report.html").read_text(encoding="utf-8")
    assert "Load over time" in page
    assert f"{report.calls:,}" in page


def listed(*arguments: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = done("digest", "top", "--format", "json", *arguments).json[
        "digests"
    ]
    return found


def test_rows_cut_texts_and_where_a_commit_goes_are_seen(
    servers: Servers, project: Project
) -> None:
    proxysql, _ = servers
    sysbench(proxysql.traffic_port, "cleanup")
    sysbench(proxysql.traffic_port, "prepare")
    send(proxysql, 20)
    [point] = listed("--text", "SELECT c FROM sbtest1 WHERE id=?")
    assert point["sum_rows_sent"] == point["count_star"]
    [filling] = listed("--text", "INSERT INTO sbtest1(k,c,pad)")
    assert filling["is_cut"]
    assert filling["sum_rows_affected"] == 500
    [commit] = listed("--rule", "--text", "COMMIT")
    assert "where the transaction is" in commit["rules"][0]["outcomes"][0]["special"]


def test_a_rewriting_rule_before_and_after(servers: Servers, project: Project) -> None:
    proxysql, mariadb = servers
    send(proxysql, 60)
    before = snapshot(proxysql, "before.gz")
    put(project, mariadb, REWRITE, *BY_TABLE, SELECTS)
    send(proxysql, 60)
    after = snapshot(proxysql, "after.gz")
    files = ("before.gz", "after.gz")
    found = done("digest", "diff", *files, "--limit", "1000", "--format", "json").json
    assert (found["before"]["count_star"], found["before"]["sum_time"]) == before
    assert found["after"]["count_star"] == after[0] - before[0]
    assert found["after"]["sum_time"] == after[1] - before[1]
    assert found["remarks"] == []
    by_text = {one["digest_text"]: one for one in found["digests"]}
    # How long either side took decides whether that is enough to say that one vanished.
    for table in (1, 2):
        old = by_text[DISTINCT.format(table) + " ORDER BY c"]
        assert (old["after"]["count_star"], old["verdict"] in ("vanished", "few_calls")) == (
            0,
            True,
        )
        new = by_text[DISTINCT.format(table)]
        assert (new["before"]["count_star"], new["verdict"] in ("new", "few_calls")) == (0, True)
    assert by_text["COMMIT"]["verdict"] in ("same", "slower", "faster")
