"""proxyctl in a process of its own, forked from a process that has imported everything."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from proxyctl.cli.app import run
from proxyctl.instance import lock
from proxyctl.instance.connect import Login
from tests.support.commands.cli import SECRETS, Outcome, without_settings
from tests.support.servers.instances import ADMIN

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["tests.support.commands.preloaded"])


def login(port: int, folder: Path) -> dict[str, str]:
    """Return the environment of a command line; its snapshots go into the folder."""
    return {
        **SECRETS,
        "PROXYCTL_HOST": "127.0.0.1",
        "PROXYCTL_PORT": str(port),
        "PROXYCTL_USER": ADMIN[0],
        "PROXYCTL_PASSWORD": ADMIN[1],
        "PROXYCTL_STATE_DIR": str(folder),
    }


@dataclass
class Forked:
    """One command line in a process of its own, in a folder, with an environment.

    `patience_s`: how long the command waits for an answer, if not the usual minute. `late_s`: when
    it takes the answer to a renewal of the lock for late, if not as usual. `terminal`: the path of
    a terminal that gets stderr, of which the outcome then has nothing.
    """

    arguments: Sequence[str]
    folder: Path
    environment: Mapping[str, str]
    patience_s: float | None = None
    late_s: float | None = None
    terminal: str | None = None
    _process: ForkServerProcess = field(init=False)
    _has_ended: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        handle, self._out = tempfile.mkstemp(dir=self.folder, prefix=".out-")
        os.close(handle)
        handle, self._err = tempfile.mkstemp(dir=self.folder, prefix=".err-")
        os.close(handle)
        given = (self.arguments, self.folder, self.environment, self.patience_s, self.late_s)
        streams = (self._out, self.terminal or self._err)
        self._process = _CONTEXT.Process(target=_run, args=(*given, *streams))
        self._process.start()

    def kill(self) -> None:
        """End the process as kill -9 does; return when the thread in `outcome` saw its end."""
        self._process.kill()
        # Whoever waits for it takes its exit code; a second one would get a wrong one.
        self._has_ended.wait()

    def pause(self) -> None:
        """Stop the process as Ctrl-Z does."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        pid = self._process.pid
        assert pid is not None
        os.kill(pid, number)

    def outcome(self) -> Outcome:
        """Wait for the end and return the outcome; a negative code is the signal that ended it."""
        self._process.join()
        code = self._process.exitcode
        self._has_ended.set()
        assert code is not None
        self._process.close()
        return Outcome(code, _taken(self._out), _taken(self._err))


def _taken(name: str) -> str:
    path = Path(name)
    text = path.read_text(encoding="utf-8", errors="surrogateescape")
    path.unlink()
    return text


def _run(
    arguments: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    patience_s: float | None,
    late_s: float | None,
    out: str,
    err: str,
) -> None:
    os.chdir(folder)
    without_settings()
    if patience_s is not None:
        # The last default of `Login`: no option and no variable of the environment sets it.
        *others, _ = Login.__init__.__defaults__ or ()
        Login.__init__.__defaults__ = (*others, patience_s)  # type: ignore[misc]
    if late_s is not None:
        lock.LATE_S = late_s
    os.environ.update(environment)
    for name, number in ((out, 1), (err, 2)):
        handle = os.open(name, os.O_WRONLY)
        os.dup2(handle, number)
        os.close(handle)
    code = run(arguments)
    sys.stdout.flush()
    sys.stderr.flush()
    # As a process that was not forked would end: nothing of the parent's is cleaned up.
    os._exit(code)
