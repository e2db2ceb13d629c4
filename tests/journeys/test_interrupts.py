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
from proxyctl.instance.client import AdminClient
from proxyctl.instance.connect import Login
from proxyctl.sandbox import Sandbox
from tests.journeys.held_lock import hold_dead_lock
from tests.support.commands.cli import Outcome, Project, proxyctl
from tests.support.commands.story import FILES, SERVERS, listed
from tests.support.paths import ROOT
from tests.support.protocol.faulty_proxy import FaultyProxy
from tests.support.protocol.mysql_servers import TcpServer
from tests.support.servers.instances import Instance

INTERRUPTED = """\
import os, signal, sys, time
from tests.support.paths import ROOT

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
    assert "interrupted: finishing the instances already in progress\n" in found.err


def test_between_two_batches_nothing_more_is_begun(proxy: FaultyProxy) -> None:
    interrupt_behind(proxy, "stats_mysql_connection_pool", after="SAVE MYSQL SERVERS TO DISK")
    found = proxyctl("apply", "--all", "--auto-approve")
    assert found.code == 130, found.text
    assert "nothing was changed" not in found.err
    assert found.out.endswith("Fleet of 2 instances: 1 applied: px1; 1 not touched: px2.\n")


# -- what was changed ------------------------------------------------------------------------------


def interrupted_behind(proxy: FaultyProxy, statement: str, *command: str) -> Outcome:
    """Run a command that is interrupted at the answer to a statement; its lock is given back."""
    interrupt_behind(proxy, statement)
    found = proxyctl(*command, "--instance", "px1")
    assert "internal error" not in found.text
    locks = "SELECT count(*) FROM proxyctl_lock"
    with AdminClient(Login("127.0.0.1", proxy.port, "admin", "admin")) as client:
        client.query("CREATE TEMP TABLE IF NOT EXISTS proxyctl_lock(id)")
        assert client.query(locks) == [("0",)], found.text
    return found


@pytest.mark.parametrize("statement", ["INTO proxyctl_lock", "main.mysql_query_rules"])
def test_an_apply_that_has_changed_nothing_yet(proxy: FaultyProxy, statement: str) -> None:
    found = interrupted_behind(proxy, statement, "apply", "--auto-approve")
    assert (found.code, found.err) == (130, "interrupted; nothing was changed\n")


def test_an_apply_that_has_put_memory_back(proxy: FaultyProxy) -> None:
    instance = Instance("127.0.0.1", proxy.port)
    hold_dead_lock(instance, "MYSQL USERS")
    instance.close()
    found = interrupted_behind(proxy, "main.mysql_query_rules", "apply", "--auto-approve")
    assert found.code == 130
    assert (
        "interrupted; nothing was changed but MEMORY of MYSQL USERS, restored from DISK"
        in found.err
    )


def test_the_lock_that_is_removed_is_named(proxy: FaultyProxy) -> None:
    instance = Instance("127.0.0.1", proxy.port)
    hold_dead_lock(instance)
    instance.close()
    found = interrupted_behind(proxy, "DELETE FROM proxyctl_lock", "unlock")
    assert (found.code, found.err[:16]) == (0, "removed the lock")


def test_statistics_that_are_cleared_are_named(proxy: FaultyProxy) -> None:
    command = ("digest", "reset", "--auto-approve", "-o", "saved.jsonl")
    found = interrupted_behind(proxy, "stats_mysql_query_digest_reset", *command)
    assert found.code == 0, found.text
    assert "all were cleared" in found.err
