"""What somebody sees who starts the sandbox with the sample shop and asks for statistics."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.support.cli import Project, proxyctl
from tests.support.servers import Instance


@pytest.fixture
def shop(sandbox_project: Project, sandbox_instance: Instance) -> Project:
    assert sandbox_instance.sandbox is not None
    sandbox_instance.sandbox.fill_with_sample()
    return sandbox_project


def shown(*arguments: str) -> str:
    found = proxyctl(*arguments)
    assert found.code == 0, found.text
    return found.out


def wait_for_queries(instance: Instance) -> None:
    """Wait until the shop has sent queries in a later second."""
    for asked in (
        "SELECT strftime('%s','now')",
        "SELECT sum(count_star) FROM stats_mysql_query_digest",
    ):
        before, deadline = instance.query(asked), time.monotonic() + 60
        while instance.query(asked) == before:
            assert time.monotonic() < deadline
            time.sleep(0.05)


@pytest.mark.usefixtures("shop")
def test_every_kind_of_suggestion_is_there() -> None:
    found = proxyctl("digest", "suggest", "--format", "json").json["suggestions"]
    kinds = {one["kind"] for one in found}
    assert kinds == {"reads", "cache", "slow"}


@pytest.mark.usefixtures("shop")
def test_the_lists_name_rules_and_hits() -> None:
    assert "-> hostgroup 20 by rule 240" in shown("digest", "top", "--rule")
    assert "never hit since the rules were last loaded: 10, 20, 250, 900" in shown("rules")


def test_a_snapshot_can_be_compared_and_reported(shop: Project, sandbox_instance: Instance) -> None:
    shown("digest", "snapshot", "-o", "before.gz")
    wait_for_queries(sandbox_instance)
    found = proxyctl("digest", "diff", "before.gz", "--format", "json").json
    assert found["after"]["count_star"] > 0
    assert found["remarks"] == []
    shown("digest", "report", "before.gz", "-o", "report.html")
    assert "settings" in Path("report.html").read_text(encoding="utf-8")


def test_what_is_exported_is_a_configuration_without_differences(shop: Project) -> None:
    shown("export", "-o", "proxyctl.yaml")
    assert "No changes" in shown("plan")
    assert "nothing changes for any of 19 digests" in shown("replay")


def test_a_sample_is_not_written_into_a_file(tmp_path: Path) -> None:
    found = proxyctl("sandbox", "--sample", "--disk", str(tmp_path / "disk"))
    assert found.code == 64
    assert "--sample and --disk" in found.err
