"""Run a program of the user's and take what it prints.

It gets neither a shell nor our passwords, and nothing of it outlives the time limit.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress

from proxyctl.errors import ProxyctlError, os_reason

MOST_OUTPUT = 16 << 20
"""The most bytes that a program may print."""
_OURS = ("PROXYCTL_PASSWORD", "PROXYCTL_BACKEND_PASSWORD")


def printed_by(words: Sequence[str], name: str, *, timeout_s: float) -> bytes:
    """Return what a program prints on stdout; its stderr is ours.

    `name`: the option and the program, for messages. Raises: ProxyctlError.
    """
    environment = {key: text for key, text in os.environ.items() if not key.startswith(_OURS)}
    is_late = threading.Event()
    try:
        process = subprocess.Popen(  # noqa: S603  # the command that the user wrote
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            env=environment,
            start_new_session=True,
        )
    except OSError as error:
        raise ProxyctlError(f"{name}: {os_reason(error)}") from error

    def end() -> None:
        is_late.set()
        _kill(process)

    timer = threading.Timer(timeout_s, end)
    timer.start()
    try:
        output = process.stdout.read(MOST_OUTPUT + 1) if process.stdout else b""
        if len(output) > MOST_OUTPUT:
            raise ProxyctlError(f"{name}: the command printed more than {MOST_OUTPUT >> 20} MiB")
        code = process.wait()
    finally:
        timer.cancel()
        _kill(process)
        process.communicate()
    if is_late.is_set():
        raise ProxyctlError(f"{name}: the command did not finish within {timeout_s:g} s")
    if code:
        raise ProxyctlError(f"{name}: the command exited with {code}")
    return output


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill the program with everything that it started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
