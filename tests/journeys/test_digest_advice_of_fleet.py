"""digest report --all and digest suggest --all: one page, and suggestions that fit all."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from proxyctl.sandbox import Sandbox
from tests.support.commands.cli import Project, proxyctl
from tests.support.commands.story import applied, ended, listed
from tests.support.digests.seen import TABLE, seen_digest
from tests.support.digests.stored import add_hour

FILES = """\
version: 1
hostgroups: {writer: {id: 10}, reader: {id: 20}}
mysql_servers:
  - {hostgroup_id: writer, hostname: db1}
  - {hostgroup_id: reader, hostname: db2}
mysql_users:
  - {username: app, password: {env: APP_PASSWORD}, default_hostgroup: writer}
mysql_query_rules:
  - {rule_id: 10, match_digest: '^SELECT.*FOR UPDATE', destination_hostgroup: writer, apply: true}
"""
NOW = int(time.time())
SMALL, READ = "SELECT code FROM countries", "SELECT total FROM orders WHERE id = 1"
DOWN = "{name: down, host: 127.0.0.1, port: 1}"


def _seen(query: str, calls: int) -> tuple[object, ...]:
    counts = {"count_star": calls, "sum_time": calls * 500, "max_time": 900}
    moments = {"first_seen": NOW - 1000, "last_seen": NOW, "sum_rows_sent": calls}
    return tuple(seen_digest(query, **counts, **moments))


@pytest.fixture
def fleet(offline: Project) -> Iterator[list[Sandbox]]:
    """Three sandboxes that run with FILES and have seen digests, in a project that lists them."""
    with ExitStack() as stack:
        sandboxes = [stack.enter_context(Sandbox()) for _ in range(3)]
        offline.write(FILES + listed([sandbox.port for sandbox in sandboxes]))
        for number in range(1, 4):
            applied("--instance", f"px{number}")
        for number, sandbox in enumerate(sandboxes, 1):
            sandbox.stats[TABLE] = [_seen(SMALL, 2000 * number), _seen(READ, 60)]
        yield sandboxes


def _add(offline: Project, fleet: list[Sandbox], more: str) -> None:
    offline.write(FILES + listed([sandbox.port for sandbox in fleet], more))


def page(project: Project) -> str:
    return (project.folder / "page.html").read_text(encoding="utf-8")


def test_a_page_has_the_sums_and_the_load_by_instance(
    offline: Project, fleet: list[Sandbox]
) -> None:
    found = proxyctl("digest", "report", "--all", "-o", "page.html")
    assert found.code == 0, found.text
    assert "2 digests reported in page.html" in found.err
    text = page(offline)
    assert "<h1>Digests of px1, px2, px3</h1>" in text
    assert "on 3 instances. Everything that they counted, the earliest since" in text
    assert f"<dt>Queries</dt><dd>{2000 * 6 + 180:,}</dd>" in text
    chart = text[text.index("<h2>By instance</h2>") :]
    shares = re.findall(r"<li title=\"(px\d): ([\d,]+) queries", chart[: chart.index("</ul>")])
    assert shares == [("px3", "6,060"), ("px2", "4,060"), ("px1", "2,060")]
    assert ">Instances</button>" in text
    assert "<td>px3, px2 +1</td>" in text


def test_a_page_names_the_instances_that_it_lacks(offline: Project, fleet: list[Sandbox]) -> None:
    _add(offline, fleet, DOWN)
    found = proxyctl("digest", "report", "--all", "-o", "page.html")
    ended(found, 1, "cannot connect to 127.0.0.1:1", "note: down: could not be read, so left out")
    assert "down: could not be read, so left out" in page(offline)
    ended(
        proxyctl("digest", "report", "--all", "-o", "page.html", "x.jsonl"),
        64,
        "leave out the snap",
    )
    (offline.folder / "page.html").unlink()
    offline.write(f"version: 1\ninstances: [{DOWN}]\n")
    ended(proxyctl("digest", "report", "--all", "-o", "page.html"), 1, "cannot connect")
    assert not (offline.folder / "page.html").exists()


def test_a_page_of_one_instance_has_no_load_by_instance(
    offline: Project, fleet: list[Sandbox]
) -> None:
    found = proxyctl("digest", "report", "--instance", "px1", "-o", "page.html")
    assert found.code == 0, found.text
    assert "By instance" not in page(offline)
    assert ">Instances</button>" not in page(offline)


def test_suggestions_see_the_sums_of_all(offline: Project, fleet: list[Sandbox]) -> None:
    document = proxyctl("digest", "suggest", "--all", "--format", "json").json
    assert [instance["name"] for instance in document["instances"]] == ["px1", "px2", "px3"]
    assert (document["digests"], document["failed"]) == (2, [])
    by_kind = {
        (suggestion["kind"], suggestion["digest_text"]): suggestion
        for suggestion in document["suggestions"]
    }
    reads = by_kind["reads", "SELECT total FROM orders WHERE id = ?"]
    assert reads["rule"]["destination_hostgroup"] == 20
    alone = proxyctl("digest", "suggest", "--instance", "px1", "--format", "json").json
    texts = {
        suggestion["digest_text"]
        for suggestion in alone["suggestions"]
        if suggestion["kind"] == "reads"
    }
    assert "SELECT total FROM orders WHERE id = ?" not in texts  # 60 calls are too few
    # 4 a second and instance, of which a cache of one second answers 3.
    cached = by_kind["cache", "SELECT code FROM countries"]
    assert cached["evidence"]["calls"] == 12_000
    seconds = int(time.time()) + 1 - (NOW - 1000)
    assert 12_000 - 3 * seconds <= cached["evidence"]["saved_calls"] <= 12_000 - 3 * 1000
    text = proxyctl("digest", "suggest", "--all").out
    assert text.startswith("3 instances: px1, px2, px3: ")
    assert "each instance has its own cache" in text


def test_suggestions_need_the_same_rules_everywhere(offline: Project, fleet: list[Sandbox]) -> None:
    fleet[1].run("UPDATE mysql_query_rules SET destination_hostgroup = 20")
    fleet[1].run("LOAD MYSQL QUERY RULES TO RUNTIME")
    found = proxyctl("digest", "suggest", "--all")
    ended(found, 3, "px2: different rules, users or routing variables than px1, px3", "--instance")
    fleet[1].run("UPDATE mysql_query_rules SET destination_hostgroup = 10")
    fleet[1].run("LOAD MYSQL QUERY RULES TO RUNTIME")
    fleet[2].run("SET mysql-query_digests_track_hostname='true'")
    fleet[2].run("LOAD MYSQL VARIABLES TO RUNTIME")
    found = proxyctl("digest", "suggest", "--all")
    ended(found, 3, "px3: different mysql-query_digests variables than px1, px2")


def test_no_apply_changes_another_version(offline: Project, fleet: list[Sandbox]) -> None:
    with Sandbox(version="3.0.3") as newer:
        instance = f"{{name: px4, host: 127.0.0.1, port: {newer.port}, password: admin}}"
        _add(offline, fleet, instance)
        found = proxyctl("digest", "suggest", "--all")
    ended(
        found, 3, "px4: a different version than px1, px2, px3", "fix: choose one with --instance"
    )


def test_suggestions_name_the_instances_that_they_lack(
    offline: Project, fleet: list[Sandbox]
) -> None:
    _add(offline, fleet, DOWN)
    found = proxyctl("digest", "suggest", "--all", "--format", "json")
    ended(found, 1, "cannot connect to 127.0.0.1:1")
    assert [instance["name"] for instance in found.json["failed"]] == ["down"]
    offline.write(f"version: 1\ninstances: [{DOWN}]\n")
    found = proxyctl("digest", "suggest", "--all")
    ended(found, 1, "no instance could be read", "down: cannot connect to 127.0.0.1:1")
    ended(
        proxyctl("digest", "suggest", "--all", "--digests", "x"),
        64,
        "--digests cannot be used with",
    )


def test_suggestions_of_a_time_in_a_store(offline: Project, fleet: list[Sandbox]) -> None:
    store, code = Path("digests.db"), "SELECT code FROM countries"
    for name in ("px1", "px3", "gone"):
        row = seen_digest(code, **{"count_star": 9000, "sum_time": 9000 * 500})
        add_hour(store, name, NOW, [row])
    arguments = ("digest", "suggest", "--all", "--store", str(store), "--since", "2h")
    found = proxyctl(*arguments, "--format", "json")
    ended(found, 1, "digests.db: nothing was counted at px2 in this period", "digest collect --all")
    assert "note: gone: in the store but not in the files, so left out" in found.err
    assert [instance["name"] for instance in found.json["instances"]] == ["px1", "px3"]
    [reads] = [
        suggestion for suggestion in found.json["suggestions"] if suggestion["kind"] == "reads"
    ]
    assert (reads["digest_text"], reads["evidence"]["calls"]) == (code, 18_000)
    add_hour(store, "px2", NOW, [row])
    assert proxyctl(*arguments).code == 0
    alone = proxyctl("digest", "suggest", "--store", str(store))
    ended(
        alone, 64, "use --all for each with its own rules, or choose one with --instance: gone, px"
    )
