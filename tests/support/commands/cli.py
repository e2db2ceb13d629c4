"""The command line in process: files in a folder, an instance behind it, text and exit code out."""

from __future__ import annotations

import gc
import io
import json
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from proxyctl.cli.app import run
from tests.support.servers.instances import Instance

SECRETS = {"APP_PASSWORD": "s3cret-of-app", "OTHER_PASSWORD": "s3cret-of-other"}
"""What files may name with {env: ...}."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of one command line. Bytes that are not UTF-8 become surrogate escapes."""

    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        """The whole output, stdout and stderr."""
        return self.out + self.err

    @property
    def json(self) -> Any:
        """The JSON on stdout."""
        return json.loads(self.out)


def proxyctl(*arguments: str) -> Outcome:
    """Run one command line in this process."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="surrogateescape")
    err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="surrogateescape")
    with redirect_stdout(out), redirect_stderr(err):
        try:
            code = _run(arguments)
        finally:
            gc.enable()
    return Outcome(int(code), _written(out), _written(err))


def _run(arguments: Sequence[str]) -> int:
    """Run a command as in a process of its own: its signal handlers end with it."""
    if threading.current_thread() is not threading.main_thread():
        return run(arguments)
    with signals_restored():
        return run(arguments)


@contextmanager
def signals_restored() -> Iterator[None]:
    """Restore the signal handlers after the block."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)


def _written(stream: io.TextIOWrapper) -> str:
    stream.flush()
    raw: io.BytesIO = stream.buffer  # type: ignore[assignment]
    return raw.getvalue().decode("utf-8", "surrogateescape")


def without_settings() -> None:
    """Remove the user's own settings from the environment, except those for the tests."""
    for name in [*os.environ]:
        if name.startswith("PROXYCTL_") and not name.startswith("PROXYCTL_TEST_"):
            del os.environ[name]


@dataclass
class Project:
    """A folder with files, and the instance that the environment names."""

    folder: Path
    monkeypatch: pytest.MonkeyPatch
    state: Path = field(init=False)

    def __post_init__(self) -> None:
        self.state = self.folder / ".state"
        home = self.folder / ".home"
        home.mkdir(exist_ok=True)
        for name in ("HOST", "PORT", "USER", "PASSWORD", "PASSWORD_FILE", "INSTANCE", "FILE"):
            self.monkeypatch.delenv(f"PROXYCTL_{name}", raising=False)
        for name in ("FORCE_COLOR", "TERMINAL_WIDTH"):
            self.monkeypatch.delenv(name, raising=False)
        settings = {"HOME": str(home), "PROXYCTL_STATE_DIR": str(self.state), "COLUMNS": "100"}
        for name, value in {**SECRETS, **settings}.items():
            self.monkeypatch.setenv(name, value)
        self.monkeypatch.chdir(self.folder)

    def connect(self, instance: Instance) -> None:
        """Let the commands connect to this instance."""
        self.monkeypatch.setenv("PROXYCTL_HOST", instance.host)
        self.monkeypatch.setenv("PROXYCTL_PORT", str(instance.port))
        self.monkeypatch.setenv("PROXYCTL_USER", instance.user)
        self.monkeypatch.setenv("PROXYCTL_PASSWORD", instance.password)

    def write(self, text: str, name: str = "proxyctl.yaml") -> None:
        """Write one of the files."""
        (self.folder / name).write_text(text, encoding="utf-8", errors="surrogateescape")

    def snapshots(self) -> list[Path]:
        """Return the snapshots that were kept."""
        return sorted(self.state.rglob("*.jsonl.gz"))
