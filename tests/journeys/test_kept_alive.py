"""The rule that kept fast routing alive, on a release that does not need it."""

from __future__ import annotations

from proxyctl.catalog import parse_version
from proxyctl.config.sections.fast_routing import COMMENT
from tests.journeys.story import plan
from tests.support.cli import Project
from tests.support.servers import sandbox_of


def test_a_plan_says_why_the_rule_goes(offline: Project) -> None:
    with sandbox_of(parse_version("3.0.12")) as instance:
        offline.connect(instance)
        instance.execute(
            f"INSERT INTO mysql_query_rules (rule_id, active, comment) VALUES (2, 1, '{COMMENT}')"
        )
        instance.execute("LOAD MYSQL QUERY RULES TO RUNTIME")
        offline.write("version: 1\nmysql_query_rules: []\n")
        found = plan()
    assert (
        "rule 2 kept fast routing alive, which ProxySQL needs no longer from 3.0.9 on" in found.text
    )
