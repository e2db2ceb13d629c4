"""What sysbench does to a MariaDB behind ProxySQL, as digest top and rules show it."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.real.sysbench_rig import sysbench_rig
from tests.support.cli import Project, proxyctl
from tests.support.mariadb_server import MISSING, sysbench
from tests.support.servers import ProxySQL

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]

TABLE = "stats_mysql_query_digest"
SUMS = ("count_star", "sum_time", "max_time", "sum_rows_sent", "sum_rows_affected")


@pytest.fixture(scope="module")
def proxysql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProxySQL]:
    """A ProxySQL through which sysbench made its tables; reads go to hostgroup 20."""
    with sysbench_rig(tmp_path_factory.mktemp("sysbench")) as (server, _):
        yield server


@pytest.fixture
def project(proxysql: ProxySQL, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    found = Project(tmp_path, monkeypatch)
    found.connect(proxysql.instance)
    return found


def listed(*arguments: str) -> dict[str, Any]:
    found = proxyctl("digest", "top", "--format", "json", "--limit", "1000", *arguments)
    assert found.code == 0, found.text
    document: dict[str, Any] = found.json
    return document


def test_numbers_are_those_of_the_admin_interface(proxysql: ProxySQL, project: Project) -> None:
    sysbench(proxysql.traffic_port, "--time=60", "--events=100", "run")
    own = proxysql.instance.query(
        "SELECT digest, sum(count_star), sum(sum_time), max(max_time), sum(sum_rows_sent),"
        f" sum(sum_rows_affected) FROM {TABLE} GROUP BY digest"
    )
    found = listed()
    ours = {tuple(str(one[name]) for name in ("digest", *SUMS)) for one in found["digests"]}
    assert ours == set(own)
    assert found["total"]["sum_time"] == sum(int(row[2] or 0) for row in own)
    # The two lists that are made by hand everywhere.
    for sort, key in (("time", "sum(sum_time)"), ("avg", "1.0*sum(sum_time)/sum(count_star)")):
        order = f"{key} DESC, sum(sum_time) DESC, digest"
        by_hand = proxysql.instance.query(
            f"SELECT digest FROM {TABLE} GROUP BY digest ORDER BY {order} LIMIT 3"
        )
        assert [(one["digest"],) for one in listed("--sort", sort)["digests"][:3]] == by_hand


def test_a_commit_is_said_to_go_where_its_transaction_is(
    proxysql: ProxySQL, project: Project
) -> None:
    sysbench(proxysql.traffic_port, "--time=60", "--events=10", "run")
    [commit] = listed("--rule", "--text", "COMMIT")["digests"]
    [row] = proxysql.instance.query(f"SELECT hostgroup FROM {TABLE} WHERE digest_text='COMMIT'")
    first = commit["rules"][0]["fates"][0]
    assert (str(first["hostgroup"]), first["source"]) == (row[0], "its transaction")


def test_rows_and_cut_texts_are_seen(proxysql: ProxySQL, project: Project) -> None:
    sysbench(proxysql.traffic_port, "--time=60", "--events=20", "run")
    [point] = listed("--text", "SELECT c FROM sbtest1 WHERE id=?")["digests"]
    assert point["sum_rows_sent"] == point["count_star"]
    [filling] = listed("--text", "INSERT INTO sbtest1(k,c,pad)")["digests"]
    assert filling["is_cut"]
    assert filling["sum_rows_affected"] == 500


def test_hits_of_rules_are_the_reads_that_sysbench_counts(
    proxysql: ProxySQL, project: Project
) -> None:
    proxysql.instance.execute("LOAD MYSQL QUERY RULES TO RUNTIME")
    said = sysbench(proxysql.traffic_port, "--time=60", "--events=50", "run")
    reads = int(re.search(r"read: +(\d+)", said)[1])  # type: ignore[index]
    deadline = time.monotonic() + 30
    hits: dict[int, int] = {}
    while hits != {10: 0, 20: reads} and time.monotonic() < deadline:
        rules = proxyctl("rules", "--format", "json").json["rules"]
        hits = {one["rule_id"]: one["hits"] for one in rules}
    assert hits == {10: 0, 20: reads}


def test_a_reset_begins_again_at_nothing(proxysql: ProxySQL, project: Project) -> None:
    sysbench(proxysql.traffic_port, "--time=60", "--events=5", "run")
    assert proxyctl("digest", "reset", "--auto-approve", "-o", "before.jsonl.gz").code == 0
    assert listed()["digests"] == []
    sysbench(proxysql.traffic_port, "--time=60", "--events=5", "run")
    [commit] = listed("--text", "COMMIT")["digests"]
    assert commit["count_star"] == 5
