"""Run a program of the user's and take what it prints.

It gets neither a shell nor our passwords, and its process group does not outlive the time limit.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import IO

from proxyctl.errors import ProxyctlError
from proxyctl.text import os_reason

MOST_OUTPUT = 16 << 20
"""The most bytes that a program may print."""

_MOST_ERRORS = 1 << 12
"""The last bytes of a program's stderr that its error repeats."""

_PART = 1 << 16
_OURS = ("PROXYCTL_PASSWORD", "PROXYCTL_BACKEND_PASSWORD")


def printed_by(
    words: Sequence[str],
    name: str,
    *,
    timeout_s: float,
    folder: str = "",
    most: int | None = None,
    repeats_errors: bool = False,
) -> bytes:
    """Return what a program prints on stdout.

    `name`: what messages call it. `folder`: where it runs, by default in ours. `most`: the most
    bytes, by default MOST_OUTPUT. `repeats_errors`: its stderr is a part of the error if it fails;
    else its stderr is ours.

    Raises: ProxyctlError; the message never holds a part of stdout.
    """
    end = time.monotonic() + timeout_s
    with _started(words, name, folder, subprocess.PIPE if repeats_errors else None) as process:
        try:
            output, errors = _read(process, name, end, MOST_OUTPUT if most is None else most)
            code = process.wait(max(end - time.monotonic(), 0))
        except (TimeoutError, subprocess.TimeoutExpired) as error:
            message = f"{name}: the command did not finish within {timeout_s:g} s"
            raise ProxyctlError(message) from error
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
    if code:
        raise ProxyctlError(f"{name}: the command exited with {code}{_repeated(errors)}")
    return bytes(output)


def _started(
    words: Sequence[str], name: str, folder: str, stderr: int | None
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(  # noqa: S603  # the command that the user wrote
            words,
            bufsize=0,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            cwd=folder or None,
            env={key: text for key, text in os.environ.items() if not key.startswith(_OURS)},
            start_new_session=True,
        )
    except OSError as error:
        raise ProxyctlError(f"{name}: {os_reason(error)}") from error
    except ValueError as error:  # a NUL, or half a surrogate pair
        raise ProxyctlError(f"{name}: a character that a command line cannot contain") from error


def _read(
    process: subprocess.Popen[bytes], name: str, end: float, most: int
) -> tuple[bytearray, bytearray]:
    """Return stdout and the end of stderr, once nobody can print any more.

    A program that it left behind may hold them for ever. Raises: TimeoutError, ProxyctlError.
    """
    output, errors = bytearray(), bytearray()
    texts: dict[IO[bytes] | None, bytearray] = {process.stdout: output, process.stderr: errors}
    unread = [pipe for pipe in texts if pipe is not None]
    while unread:
        left = end - time.monotonic()
        ready = select.select(unread, [], [], left)[0] if left > 0 else []
        if not ready:
            raise TimeoutError
        for pipe in ready:
            part = pipe.read(_PART)
            texts[pipe] += part
            if not part:
                unread.remove(pipe)
        if len(output) > most:
            raise ProxyctlError(f"{name}: the command printed more than {most >> 20} MiB")
        del errors[:-_MOST_ERRORS]
    return output, errors


def _repeated(errors: bytearray) -> str:
    """Return the lines of stderr as the end of a sentence."""
    lines = (line.strip() for line in errors.decode("utf-8", "replace").splitlines())
    text = " ".join(line for line in lines if line)
    return f": {text}" if text else ""
