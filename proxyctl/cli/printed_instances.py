"""The instances that a command of the user prints: --instances-from."""

from __future__ import annotations

import os
import selectors
import shlex
import subprocess
import time
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from proxyctl.errors import InternalError, ProxyctlError, UsageError

if TYPE_CHECKING:
    from proxyctl.config.fenced import Fence
    from proxyctl.config.load import Instance

TIMEOUT_S = 60.0
"""How long the command may take."""
MAX_OUTPUT = 4_000_000
"""How much it may write: thousands of instances. Units: bytes."""

_OWN_PASSWORDS = ("PROXYCTL_PASSWORD", "PROXYCTL_BACKEND_PASSWORD")


def printed_instances(
    command: str,
    hidden: Collection[str],
    fence: Fence | None = None,
    *,
    timeout_s: float = TIMEOUT_S,
) -> tuple[Instance, ...]:
    """Return the instances that a command prints. It does not see the admin passwords.

    `hidden`: variables of the environment that it does not see either. `fence`: where files may
    lie that an instance names; None: anywhere.

    Raises: UsageError, ProxyctlError, ConfigError.
    """
    from proxyctl.config.load import instances_in

    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"--instances-from: {error}".lower()) from error
    if not words:
        raise UsageError(
            "--instances-from: an empty command",
            hint="is a variable of the environment not set? leave the option out for the instances"
            " of the files",
        )
    text = _output(words, {*_OWN_PASSWORDS, *hidden}, timeout_s)
    found = instances_in(text, f"<{words[0]}>", fence)
    if not found:
        raise UsageError(f"--instances-from {words[0]}: it names no instance")
    return found


def _output(words: Sequence[str], hidden: set[str], timeout_s: float) -> str:
    """Return what the command writes. Raises: ProxyctlError."""
    environment = {n: v for n, v in os.environ.items() if n not in hidden}
    said = f"--instances-from {words[0]}"
    ends_at = time.monotonic() + timeout_s
    try:
        process = subprocess.Popen(  # noqa: S603  # the command that the user wrote
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=environment
        )
    except OSError as error:
        raise ProxyctlError(f"{said}: {error.strerror}") from error
    with process:
        try:
            written = _written(process, ends_at)
            code = process.wait(max(ends_at - time.monotonic(), 0))
        except subprocess.TimeoutExpired as error:
            process.kill()
            message = f"it did not end within {timeout_s:g} seconds"
            raise ProxyctlError(f"{said}: {message}") from error
        except BaseException:
            process.kill()
            raise
        if written is None:
            raise ProxyctlError(f"{said}: it wrote more than {MAX_OUTPUT:,} bytes")
    if code:
        raise ProxyctlError(f"{said}: it ended with {code}")
    return written.decode("utf-8", "replace")


def _written(process: subprocess.Popen[bytes], ends_at: float) -> bytes | None:
    """Return what a process writes until it writes no more; None, and end it, if that is too much.

    Raises: subprocess.TimeoutExpired.
    """
    if process.stdout is None:
        raise InternalError("no pipe was asked for")
    written = bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while len(written) <= MAX_OUTPUT:
            if not selector.select(max(ends_at - time.monotonic(), 0)):
                raise subprocess.TimeoutExpired(process.args, 0)
            chunk = os.read(process.stdout.fileno(), 65536)
            if not chunk:
                return bytes(written)
            written += chunk
    process.kill()
    return None
