"""The terminal after top, however it ends, and top's error without a terminal."""

from __future__ import annotations

import os
import signal
import sys
import time

import pytest

from proxyctl.sandbox.statistics import digest_rows
from tests.support.commands.cli import Project, proxyctl
from tests.support.commands.pseudo_terminal import ALTERNATE_SCREEN, CURSOR, PseudoTerminal
from tests.support.servers.instances import Instance

TOP = [sys.executable, "-m", "proxyctl", "top", "--interval", "0.5"]
READY = "pause"
pytestmark = pytest.mark.usefixtures("shop")
MOUSE = {1000, 1002, 1003, 1006, 1015}
BUG = """
import sys
from proxyctl.cli.app import run
from proxyctl.cli.top.app import TopApp

def fail(self, message):
    secret = "a local variable"
    raise ValueError("this is no good")

TopApp.on_looked = fail
sys.exit(run(["top", *sys.argv[1:]]))
"""


@pytest.fixture
def shop(sandbox_project: Project, sandbox_instance: Instance) -> Instance:
    assert sandbox_instance.sandbox is not None
    digests = digest_rows(time.time())
    sandbox_instance.sandbox.stats["stats_mysql_query_digest"] = digests
    return sandbox_instance


def terminal(command: list[str] = TOP, **env: str) -> PseudoTerminal:
    return PseudoTerminal(command, {**os.environ, "TERM": "xterm-256color", **env})


def test_while_it_runs_the_mouse_is_left_to_the_terminal() -> None:
    with terminal() as shown:
        shown.wait_for(READY)
        assert ALTERNATE_SCREEN in shown.modes()
        assert CURSOR not in shown.modes()
        assert not MOUSE & shown.modes()
        assert not shown.is_clean()
        shown.send("q")
        assert shown.wait() == 0
        assert shown.is_clean()


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (None, 130),
        (signal.SIGINT, 130),
        (signal.SIGTERM, -signal.SIGTERM),
        (signal.SIGHUP, -signal.SIGHUP),
    ],
    ids=str,
)
def test_ctrl_c_and_a_signal_end_it_cleanly(number: signal.Signals | None, code: int) -> None:
    with terminal() as shown:
        shown.wait_for(READY)
        if number is None:
            shown.send("\x03")
        else:
            shown.signal(number)
        assert shown.wait() == code
        assert shown.is_clean()


def test_a_window_that_is_closed_ends_it() -> None:
    with terminal() as shown:
        shown.wait_for(READY)
        shown.hang_up()
        assert shown.wait() != 0


def test_it_goes_to_the_background_and_comes_back() -> None:
    with terminal() as shown:
        shown.wait_for("61.4")
        shown.send("\x1a")
        shown.wait_for("\x1b[?1049l")
        _, status = os.waitpid(shown.process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        shown.read_all()
        assert shown.is_clean()
        so_far = len(shown.written)
        shown.signal(signal.SIGCONT)
        shown.wait_for("61.4", after=so_far)
        shown.send("q")
        assert shown.wait() == 0
        assert shown.is_clean()


def test_another_size_is_drawn_anew() -> None:
    # A shell that exports its size does not report a change.
    with terminal(COLUMNS="80", LINES="24") as shown:
        so_far = shown.wait_for("61.4")
        shown.resize(150, 40)
        shown.wait_for("schema", after=so_far)
        shown.send("q")
        assert shown.wait() == 0


def test_a_bug_ends_it_cleanly_and_shows_no_variables() -> None:
    with terminal([sys.executable, "-c", BUG]) as shown:
        assert shown.wait() == 1
        assert shown.is_clean()
        assert b"internal error, a bug in proxyctl: ValueError" in shown.written
        assert b"this is no good" not in shown.written
        assert b"a local variable" not in shown.written


def test_with_no_color_there_is_none() -> None:
    with terminal(NO_COLOR="1") as shown:
        shown.wait_for("61.4")
        shown.send("q")
        assert shown.wait() == 0
        assert b"\x1b[36" not in shown.written
        assert b";36;" not in shown.written
    with terminal(NO_COLOR="") as shown:
        shown.wait_for("\x1b[36;49m")


@pytest.mark.parametrize("end", ["< /dev/null", "> out.txt", "2> err.txt", "| cat"])
def test_both_ends_have_to_be_the_terminal(end: str) -> None:
    command = f"{sys.executable} -m proxyctl top {end}; echo code ${{PIPESTATUS[0]}} >&2"
    with terminal(["bash", "-c", command]) as shown:
        shown.wait()
        assert ALTERNATE_SCREEN not in shown.modes()
        assert b"code 64" in shown.written or end.startswith("2>")
    found = proxyctl("top")
    assert (found.code, "top needs a terminal" in found.err) == (64, True)
    assert all(name in found.err for name in ("digest top", "digest diff", "rules"))


@pytest.mark.parametrize("name", ["dumb", ""])
def test_a_terminal_without_a_cursor_is_none(name: str) -> None:
    with terminal(TERM=name) as shown:
        assert shown.wait() == 64
        assert b"TERM is" in shown.written
        assert b"\x1b[?1049h" not in shown.written


def test_a_missing_instance_is_reported_before_the_screen_is_taken() -> None:
    with terminal([*TOP, "--host", "127.0.0.1", "--port", "1"]) as shown:
        assert shown.wait() == 1
        assert b"cannot connect to 127.0.0.1:1" in shown.written
        assert b"\x1b[?1049h" not in shown.written
