"""The page about JSON names every key that is written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from proxyctl import errors
from proxyctl.apply.result import ApplyResult, ModuleResult
from proxyctl.catalog import REFERENCE
from proxyctl.cli.output import error_object
from proxyctl.doctor.finding import Examination, Finding
from proxyctl.fleet.outcome import Fleet
from proxyctl.instance.backend import Said
from proxyctl.instance.cluster import PeerResult
from proxyctl.lint.check import all_checks
from proxyctl.lint.run import lint
from proxyctl.lint.subject import Subject
from proxyctl.nodes.discover import Membership
from proxyctl.nodes.model import Check, NodeGroup, NodeReport, NodeView, Place
from proxyctl.plan.plan import Plan, Refusal, ShardMove
from proxyctl.plan.saved import save
from proxyctl.render.apply import apply_json
from proxyctl.render.digest_diff import DIFF
from proxyctl.render.digest_suggest import suggest_json
from proxyctl.render.digest_top import TOP
from proxyctl.render.doctor import DOCTOR
from proxyctl.render.drift import drifts_json
from proxyctl.render.explain import EXPLAINED
from proxyctl.render.history import HISTORY, TAKEN
from proxyctl.render.lint import LINT
from proxyctl.render.nodes import DRAINED, MEMBERSHIP, NODE, NODES, RESTORED, Instance
from proxyctl.render.plan import PLAN, plans_json
from proxyctl.render.replay import REPLAYED, replay_json
from proxyctl.render.rules import RULES
from proxyctl.render.tests import routing_tests_json
from proxyctl.routing import Request
from proxyctl.routing.explain import Explainer
from proxyctl.routing.sides import Sides
from proxyctl.routing.tests import RoutingTest, run
from proxyctl.snapshots.snapshot import Header, Kept
from proxyctl.snapshots.taking import Taken
from proxyctl.state.configuration import Configuration, Held
from proxyctl.state.row import Where
from proxyctl.stats.counters import tally
from proxyctl.stats.diff import compare
from proxyctl.stats.model import DigestTable, Group, SeenDigest
from proxyctl.stats.model import Load as TopLoad
from proxyctl.stats.replay.result import replay
from proxyctl.stats.rule_hits import Sample, rule_report
from proxyctl.stats.suggest.found import Kind
from proxyctl.stats.suggest.run import suggest
from proxyctl.stats.top.listing import Caught, Fate, Top, TopOptions, TopRow
from tests.docs.pages import ROOT
from tests.support.build import desired, diff, layout, module_plan, rows

PAGES = ("json.md", "json-routing.md", "json-digests.md", "json-nodes.md", "json-doctor.md")
PAGE = "\n".join((ROOT / "docs" / "reference" / name).read_text("utf-8") for name in PAGES)
FREE = (
    *("fields", "tables", "settings", "hints", "sets", "broken", "texts"),
    *("hostgroups", "evidence", "left_out", "thresholds", "rule"),
    *("wsrep", "variables"),
)
"""Below these the keys are columns, tables, remarks, and names that stand elsewhere."""

USERS = module_plan(diff(desired("mysql_users", {"username": "app", "password": "x"}), {}))
HEADER = Header("h:6032", "2.7.1", "apply", ("a",), changes={"MYSQL USERS": {"add": 1}})
KEPT = Kept(1, "s", Path("s.jsonl.gz"), 1, HEADER)
USERS_PLAN = Plan("px1", "h:6032", "2.7.1", [USERS], [Refusal("code", "why", "--force")])


def keys(value: object, *, is_free: bool = False) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if not is_free:
                yield key
            yield from keys(inner, is_free=key in FREE)
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner)


def documents() -> Iterator[object]:
    yield json.loads(plans_json(Fleet.of(USERS_PLAN), is_all=False))
    yield json.loads(drifts_json(Fleet.of(USERS_PLAN), is_all=False))
    peer = PeerResult("px2:6032", ("MYSQL USERS: why",))
    yield json.loads(
        apply_json(USERS_PLAN, ApplyResult([ModuleResult("MYSQL USERS")], peers=[peer]))
    )
    yield json.loads(save(USERS_PLAN, {}, "", paths=["a"], variables=["b"], options=["--force"]))
    mistake = errors.Mistake("a", 1, 1, "key", "wrong")
    yield error_object(errors.ConfigError([mistake]))
    yield error_object(errors.RefusedError("no", reasons=["why"]))
    yield error_object(errors.ApplyError("no", layers=["MYSQL USERS"]))
    yield {"valid": True, "tables": {}}
    yield json.loads(HISTORY.document([KEPT], address="h:6032"))
    yield json.loads(TAKEN.document(Taken(Path("s.json"), 1, 1), address="h:6032"))
    yield from routing_documents()
    yield from digest_documents()
    yield from node_documents()


def node_documents() -> Iterator[object]:
    place = Place(10, "ONLINE", 1, 1000)
    node = ("n1", 3306)
    view = NodeView(node, (place,), (place,), Check(datetime.now(UTC)), Said())
    group = NodeGroup((10,), None, (view,))
    yield json.loads(NODES.document(NodeReport("px1", "h:6032", "2.7.1", (group,), {10: "writer"})))
    instance = Instance("px1", "h:6032", "2.7.1")
    yield json.loads(DRAINED.document(instance, **NODE.encode(node), was_before=False, unused=True))
    yield json.loads(RESTORED.document(instance, **NODE.encode(node), was_drained=True))
    found = Membership("shop", {node: Said()}, (10,), (node,), (node,), 1, (node,))
    yield json.loads(MEMBERSHIP.document(found, **vars(instance), section=None))
    finding = Finding("digests-off", "mysql-query_digests", "digests are off", "switch them on")
    yield json.loads(DOCTOR.document(Examination("px1", "h:6032", "2.7.1", (finding,))))


def routing_documents() -> Iterator[object]:
    rules = [
        {"rule_id": 1, "match_pattern": "a(", "negate_match_pattern": 1},
        {"rule_id": 2, "match_digest": "^SELECT", "destination_hostgroup": 10},
    ]
    rules[0]["attributes"] = '{"flagOUTs": [{"id": 0, "weight": 1}, {"id": 0, "weight": 1}]}'
    configuration = held(
        mysql_query_rules=rules,
        mysql_servers=[{"hostgroup_id": 10, "hostname": "a"}],
        mysql_users=[{"username": "app", "password": "x", "default_hostgroup": 10}],
    )
    explainer = Explainer(configuration)
    answer = explainer.answer(Request(b"SELECT 1", username="app"))
    yield {"queries": [json.loads(EXPLAINED.document(answer))]}
    where = Where("f.yaml", 1, 1)
    tests = [RoutingTest("SELECT 1", {"hostgroup": 7}, where)]
    yield json.loads(routing_tests_json(list(run(tests, explainer)), []))
    yield json.loads(LINT.document(lint(Subject(configuration), all_checks().values())))
    other = held(
        mysql_query_rules=[{**rules[1], "destination_hostgroup": 20}],
        mysql_users=[{"username": "app", "default_hostgroup": 10}],
    )
    digest = "0x1C46AE529DD5A40E"
    seen = [
        SeenDigest(hostgroup, "db", "app", "", digest, "SELECT ?", 1, 1, 1, 1, 1, 1)
        for hostgroup in (10, 99)
    ]
    report = replay(DigestTable("", "", "2.7.1", 0, seen), Sides(configuration, other))
    move = ShardMove("s", "table", "t", 1, 2, "moves")
    yield json.loads(replay_json(report, [move]))
    replayed = REPLAYED.encode(report)
    yield PLAN.encode(replace(USERS_PLAN, shard_moves=[move]), replay=replayed)


def digest_documents() -> Iterator[object]:
    digest, text = "0x1C46AE529DD5A40E", "SELECT ?"
    fate = Fate(10, "rule 1", 1)
    row = TopRow(
        dict.fromkeys(Group, digest), text, False, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1.0, 1.0,
        (Caught((fate,), TopLoad()),),
    )  # fmt: skip
    total = TopLoad(1, 1, 1)
    options = TopOptions(groups=tuple(Group))
    yield json.loads(
        TOP.document(Top("px1", "h:6032", "2.7.1", 1, options, (row,), total, total, 1))
    )
    seen = SeenDigest(10, "db", "app", "", digest, text, 5_000, 1, 2, 9_000_000, 1, 1, 0, 5_000)
    shots = [
        DigestTable("px1", "h:6032", version, 1, [seen], uptime=1) for version in ("2.6.0", "2.7.1")
    ]
    sides = [tally(shot, tuple(Group)) for shot in shots]
    yield json.loads(DIFF.document(compare(*sides)))
    peers = [seen._replace(digest=f"0x{n:016X}", sum_time=n * 5_000_000) for n in range(1, 8)]
    slow = seen._replace(sum_time=5_000_000_000)
    table = DigestTable("", "", "2.7.1", 0, [*peers, slow])
    found = suggest(table, held(), only=[Kind.SLOW])
    yield json.loads(suggest_json(found, lambda _rules: "mysql_query_rules:"))
    sample = Sample(1.0, {1: 5}, {1: {"rule_id": 1}})
    yield json.loads(RULES.document(rule_report("px1", "h:6032", "2.7.1", sample, sample)))


def held(**tables: list[dict[str, object]]) -> Configuration:
    return Configuration(
        REFERENCE, {name: Held(layout(name), rows(name, *cells)) for name, cells in tables.items()}
    )


def test_every_key_is_explained() -> None:
    places = re.findall(r"^\| (`.+?) \||^A mistake has (.+?)\n\n", PAGE, flags=re.M | re.S)
    explained = {name for place in places for name in re.findall(r"`(\w+)`", "".join(place))}
    written = {key for document in documents() for key in keys(document)}
    assert written - explained == set()
    assert explained - written == set()
