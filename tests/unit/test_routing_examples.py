"""Every routing test of the examples and templates holds in the evaluator."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from proxyctl.config.files import Sources
from proxyctl.config.project import load_project
from proxyctl.routing import FastRouting, Request, Router, frontends
from proxyctl.routing.digest import Digester
from tests.support.build import layout

ROOT = Path(__file__).parents[2]
FOLDERS = sorted(
    {
        file.parent
        for place in ("examples", "templates")
        for file in (ROOT / place).rglob("*.y*ml*")
        if "routing_tests:" in file.read_text(encoding="utf-8")
    }
)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(ROOT)))
def test_routing_tests(folder, monkeypatch):
    for file in folder.glob("*.y*ml*"):
        for name in re.findall(r"\{env: (\w+)\}", file.read_text(encoding="utf-8")):
            monkeypatch.setenv(name, "example")
    project = load_project(Sources((str(folder),), {}))

    def rows(table):
        given = project.desired.tables.get(table)
        return list(given.rows.values()) if given else []

    router = Router(
        layout("mysql_query_rules"),
        rows("mysql_query_rules"),
        digest_of=Digester().digest,
        fast_routing=FastRouting(
            layout("mysql_query_rules_fast_routing"), rows("mysql_query_rules_fast_routing")
        ),
        users=frontends(layout("mysql_users"), rows("mysql_users")),
    )
    assert project.routing_tests
    for test in project.routing_tests:
        route = router.evaluate(
            Request(
                test.query.encode(),
                test.username,
                test.schemaname,
                test.client_addr,
                test.proxy_addr,
                test.proxy_port,
                test.flagIN,
            )
        )
        found = {
            "hostgroup": route.destination_hostgroup,
            "rule_id": route.matched_rules[-1] if route.matched_rules else None,
            "rewritten": route.rewritten_query and route.rewritten_query.decode(),
        }
        expected = {name: test.expect[name] for name in found if name in test.expect}
        assert {name: found[name] for name in expected} == expected, test.where
