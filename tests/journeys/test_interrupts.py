"""An interrupt ends with the result for each instance, and never with a traceback."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from proxyctl.errors import ExitCode
from proxyctl.sandbox import Sandbox
from tests.faults.proxy import FaultyProxy
from tests.support.cli import Project, proxyctl
from tests.support.mysql_servers import TcpServer
from tests.support.story import FILES, SERVERS, listed

ROOT = Path(__file__).parents[2]
INTERRUPTED = """\
import os, signal, sys, time

class Finder:
    def find_spec(self, name, *_):
        if name == {name!r}:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(60)

sys.meta_path.insert(0, Finder())
"""


@pytest.mark.parametrize("name", ["proxyctl.cli.app", "typer", "proxyctl.cli.commands.nodes"])
def test_an_interrupt_while_modules_are_imported(tmp_path: Path, name: str) -> None:
    (tmp_path / "sitecustomize.py").write_text(INTERRUPTED.format(name=name))
    done = subprocess.run(
        [sys.executable, "-m", "proxyctl", "nodes", "list", "--port", "1"],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert done.returncode == ExitCode.INTERRUPTED, done.stderr
    assert done.stdout == ""
    assert done.stderr == "interrupted; nothing was changed\n"


@pytest.mark.parametrize("command", ["plan", "export", "nodes list"])
def test_an_interrupt_while_a_command_waits(tmp_path: Path, command: str) -> None:
    heard = threading.Event()

    def serve(client: socket.socket) -> None:
        heard.set()
        client.recv(1)

    (tmp_path / "proxyctl.yaml").write_text(FILES)
    with TcpServer(serve) as server:
        process = subprocess.Popen(
            [sys.executable, "-m", "proxyctl", *command.split(), "--port", str(server.port)],
            env={**os.environ, "PYTHONPATH": str(ROOT), "PROXYCTL_PASSWORD": "admin"},
            cwd=tmp_path,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        heard.wait()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
    assert (process.returncode, said) == (130, "interrupted; nothing was changed\n")


@pytest.fixture
def proxy(offline: Project) -> Iterator[FaultyProxy]:
    """The first of two instances is behind a proxy."""
    with Sandbox() as px1, Sandbox() as px2, FaultyProxy(px1.host, px1.port) as running:
        offline.write(SERVERS + listed([running.port, px2.port]))
        yield running


def interrupt_behind(proxy: FaultyProxy, statement: str, *, after: str = "") -> None:
    """Interrupt the process at the first answer to this statement after another statement."""
    is_armed = not after

    def watch(_connection: int, sql: str, _answer: bytes) -> None:
        nonlocal is_armed
        if is_armed and statement in sql:
            is_armed = False
            os.kill(os.getpid(), signal.SIGTERM)
        elif sql == after:
            is_armed = True

    proxy.watch = watch


def test_an_apply_that_is_alone_in_its_batch_is_put_back(proxy: FaultyProxy) -> None:
    interrupt_behind(proxy, "LOAD MYSQL SERVERS TO RUNTIME")
    found = proxyctl("apply", "--all", "--auto-approve")
    assert found.code == 130, found.text
    assert "nothing was changed" not in found.err
    assert found.out.endswith("Fleet of 2 instances: 1 failed: px1; 1 not touched: px2.\n")
    assert "everything was restored" in found.out


def test_several_that_have_begun_are_finished(proxy: FaultyProxy) -> None:
    interrupt_behind(proxy, "LOAD MYSQL SERVERS TO RUNTIME")
    found = proxyctl("apply", "--all", "--auto-approve", "--max-unavailable", "2")
    assert found.code == 130, found.text
    assert "nothing was changed" not in found.err
    assert found.out.endswith("Fleet of 2 instances: 2 applied: px1, px2.\n")
    assert "interrupted: finishing the instances that have begun\n" in found.err


def test_between_two_batches_nothing_more_is_begun(proxy: FaultyProxy) -> None:
    interrupt_behind(proxy, "stats_mysql_connection_pool", after="SAVE MYSQL SERVERS TO DISK")
    found = proxyctl("apply", "--all", "--auto-approve")
    assert found.code == 130, found.text
    assert "nothing was changed" not in found.err
    assert found.out.endswith("Fleet of 2 instances: 1 applied: px1; 1 not touched: px2.\n")
