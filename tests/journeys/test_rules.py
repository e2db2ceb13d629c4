"""The command rules: which rules are hit, and how often."""

from __future__ import annotations

from tests.journeys.story import FILES, applied
from tests.support.cli import Project, proxyctl


def test_rules_without_a_hit_are_listed(project: Project) -> None:
    project.write(FILES)
    applied()
    found = proxyctl("rules")
    assert found.code == 0, found.text
    assert "0 hits since the rules were last loaded" in found.out
    assert "never hit since the rules were last loaded: 10, 20" in found.out
    report = proxyctl("rules", "--format", "json", "--interval", "0.1").json
    assert report["never_hit"] == [10, 20]
    assert [one["hits_per_s"] for one in report["rules"]] == [0.0, 0.0]
    assert report["was_reloaded"] is False


def test_no_rules(project: Project) -> None:
    assert "No query rules at RUNTIME" in proxyctl("rules").out
