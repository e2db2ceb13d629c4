"""apply --all where an instance cannot be read: nobody is changed, unless somebody says so."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from proxyctl.sandbox import AdminError, Sandbox
from tests.journeys.fleet import RULE, SERVERS, hold_lock_of, listed
from tests.journeys.story import said
from tests.support.cli import Outcome, Project, proxyctl
from tests.support.servers import Instance, free_port

SKIP = "--skip-unreachable"


def apply(*arguments: str) -> Outcome:
    return proxyctl("apply", "--all", "--auto-approve", "--max-unavailable", "4", *arguments)


def loaded(ports: list[int]) -> list[str | None]:
    """Return how many servers each instance has at RUNTIME."""
    count = "SELECT count(*) FROM runtime_mysql_servers"
    return [Instance("127.0.0.1", port).query(count)[0][0] for port in ports]


@pytest.fixture
def gone(offline: Project, ports: list[int]) -> str:
    """Three instances of which nobody has the files, and a fourth one that is not there."""
    text = listed(ports, f"{{name: gone, host: 127.0.0.1, port: {free_port()}}}")
    offline.write(SERVERS + text)
    return text


def test_one_that_cannot_be_reached_stops_all(gone: str, ports: list[int]) -> None:
    found = apply()
    said(found, 1, "no instance was changed: gone could not be read", SKIP)
    assert "error: cannot connect to 127.0.0.1" in found.out
    assert "batch" not in found.err
    assert loaded(ports) == ["0", "0", "0"]


def test_the_others_are_changed_where_it_may_be_skipped(gone: str, ports: list[int]) -> None:
    found = apply(SKIP)
    assert found.code == 4, found.text
    assert found.out.endswith("Fleet of 4 instances: 3 applied: px1, px2, px3; 1 not read: gone.\n")
    assert loaded(ports) == ["1", "1", "1"]
    again = apply(SKIP)
    assert again.code == 1, again.text
    assert again.out.endswith("Fleet of 4 instances: 3 in sync, 1 not read: gone.\n")


def test_so_is_one_that_is_gone_after_its_plan(offline: Project) -> None:
    with ExitStack() as stack:
        made = [stack.enter_context(Sandbox()) for _ in range(3)]
        made[1].options.before_statement = refuse_locks
        ports = [one.port for one in made]
        offline.write(SERVERS + listed(ports))
        found = apply(SKIP)
        said(found, 4)
        last = "Fleet of 3 instances: 2 applied: px1, px3; 1 not read: px2.\n"
        assert found.out.endswith(last)
        assert loaded(ports) == ["1", "0", "1"]


def refuse_locks(sql: str) -> None:
    if "proxyctl_lock" in sql:
        raise AdminError("disk I/O error")


def test_with_one_skipped_and_the_first_one_failing_nothing_was_changed(
    gone: str, ports: list[int]
) -> None:
    hold_lock_of(ports[0])
    command = ("apply", "--all", "--auto-approve", SKIP, "--lock-timeout", "0")
    found = proxyctl(*command)
    assert found.code == 3, found.text
    assert loaded(ports) == ["0", "0", "0"]


def test_files_that_are_wrong_for_one_are_not_skipped(offline: Project, ports: list[int]) -> None:
    vars_of = (
        "  - {{name: px{0}, host: 127.0.0.1, port: {1}, password: admin, vars: {{id: {2}}}}}\n"
    )
    lines = [vars_of.format(n, port, n if n < 3 else "x") for n, port in enumerate(ports, 1)]
    offline.write("version: 1\ninstances:\n" + "".join(lines))
    offline.write(RULE.replace("rule_id: 1", "rule_id: {{ id }}"), "rules.yaml.j2")
    found = apply(SKIP, "-f", "proxyctl.yaml", "-f", "rules.yaml.j2")
    said(found, 1, "no instance was changed: there is no plan for px3")
    for port in ports:
        rules = Instance("127.0.0.1", port).query("SELECT count(*) FROM runtime_mysql_query_rules")
        assert rules == [("0",)]
