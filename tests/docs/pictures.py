"""Draw the pictures of a plan and of top: `python -m tests.docs.pictures`."""

from __future__ import annotations

import asyncio
import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from proxyctl.cli.top.app import TopApp
from proxyctl.instance.client import AdminClient
from proxyctl.instance.connect import Login
from proxyctl.sandbox import Sandbox
from tests.support.paths import ROOT
from tests.support.servers.mariadb import running_sysbench, sysbench_rig

PLAN, TOP = (ROOT / "docs" / "pictures" / name for name in ("plan.svg", "top.svg"))
_FONT_OF_THE_NETWORK = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)
WIDTH = 110
BEFORE = """\
version: 1
hostgroups: {writer: {id: 10}, reader: {id: 20}, reports: {id: 30}}
mysql_servers:
  - {hostname: db1.example.com, hostgroup_id: writer}
  - {hostname: db2.example.com, hostgroup_id: reader, weight: 1000}
  - {hostname: db3.example.com, hostgroup_id: reader, weight: 1000}
mysql_users:
  - {username: app, password: example, default_hostgroup: writer}
mysql_query_rules:
  - {rule_id: 10, match_digest: '^SELECT.*FOR UPDATE', destination_hostgroup: writer, apply: true}
  - {rule_id: 20, match_digest: '^SELECT', destination_hostgroup: reader, apply: true}
  - {rule_id: 30, match_pattern: 'report', destination_hostgroup: reports, apply: true}
"""
LOCKING = """\
^SELECT.*(FOR UPDATE|FOR SHARE|LOCK IN SHARE MODE)', destination_hostgroup: writer, apply: true}
  - rule_id: 15
    match_digest: '^SELECT .* FROM sessions'
    destination_hostgroup: writer
    cache_ttl: 500
    apply: true
"""
AFTER = (
    BEFORE.replace(
        "db3.example.com, hostgroup_id: reader, weight: 1000",
        "db3.example.com, hostgroup_id: reader, weight: 200",
    )
    .replace("^SELECT.*FOR UPDATE', destination_hostgroup: writer, apply: true}\n", LOCKING)
    .replace(
        "  - {rule_id: 30, match_pattern: 'report', destination_hostgroup: reports, apply: true}\n",
        "",
    )
    + "variables:\n  mysql-server_version: 8.0.36\n"
)


def draw_plan() -> None:
    """Draw what `proxyctl plan` writes to a terminal."""
    with tempfile.TemporaryDirectory() as name, Sandbox() as sandbox:
        file = Path(name, "proxyctl.yaml")
        file.write_text(BEFORE)
        _proxyctl(sandbox.port, file, "apply", "--auto-approve")
        file.write_text(AFTER)
        text = _proxyctl(sandbox.port, file, "plan")
    text = text.replace(f"127.0.0.1:{sandbox.port}", "10.0.0.11:6032").replace("-sandbox", "")
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    console.print("[bold]$ proxyctl plan[/bold]")
    # The empty line keeps the last one from being cut at its foot.
    console.print(Text.from_ansi(text.rstrip() + "\n"))
    svg = console.export_svg(title="proxyctl plan", theme=MONOKAI)
    PLAN.write_text(self_contained(svg), encoding="utf-8")


def _proxyctl(port: int, file: Path, *words: str) -> str:
    environment = {
        "PROXYCTL_PORT": str(port),
        "PROXYCTL_PASSWORD": "admin",
        "PROXYCTL_STATE_DIR": str(file.parent / "state"),
        "FORCE_COLOR": "1",
        "COLUMNS": str(WIDTH),
    }
    done = subprocess.run(
        [sys.executable, "-m", "proxyctl", *words],
        cwd=file.parent,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def draw_top() -> None:
    """Draw top, 80 by 24, after some seconds of traffic."""
    with (
        tempfile.TemporaryDirectory() as name,
        sysbench_rig(Path(name)) as (server, _),
        running_sysbench(server.traffic_port, "--threads=4", "--rate=60"),
    ):
        login = Login(port=server.port, password="admin", name="shop")
        drawn = asyncio.run(_drawn(TopApp(AdminClient(login), 2.0)))
    TOP.write_text(self_contained(drawn), encoding="utf-8")


async def _drawn(app: TopApp) -> str:
    async with app.run_test(size=(80, 24)):
        await asyncio.sleep(20)
        return app.export_screenshot()


def self_contained(svg: str) -> str:
    """Return the picture without fonts from the network."""
    return _FONT_OF_THE_NETWORK.sub("", svg).replace("Fira Code, monospace", "monospace")


if __name__ == "__main__":
    draw_plan()
    draw_top()
