"""The digests that an instance has seen, under the rules of the files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from proxyctl.routing.digest import Digester
from proxyctl.stats.model import SeenDigest
from tests.journeys.story import FILES, applied, said
from tests.support.cli import Outcome, Project, proxyctl
from tests.support.servers import Instance

READS = "SELECT name FROM users WHERE id = 1"
LOCKS = "SELECT name FROM users WHERE id = 1 FOR UPDATE"
WRITES = "UPDATE users SET name = 'x' WHERE id = 1"


def digest(query: str, hostgroup: int, seconds: int, **other: object) -> SeenDigest:
    made = Digester().digest(query)
    cells = {
        **{"schemaname": "shop", "username": "app", "client_address": ""},
        **{"hostgroup": hostgroup, "digest": made.hexadecimal, "digest_text": made.text.decode()},
        **{"count_star": 10, "first_seen": 1, "last_seen": 2, "sum_time": seconds * 10**6},
        **{"min_time": 1, "max_time": 2},
        **other,
    }
    return SeenDigest(**cells)  # type: ignore[arg-type]


SEEN = [digest(READS, 20, 60), digest(LOCKS, 10, 30), digest(WRITES, 10, 10)]


@pytest.fixture
def seen(sandbox_project: Project, sandbox_instance: Instance) -> Project:
    """An instance that runs with FILES and has seen SEEN."""
    sandbox_project.write(FILES)
    applied()
    assert sandbox_instance.sandbox is not None
    sandbox_instance.sandbox.stats["stats_mysql_query_digest"] = [tuple(row) for row in SEEN]
    return sandbox_project


def replay(*arguments: str) -> Outcome:
    return proxyctl("replay", *arguments)


def test_files_that_change_nothing_move_nothing(seen: Project) -> None:
    found = replay("--detailed-exitcode")
    assert found.code == 0, found.text
    assert "nothing changes for any of 3 digests" in found.out


def test_a_rule_that_sends_reads_elsewhere(seen: Project) -> None:
    seen.write(FILES.replace("hostgroup: reader, apply", "hostgroup: writer, apply"))
    found = replay("--detailed-exitcode")
    assert found.code == 2, found.text
    assert "10 (writer) by rule 20" in found.out


def test_an_undecided_digest_names_the_rule(seen: Project) -> None:
    rule = (
        "  - {rule_id: 15, match_pattern: 'id = 1', destination_hostgroup: writer, apply: true}\n"
    )
    seen.write(FILES + rule)
    found = replay("--format", "json")
    reads, *others = found.json["digests"]
    assert others == []
    assert reads["status"] == "undecided"
    assert reads["undecided"] == [{"rule_id": 15, "column": "match_pattern"}]
    assert {one["hostgroup"] for one in reads["desired"]} == {10, 20}
    # The write goes to the writer whether rule 15 matches it or not.
    assert found.json["unchanged"]["digests"] == 2
    text = replay()
    assert "rule 15: match_pattern is undecided" in text.out
    assert "60.0% undecided (1 digest)" in text.out


def test_queries_that_a_rule_blocks_or_caches(seen: Project) -> None:
    seen.write(
        FILES.replace("FOR UPDATE', dest", "FOR UPDATE', cache_ttl: 5000, dest")
        + "  - {rule_id: 30, match_digest: '^UPDATE', error_msg: 'read only', apply: true}\n"
    )
    found = replay("--format", "json").json
    kinds = {name: tally["digests"] for name, tally in found["changed"]["kinds"].items()}
    assert kinds == {"hostgroup": 0, "rewritten": 0, "cached": 1, "blocked": 1, "settings": 0}
    text = replay().out
    assert "error_msg read only by rule 30" in text
    assert "10 (writer) by rule 10, cached 5000 ms" in text


def test_rows_of_others_stay_as_they_are_at_runtime(seen: Project) -> None:
    mine = "manage: {mysql_query_rules: {rule_id: '1-15'}}\n"
    without_20 = "".join(line for line in FILES.splitlines(True) if "rule_id: 20" not in line)
    seen.write(without_20 + mine)
    assert replay("--detailed-exitcode").code == 0
    seen.write(without_20)
    assert replay("--detailed-exitcode").code == 2


def test_digests_that_went_elsewhere_are_named(seen: Project, sandbox_instance: Instance) -> None:
    assert sandbox_instance.sandbox is not None
    rows = sandbox_instance.sandbox.stats["stats_mysql_query_digest"]
    rows.append(tuple(digest("SELECT hinted FROM users", 10, 100)))
    rows.append(tuple(digest("SELECT cached FROM users", -1, 0)))
    found = replay()
    assert "1 digest (50.0%) did not go where the rules in force send them" in found.out
    assert "seen in 10 (writer), the rules say 20 (reader)" in found.out
    assert found.code == 0


def test_saved_digests_are_replayed_without_the_statistics(
    seen: Project, sandbox_instance: Instance
) -> None:
    assert sandbox_instance.sandbox is not None
    seen.write(FILES.replace("hostgroup: reader, apply", "hostgroup: writer, apply"))
    first = replay("--format", "json", "--save", "digests.jsonl")
    assert first.code == 0, first.text
    saved = seen.folder / "digests.jsonl"
    assert saved.stat().st_mode & 0o777 == 0o600
    header = json.loads(saved.read_text().splitlines()[0])
    assert (header["kind"], header["format"], header["count"]) == ("proxyctl digests", 1, 3)
    sandbox_instance.sandbox.stats["stats_mysql_query_digest"] = []
    assert "has seen no digests" in replay().out
    again = replay("--format", "json", "--digests", "digests.jsonl")
    assert again.json == first.json


def test_a_plan_appends_the_replay(seen: Project) -> None:
    seen.write(FILES.replace("hostgroup: reader, apply", "hostgroup: writer, apply"))
    text = proxyctl("plan", "--replay").out
    assert text.index("Plan: 0 to add") < text.index("Replay: 60.0% of the query time changes")
    plan = proxyctl("plan", "--replay", "--format", "json").json["instances"][0]
    assert plan["replay"]["changed"]["digests"] == 1
    markdown = proxyctl("plan", "--replay", "--format", "markdown").out
    assert "**Replay: 60.0% of the query time changes" in markdown
    assert markdown.count("```") % 2 == 0
    said(proxyctl("plan", "--replay", "--format", "sql"), 64, "--replay")


def test_a_limit(seen: Project) -> None:
    seen.write(
        FILES.replace("destination_hostgroup: writer, apply", "error_msg: 'no', apply")
        + "  - {rule_id: 30, match_digest: '^UPDATE', error_msg: 'no'}\n"
    )
    assert len(replay("--format", "json").json["digests"]) == 2
    found = replay("--limit", "1")
    assert "... and 1 more (--limit lists more)" in found.out
    assert len(replay("--format", "json", "--limit", "0").json["digests"]) == 0


def test_a_rule_that_cannot_compile_never_matches(seen: Project) -> None:
    seen.write(FILES + "  - {rule_id: 5, match_digest: '(', error_msg: 'no', apply: true}\n")
    assert replay("--detailed-exitcode").code == 0
    said(proxyctl("plan"), 1, "rule")


SHARDED = (
    FILES.replace("mysql_query_rules:\n", "mysql_query_rules:\n")
    + "sharding:\n  - {name: t, tables: 't{1..2}', hostgroups: [writer, reader],"
    + " first_rule_id: 100, username: app}\n"
)


def test_shards_move_only_when_that_is_allowed(project: Project) -> None:
    project.write(SHARDED)
    applied()  # nobody was there: nothing moves
    project.write(SHARDED.replace("[writer, reader]", "[reader, writer]"))
    plan = proxyctl("plan")
    assert plan.code == 0
    assert "refused      sharding t: table t2 would go from 10 (writer) to 20" in plan.out
    assert "allow it with --allow-shard-moves" in plan.out
    found = proxyctl("plan", "--format", "json").json["instances"][0]
    assert {one["code"] for one in found["refusals"]} == {"shard_moves"}
    assert {one["name"] for one in found["shard_moves"]} == {"t2"}
    said(proxyctl("apply", "--auto-approve"), 3, "table t2", "--allow-shard-moves")
    moves = replay("--format", "json", "--detailed-exitcode")
    assert moves.code == 2
    assert moves.json["shard_moves"][0]["current"] == 10
    assert "shard move   sharding t: table t2" in replay().out
    saved = proxyctl("plan", "--allow-shard-moves", "--out", "reviewed.json")
    assert "warning      sharding t: table t2" in saved.out
    assert json.loads(Path("reviewed.json").read_text())["options"] == ["--allow-shard-moves"]
    assert proxyctl("apply", "reviewed.json").code == 0
