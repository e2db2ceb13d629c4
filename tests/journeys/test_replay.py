"""Replay of digests under the rules of the files: saved, in a plan, and for shards."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.commands.cli import Outcome, Project, proxyctl
from tests.support.commands.story import FILES, SHARDED, applied, ended
from tests.support.digests.seen import SEEN, fill
from tests.support.servers.instances import Instance


@pytest.fixture
def seen(sandbox_project: Project, sandbox_instance: Instance) -> Project:
    """An instance that runs with FILES and has seen SEEN."""
    sandbox_project.write(FILES)
    applied()
    fill(sandbox_instance, SEEN)
    return sandbox_project


def replay(*arguments: str) -> Outcome:
    return proxyctl("replay", *arguments)


def test_saved_digests_are_replayed_without_the_statistics(
    seen: Project, sandbox_instance: Instance
) -> None:
    seen.write(FILES.replace("hostgroup: reader, apply", "hostgroup: writer, apply"))
    first = replay("--format", "json")
    assert first.code == 0, first.text
    assert proxyctl("digest", "snapshot", "-o", "digests.jsonl").code == 0
    saved = seen.folder / "digests.jsonl"
    assert saved.stat().st_mode & 0o777 == 0o600
    header = json.loads(saved.read_text().splitlines()[0])
    assert (header["kind"], header["format"], header["count"]) == ("proxyctl digests", 1, 3)
    fill(sandbox_instance, [])
    assert "has seen no digests" in replay().out
    again = replay("--format", "json", "--digests", "digests.jsonl")
    assert {**again.json, "taken_at": 0} == {**first.json, "taken_at": 0}


def test_a_plan_appends_the_replay(seen: Project) -> None:
    seen.write(FILES.replace("hostgroup: reader, apply", "hostgroup: writer, apply"))
    text = proxyctl("plan", "--replay").out
    assert text.index("Plan: 0 to add") < text.index("Replay: 60.0% of the query time changes")
    plan = proxyctl("plan", "--replay", "--format", "json").json["instances"][0]
    assert plan["replay"]["changed"]["digests"] == 1
    markdown = proxyctl("plan", "--replay", "--format", "markdown").out
    assert "**Replay: 60.0% of the query time changes" in markdown
    assert markdown.count("```") % 2 == 0
    ended(proxyctl("plan", "--replay", "--format", "sql"), 64, "--replay")


def test_shards_move_only_when_that_is_allowed(project: Project) -> None:
    project.write(SHARDED)
    applied()  # nobody was there: nothing moves
    project.write(SHARDED.replace("[writer, reader]", "[reader, writer]"))
    plan = proxyctl("plan")
    assert plan.code == 0
    assert "               sharding t: table t2 would go from 10 (writer) to 20" in plan.out
    assert "allow it with --allow-shard-moves" in plan.out
    found = proxyctl("plan", "--format", "json").json["instances"][0]
    assert {refusal["code"] for refusal in found["refusals"]} == {"shard_moves"}
    assert {move["name"] for move in found["shard_moves"]} == {"t2"}
    ended(proxyctl("apply", "--auto-approve"), 3, "table t2", "--allow-shard-moves")
    moves = replay("--format", "json", "--detailed-exitcode")
    assert moves.code == 2
    assert moves.json["shard_moves"][0]["current"] == 10
    assert "shard move   sharding t: table t2" in replay().out
    saved = proxyctl("plan", "--allow-shard-moves", "--out", "reviewed.plan")
    assert "warning      sharding t: table t2" in saved.out
    assert json.loads(Path("reviewed.plan").read_text())["options"] == ["--allow-shard-moves"]
    assert proxyctl("apply", "reviewed.plan").code == 0
