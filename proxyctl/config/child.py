"""Run a program of the user's and take what it prints.

It gets neither a shell nor our passwords, and its process group does not outlive the time limit.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from io import FileIO
from typing import IO

from proxyctl.errors import ProxyctlError, os_reason

MOST_OUTPUT = 16 << 20
"""The most bytes that a program may print."""
_PART = 1 << 16
_OURS = ("PROXYCTL_PASSWORD", "PROXYCTL_BACKEND_PASSWORD")


def printed_by(words: Sequence[str], name: str, *, timeout_s: float) -> bytes:
    """Return what a program prints on stdout; its stderr is ours.

    `name`: the option and the program, for messages. Raises: ProxyctlError.
    """
    environment = {key: text for key, text in os.environ.items() if not key.startswith(_OURS)}
    end = time.monotonic() + timeout_s
    reader, writer = os.pipe()
    with open(reader, "rb", buffering=0) as printed:
        with open(writer, "wb") as stdout:
            process = _started(words, name, stdout, environment)
        output = bytearray()
        try:
            while part := _next_part(printed, end):
                output += part
                if len(output) > MOST_OUTPUT:
                    limit = MOST_OUTPUT >> 20
                    raise ProxyctlError(f"{name}: the command printed more than {limit} MiB")
            code = process.wait(max(end - time.monotonic(), 0))
        except (TimeoutError, subprocess.TimeoutExpired) as error:
            message = f"{name}: the command did not finish within {timeout_s:g} s"
            raise ProxyctlError(message) from error
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if code:
        raise ProxyctlError(f"{name}: the command exited with {code}")
    return bytes(output)


def _started(
    words: Sequence[str], name: str, stdout: IO[bytes], environment: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(  # noqa: S603  # the command that the user wrote
            words,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            env=environment,
            start_new_session=True,
        )
    except OSError as error:
        raise ProxyctlError(f"{name}: {os_reason(error)}") from error


def _next_part(printed: FileIO, end: float) -> bytes:
    """Return what the program prints next; empty once nobody can print any more.

    A program that it left behind may hold its stdout for ever. Raises: TimeoutError.
    """
    left = end - time.monotonic()
    if left <= 0 or not select.select([printed], [], [], left)[0]:
        raise TimeoutError
    return printed.read(_PART)
