"""apply --all where an instance cannot be looked at before the first batch.

Without that nobody could tell whether it does worse after its change.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from proxyctl.sandbox import AdminError, Sandbox
from tests.journeys.story import said
from tests.journeys.test_fleet import SERVERS, listed, make_members
from tests.journeys.test_fleet_unreachable import SKIP, loaded
from tests.support.cli import Outcome, Project, proxyctl


@pytest.fixture
def ports(offline: Project) -> Iterator[list[int]]:
    """Three instances; the second one has a plan, and refuses to say how it does."""

    def refuse(sql: str) -> None:
        if "stats_mysql_errors" in sql:
            raise AdminError("no such table: stats_mysql_errors")

    with ExitStack() as stack:
        made = [stack.enter_context(Sandbox()) for _ in range(3)]
        made[1].options.before_statement = refuse
        ports = [one.port for one in made]
        offline.write(SERVERS + listed(ports))
        yield ports


def apply(*arguments: str) -> Outcome:
    return proxyctl("apply", "--all", "--auto-approve", "--settle", "0.1", *arguments)


@pytest.mark.parametrize("more", [(), ("--rollback-on-failure",), ("--strategy", "canary")])
def test_none_is_changed(ports: list[int], more: tuple[str, ...]) -> None:
    found = apply(*more)
    said(found, 1)
    assert f"px2  127.0.0.1:{ports[1]}: failed\n" in found.out
    assert "no such table: stats_mysql_errors" in found.out
    assert found.out.endswith("Fleet of 3 instances: 1 failed: px2; 2 not touched: px1, px3.\n")
    assert "batch" not in found.err
    assert loaded(ports) == ["0", "0", "0"]


@pytest.mark.parametrize("more", [(), ("--rollback-on-failure",)])
def test_the_others_are_changed_where_it_may_be_skipped(
    ports: list[int], more: tuple[str, ...]
) -> None:
    found = apply(SKIP, *more)
    said(found, 4)
    assert "px2: left out: " in found.err
    assert found.out.endswith("Fleet of 3 instances: 2 applied: px1, px3; 1 not read: px2.\n")
    assert loaded(ports) == ["1", "0", "1"]


def test_of_a_cluster_no_member_is_changed_then(ports: list[int]) -> None:
    make_members(ports[:2])
    found = apply(SKIP)
    said(found, 4)
    assert found.out.endswith(
        "Fleet of 3 instances: 1 applied: px3; 1 not touched: px1; 1 not read: px2.\n"
    )
    assert loaded(ports) == ["0", "0", "1"]


def test_who_looks_at_none_changes_it(ports: list[int]) -> None:
    found = apply("--settle", "0")
    assert found.code == 0, found.text
    assert loaded(ports) == ["1", "1", "1"]
