"""Ctrl-C before the command line is even read: no traceback, and the code of an interrupt."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from proxyctl.errors import ExitCode

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
