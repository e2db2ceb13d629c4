"""digest top, digest reset and rules, compared with the admin interface's own numbers."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from proxyctl.instance.client import AdminClient
from proxyctl.instance.connect import Login
from proxyctl.stats.digest_file import read_digest_file
from proxyctl.stats.read import read_digest_memory
from tests.support.commands.cli import Project, proxyctl
from tests.support.routing.rig import Rig
from tests.support.routing.shapes import Case, Client

pytestmark = pytest.mark.real

TABLE = "stats_mysql_query_digest"
RULES = [
    {"rule_id": 1, "active": 1, "match_digest": "^SELECT", "destination_hostgroup": 2, "apply": 1},
    {"rule_id": 2, "active": 1, "match_digest": "^DELETE", "error_msg": "no", "apply": 1},
    {"rule_id": 3, "active": 1, "match_digest": "^CALL", "destination_hostgroup": 4, "apply": 1},
]
QUERIES = ("SELECT a FROM t WHERE id=1", "SELECT b FROM t", "UPDATE t SET a=1", "DELETE FROM t")


@pytest.fixture
def project(rig: Rig, offline: Project) -> Project:
    """A folder connected to a ProxySQL with RULES, some thousand random digests and our traffic."""
    rig.observe(Case(RULES, []))
    rig.forget_digests()
    rig.server.instance.execute("PROXYSQLTEST 1 3")
    for client in (Client("app"), Client("web", "shop")):
        rig.send(client, *QUERIES)
    offline.connect(rig.server.instance)
    return offline


def listed(*arguments: str) -> list[dict[str, Any]]:
    found = proxyctl("digest", "top", "--format", "json", "--limit", "100000", *arguments)
    assert found.code == 0, found.text
    rows: list[dict[str, Any]] = found.json["digests"]
    return rows


def test_the_memory_of_the_digests_is_known_under_the_name_of_every_version(
    rig: Rig, project: Project
) -> None:
    with AdminClient(Login(port=rig.server.port, password="admin")) as client:
        assert read_digest_memory(client) > 100_000


@pytest.mark.parametrize(
    "group", ["digest", "hostgroup", "username,schemaname", "digest,hostgroup,user,schema,client"]
)
def test_sums_are_those_of_the_table_to_the_microsecond(
    rig: Rig, project: Project, group: str
) -> None:
    found = listed("--group", group)
    names = [name for name in found[0] if name in COLUMNS]
    own = rig.server.instance.query(
        f"SELECT {','.join(names)}, sum(count_star), sum(sum_time), max(max_time),"
        f" sum(sum_rows_affected), sum(sum_rows_sent), count(*) FROM {TABLE}"
        f" GROUP BY {','.join(names)}"
    )
    sums = (
        "count_star",
        "sum_time",
        "max_time",
        "sum_rows_affected",
        "sum_rows_sent",
        "entries",
    )
    ours = {tuple(str(row[name]) for name in (*names, *sums)) for row in found}
    assert ours == set(own)
    assert len(found) == len(own)
    assert sum(row["share"] for row in found) == pytest.approx(1, abs=0.01)
    assert found[-1]["cumulative_share"] == pytest.approx(1)


COLUMNS = ("digest", "hostgroup", "schemaname", "username", "client_address")


def test_looking_resets_nothing_whatever_is_looked_for(rig: Rig, project: Project) -> None:
    count = f"SELECT count(*), sum(count_star) FROM {TABLE}"
    before = rig.server.instance.query(count)
    for name in (TABLE, "stats_mysql_errors", "stats_mysql_connection_pool"):
        listed("--text", f"{name}_reset", "--schemaname", f"{name}_reset")
    listed("--rule")
    assert rig.server.instance.query(count) == before


def test_hits_of_rules(rig: Rig, project: Project) -> None:
    wanted = {1: 4, 2: 2, 3: 0}
    deadline = time.monotonic() + 30
    found: dict[int, int] = {}
    while found != wanted and time.monotonic() < deadline:
        report = proxyctl("rules", "--format", "json").json
        found = {rule["rule_id"]: rule["hits"] for rule in report["rules"]}
        time.sleep(0.1)
    assert found == wanted
    assert report["never_hit"] == [3]
    assert [round(rule["share"], 3) for rule in report["rules"]] == [0.667, 0.333, 0.0]
    own = rig.server.instance.query("SELECT rule_id, hits FROM stats_mysql_query_rules")
    assert {int(n or 0): int(h or 0) for n, h in own} == wanted
    rig.server.instance.execute("LOAD MYSQL QUERY RULES TO RUNTIME")
    assert "0 hits since the rules were last loaded" in proxyctl("rules").out


def test_reset_saves_what_it_clears(rig: Rig, project: Project) -> None:
    select = f"SELECT hostgroup, schemaname, username, digest, count_star, sum_time FROM {TABLE}"
    before = Counter(rig.server.instance.query(select))
    found = proxyctl("digest", "reset", "--auto-approve", "-o", "before.jsonl.gz")
    assert found.code == 0, found.text
    saved = read_digest_file(Path("before.jsonl.gz"))
    assert before == Counter(
        (str(r.hostgroup), r.schemaname, r.username, r.digest, str(r.count_star), str(r.sum_time))
        for r in saved.rows
    )
    assert rig.server.instance.query(select) == []
    assert f"{len(saved.rows):,} entries saved" in found.err
