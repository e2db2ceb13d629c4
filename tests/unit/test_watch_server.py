"""What a watch answers over HTTP."""

from __future__ import annotations

import re
import socket
import urllib.error
import urllib.request
from dataclasses import dataclass

import pytest
from prometheus_client.openmetrics.parser import (
    text_string_to_metric_families as open_metrics,
)

from proxyctl.errors import ProxyctlError
from proxyctl.plan.plan import LintErrors
from proxyctl.rows.row import Layer
from proxyctl.watch.decision import Situation
from proxyctl.watch.metrics import WatchCollector, registry_of
from proxyctl.watch.server import ServedWatch, served
from proxyctl.watch.status import InstanceStatus, PlanFigures, WatchStatus
from tests.support.metrics import samples
from tests.support.paths import ROOT

PX1 = InstanceStatus(
    "px1",
    "10.0.0.1:6032",
    Situation.REFUSED,
    is_up=True,
    plan=PlanFigures(
        {"MYSQL SERVERS": False, "MYSQL USERS": True},
        {Layer.MEMORY: 3, Layer.RUNTIME: 2, Layer.DISK: 0},
        {"table_emptied": 1},
        lint_errors=LintErrors(4, 0),
    ),
    planned_at=1000.0,
    has_planned=True,
    applied_at=900.0,
    has_applied=True,
    applies=2,
    failed_applies=1,
)
PX2 = InstanceStatus("px2", "10.0.0.2:6032", Situation.UNREACHABLE, is_up=False)


@dataclass
class Served:
    status: WatchStatus
    is_alive: bool = True

    def answers(self) -> ServedWatch:
        return ServedWatch(
            registry_of(lambda: self.status),
            lambda: self.is_alive,
            lambda: self.status.rounds > 0,
        )


def get(port: int, path: str, host: str = "127.0.0.1", **headers: str) -> tuple[int, str, str]:
    request = urllib.request.Request(f"http://{host}:{port}{path}", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.headers["Content-Type"], answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers["Content-Type"], error.read().decode()


def test_every_metric() -> None:
    status = WatchStatus([PX1, PX2], 5, 0.25, 2000.0, 3, False, 1500.0, True)
    with served("127.0.0.1", 0, Served(status).answers()) as port:
        code, kind, text = get(port, "/metrics")
    assert (code, kind.startswith("text/plain; version=")) == (200, True)
    assert "process_resident_memory_bytes" in text
    assert 'address="10.0.0.1:6032"' in text
    assert samples(text) == {
        ("watch_rounds_total",): 5,
        ("watch_round_duration_seconds",): 0.25,
        ("watch_round_timestamp_seconds",): 2000,
        ("watch_paused",): 1,
        ("watch_instances",): 2,
        ("watch_instances_known",): 0,
        ("files_valid",): 0,
        ("files_mistakes",): 3,
        ("files_changed_timestamp_seconds",): 1500,
        ("instance_up", "px1"): 1,
        ("instance_up", "px2"): 0,
        ("instance_state", "px1", "refused"): 1,
        ("instance_state", "px2", "unreachable"): 1,
        ("instance_in_sync", "px1", "MYSQL SERVERS"): 0,
        ("instance_in_sync", "px1", "MYSQL USERS"): 1,
        ("instance_differing_rows", "px1", "memory"): 3,
        ("instance_differing_rows", "px1", "runtime"): 2,
        ("instance_differing_rows", "px1", "disk"): 0,
        ("instance_refusals", "px1", "table_emptied"): 1,
        ("instance_lint_errors", "px1"): 4,
        ("instance_plan_success", "px1"): 1,
        ("instance_plan_success", "px2"): 0,
        ("instance_plan_timestamp_seconds", "px1"): 1000,
        ("instance_apply_success", "px1"): 1,
        ("instance_apply_timestamp_seconds", "px1"): 900,
        ("instance_applies_total", "px1", "success"): 2,
        ("instance_applies_total", "px1", "failure"): 1,
        ("instance_applies_total", "px2", "success"): 0,
        ("instance_applies_total", "px2", "failure"): 0,
    }


def test_the_page_lists_every_metric_and_every_situation() -> None:
    page = (ROOT / "docs" / "how-to" / "run-as-a-service.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.*?`) \|", page, flags=re.MULTILINE)
    listed = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    status = WatchStatus([PX1, PX2], 5, 0.25, 2000.0, 3, False, 1500.0, True)
    families = [*WatchCollector(lambda: status).collect()]
    names = {sample.name for family in families for sample in family.samples}
    assert names == {name for name in listed if name.startswith("proxyctl_")}
    assert {situation.value for situation in Situation} <= listed


def test_the_names_follow_the_conventions() -> None:
    """OpenMetrics' own parser refuses others: counters end in _total, units in the name."""
    status = WatchStatus([PX1], 1, 0.25, 2000.0)
    with served("127.0.0.1", 0, Served(status).answers()) as port:
        _, kind, text = get(port, "/metrics", Accept="application/openmetrics-text")
    assert kind.startswith("application/openmetrics-text")
    families = [family for family in open_metrics(text) if family.name.startswith("proxyctl_")]
    assert {family.type for family in families} == {"gauge", "counter"}
    assert all(family.documentation for family in families)


def test_before_the_first_round_it_is_alive_and_not_ready() -> None:
    one = Served(WatchStatus())
    with served("127.0.0.1", 0, one.answers()) as port:
        assert get(port, "/healthz")[0] == 200
        assert get(port, "/readyz")[0] == 503
        assert samples(get(port, "/metrics")[2]) == {("watch_rounds_total",): 0}
        one.status, one.is_alive = WatchStatus(rounds=1), False
        assert get(port, "/healthz")[0] == 503
        assert get(port, "/readyz?verbose")[0] == 200
        assert get(port, "/")[0] == 404


def test_a_port_in_use_and_an_unknown_host() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with (
            pytest.raises(ProxyctlError, match=f"--metrics 127.0.0.1:{port}: address already in"),
            served("127.0.0.1", port, Served(WatchStatus()).answers()),
        ):
            pass
    with (
        pytest.raises(ProxyctlError, match=r"--metrics no\.such\.host\.invalid:9273: "),
        served("no.such.host.invalid", 9273, Served(WatchStatus()).answers()),
    ):
        pass


def test_a_client_that_says_nothing_does_not_stop_others() -> None:
    with (
        served("127.0.0.1", 0, Served(WatchStatus()).answers()) as port,
        socket.create_connection(("127.0.0.1", port)),
    ):
        assert get(port, "/healthz")[0] == 200
