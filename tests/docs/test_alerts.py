"""The alerts of the example: metrics that exist, and when they fire."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import Any

import pytest
import yaml

from proxyctl.plan.plan import LintErrors
from proxyctl.rows.row import Layer
from proxyctl.watch.metrics import WatchCollector
from proxyctl.watch.status import InstanceStatus, PlanFigures, WatchStatus
from tests.support.kubernetes import EXAMPLE
from tests.support.paths import ROOT

ALERTS = EXAMPLE / "alerts.yaml"
CASES = ROOT / "tests" / "docs" / "alerts_fire.yaml"
RULES: list[dict[str, Any]] = [
    rule for group in yaml.safe_load(ALERTS.read_text("utf-8"))["groups"] for rule in group["rules"]
]
OF_PROMETHEUS = {"job", "instance"}
"""Labels that Prometheus adds to every metric."""
every_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])


def labels_by_metric() -> dict[str, set[str]]:
    """Return every metric of a watch with the labels that it may have."""
    plan = PlanFigures(
        {"MYSQL USERS": True}, {Layer.RUNTIME: 0}, {"table_emptied": 1}, LintErrors(0, 0)
    )
    instance = InstanceStatus(
        "px1", "10.0.0.1:6032", is_up=True, plan=plan, planned_at=1.0, applied_at=1.0
    )
    status = WatchStatus([instance], 1, ended_at=1.0, files_changed_at=1.0)
    return {
        sample.name: {*sample.labels}
        for family in WatchCollector(lambda: status).collect()
        for sample in family.samples
    }


def promtool(*arguments: str) -> None:
    """Run promtool, or skip the test."""
    tool = shutil.which("promtool") or pytest.skip("no promtool on PATH: the alerts are not tried")
    done = subprocess.run([tool, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@every_rule
def test_an_alert_is_about_metrics_of_the_watch(rule: dict[str, Any]) -> None:
    known = labels_by_metric()
    metrics = re.findall(r"\bproxyctl_\w+", rule["expr"])
    assert metrics
    assert {*metrics} <= known.keys()
    grouped = re.findall(r"\b(?:by|on) \(([^)]*)\)", rule["expr"])
    labels = {label for group in grouped for label in group.split(", ")}
    labels |= {*re.findall(r"\$labels\.(\w+)", str(rule["annotations"]))}
    assert labels <= OF_PROMETHEUS.union(*(known[metric] for metric in metrics))


@every_rule
def test_an_alert_says_what_to_do(rule: dict[str, Any]) -> None:
    assert rule["labels"]["severity"] in ("warning", "critical")
    assert rule["annotations"].keys() == {"summary", "description"}
    assert all(text.endswith(".") for text in rule["annotations"].values())


def test_every_alert_has_a_case() -> None:
    cases = yaml.safe_load(CASES.read_text("utf-8"))["tests"]
    fired = {
        rule_test["alertname"]
        for case in cases
        for rule_test in case["alert_rule_test"]
        if rule_test.get("exp_alerts")
    }
    assert fired == {rule["alert"] for rule in RULES}


def test_prometheus_takes_the_alerts() -> None:
    promtool("check", "rules", str(ALERTS))


def test_alerts_fire() -> None:
    promtool("test", "rules", str(CASES))
