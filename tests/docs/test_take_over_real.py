"""The promise of examples/take-over: a ProxySQL started with the .cnf is what the files say."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from proxyctl.cli.main import run
from tests.docs.pages import ROOT
from tests.support.servers import NO_BINARY, ProxySQL, proxysql_binary

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
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    binary = proxysql_binary()
    if binary is None:
        pytest.skip(NO_BINARY)
    text = (EXAMPLE / "proxysql.cnf").read_text(encoding="utf-8")
    for old, new in _LOCAL.items():
        text = text.replace(old, new)
    with ProxySQL(binary, tmp_path / "proxysql", config=text) as started:
        for name, value in {
            "PROXYCTL_HOST": started.instance.host,
            "PROXYCTL_PORT": str(started.port),
            "PROXYCTL_USER": "admin",
            "PROXYCTL_PASSWORD": "admin",
            "APP_PASSWORD": "app-example",
            "MONITOR_PASSWORD": "monitor-example",
        }.items():
            monkeypatch.setenv(name, value)
        code = run(["plan", "-f", str(EXAMPLE), "--detailed-exitcode"])
        gc.enable()  # a command turns it off, since it ends soon
    assert code == 0, capsys.readouterr()
