"""The instances that a command of the user prints: --instances-from."""

from __future__ import annotations

import shlex
import subprocess
from typing import TYPE_CHECKING

from proxyctl.errors import ProxyctlError, UsageError

if TYPE_CHECKING:
    from proxyctl.config.files import Fence
    from proxyctl.config.project import Instance

TIMEOUT_S = 60.0
"""How long the command may take."""


def printed_instances(
    command: str, fence: Fence | None = None, *, timeout_s: float = TIMEOUT_S
) -> tuple[Instance, ...]:
    """Return the instances that a command prints.

    `fence`: where files may lie that they name; None: anywhere.

    Raises: UsageError, ProxyctlError, ConfigError.
    """
    from proxyctl.config.project import instances_in

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
    text = _output(words, timeout_s)
    found = instances_in(text, f"<{words[0]}>", fence)
    if not found:
        raise UsageError(f"--instances-from {words[0]}: it names no instance")
    return found


def _output(words: list[str], timeout_s: float) -> str:
    """Return what the command writes. Raises: ProxyctlError."""
    name = f"--instances-from {words[0]}"
    try:
        done = subprocess.run(  # noqa: S603  # the command that the user wrote
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            timeout=timeout_s,
            check=False,
        )
    except OSError as error:
        raise ProxyctlError(f"{name}: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise ProxyctlError(f"{name}: it did not end within {timeout_s:g} seconds") from error
    if done.returncode:
        raise ProxyctlError(f"{name}: it ended with {done.returncode}")
    return done.stdout.decode("utf-8", "replace")
