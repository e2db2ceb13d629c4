"""The promise of examples/take-over: a ProxySQL started with the .cnf is what the files say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tests.support.cli import Project, proxyctl
from tests.support.servers import ProxySQL, needed_binary

pytestmark = pytest.mark.real

EXAMPLE = ROOT / "examples" / "take-over"

_LOCAL = {
    "{": "{{",
    "}": "}}",
    "/var/lib/proxysql": "{folder}",
    "0.0.0.0:6032": "127.0.0.1:{port}",
    "0.0.0.0:6033": "127.0.0.1:{traffic_port}",
    "threads=4": "threads=4\n    monitor_enabled={monitor}",
}
"""The example with the folder and the ports of a test, and without looking for its servers."""


def test_a_plan_shows_nothing(
    tmp_path: Path, offline: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (EXAMPLE / "proxysql.cnf").read_text(encoding="utf-8")
    for old, new in _LOCAL.items():
        text = text.replace(old, new)
    with ProxySQL(needed_binary(), tmp_path / "proxysql", config=text) as started:
        offline.connect(started.instance)
        monkeypatch.setenv("APP_PASSWORD", "app-example")
        monkeypatch.setenv("MONITOR_PASSWORD", "monitor-example")
        found = proxyctl("plan", "-f", str(EXAMPLE), "--detailed-exitcode")
    assert found.code == 0, found.text
