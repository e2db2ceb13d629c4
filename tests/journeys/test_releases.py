"""What a plan and an apply say of the release of ProxySQL at hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from proxyctl.catalog import NO_DEVIATIONS, Deviations, parse_version
from proxyctl.catalog.releases import NEWEST_KNOWN
from proxyctl.config.sections.fast_routing import COMMENT
from proxyctl.sandbox import Sandbox
from tests.journeys.story import applied, plan
from tests.support.cli import Project
from tests.support.servers import Instance

Release = Callable[[str], Sandbox]
OF_TOMORROW = Deviations(variables=frozenset({"mysql-of_tomorrow"}))
TIMEOUT = "version: 1\nvariables:\n  mysql-default_query_timeout: 5000\n"


@pytest.fixture
def release(offline: Project) -> Iterator[Release]:
    """A function that starts a sandbox of a release, to which the files belong."""
    with ExitStack() as stack:

        def start(version: str) -> Sandbox:
            is_known = parse_version(version) <= NEWEST_KNOWN
            deviations = NO_DEVIATIONS if is_known else OF_TOMORROW
            sandbox = stack.enter_context(Sandbox(version, deviations=deviations))
            offline.connect(Instance(sandbox.host, sandbox.port, sandbox=sandbox))
            return sandbox

        yield start


@pytest.mark.parametrize(("version", "is_counted"), [("3.0.9", False), ("3.0.10", True)])
def test_an_apply_shows_how_many_variables_a_load_counted(
    offline: Project, release: Release, version: str, is_counted: bool
) -> None:
    sandbox = release(version)
    offline.write(TIMEOUT)
    [(count,)] = sandbox.query(
        "SELECT count(*) FROM global_variables WHERE variable_name LIKE 'mysql-%'"
    )
    said = applied().err
    words = f"LOAD MYSQL VARIABLES TO RUNTIME: Records: {count} Updated: {count} Rejected: 0"
    assert (words in said) == is_counted, said
    assert plan().code == 0


@pytest.mark.parametrize(("version", "is_said"), [("3.0.12", False), ("3.0.14", True)])
def test_a_plan_for_a_release_that_is_newer_than_what_is_known_says_so(
    offline: Project, release: Release, version: str, is_said: bool
) -> None:
    release(version)
    offline.write(TIMEOUT)
    words = "ProxySQL 3.0.14 is newer than 3.0.12, the newest known release: columns and variables"
    assert (words in plan().out) == is_said
    applied()
    assert "newer" not in plan().out


def test_a_plan_says_why_the_rule_that_kept_fast_routing_alive_goes(
    offline: Project, release: Release
) -> None:
    sandbox = release("3.0.12")
    sandbox.run(
        f"INSERT INTO mysql_query_rules (rule_id, active, comment) VALUES (2, 1, '{COMMENT}')"
    )
    sandbox.run("LOAD MYSQL QUERY RULES TO RUNTIME")
    offline.write("version: 1\nmysql_query_rules: []\n")
    why = "rule 2 kept fast routing alive, which ProxySQL needs no longer from 3.0.9 on"
    assert why in plan().text
