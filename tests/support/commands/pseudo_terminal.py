"""A terminal of 80 by 24 with a process in it: its bytes, modes and settings."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Sequence
from typing import Any, Self

_MODE = re.compile(rb"\x1b\[\?([0-9;]+)([hl])")
_PATIENCE_S = 60

ALTERNATE_SCREEN, CURSOR, LINE_WRAP = 1049, 25, 7
USUALLY_ON = frozenset({CURSOR, LINE_WRAP})


def shown(command: Sequence[str], *, columns: int = 80, **env: str) -> str:
    """Run a command to its end on a terminal of this width; return its output."""
    env = {**os.environ, "COLUMNS": str(columns), **env}
    with PseudoTerminal(command, env, columns=columns) as terminal:
        terminal.wait()
    return terminal.written.decode()


class PseudoTerminal:
    """A process that leads a terminal of its own; it ends with the test."""

    def __init__(
        self, command: Sequence[str], env: dict[str, str], *, columns: int = 80, lines: int = 24
    ) -> None:
        self._ours, self._theirs = pty.openpty()
        self.resize(columns, lines)
        self._settings = self.settings()
        self.written = b""
        self.process = subprocess.Popen(
            command,
            stdin=self._theirs,
            stdout=self._theirs,
            stderr=self._theirs,
            env=env,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.hang_up()
        if self._theirs >= 0:
            os.close(self._theirs)
            self._theirs = -1

    def resize(self, columns: int, lines: int) -> None:
        """Give the terminal another size. The kernel tells the process."""
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def send(self, keys: str) -> None:
        """Type text."""
        os.write(self._ours, keys.encode())

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process alone."""
        self.process.send_signal(number)

    def hang_up(self) -> None:
        """Hang up, as a closed window does."""
        if self._ours >= 0:
            os.close(self._ours)
            self._ours = -1

    def wait_for(self, text: str, *, after: int = 0) -> int:
        """Wait until the process has written a text; return the length of the output.

        `after`: ignore the output before this length. Raises: AssertionError.
        """
        deadline = time.monotonic() + _PATIENCE_S
        while text.encode() not in self.written[after:]:
            assert time.monotonic() < deadline, f"no {text!r} in {self.written[-3000:]!r}"
            is_over = self.process.poll() is not None
            read = self._read()
            assert read or not is_over, f"ended without {text!r}: {self.written[-3000:]!r}"
        return len(self.written)

    def wait(self) -> int:
        """Wait until the process has ended; return its code, negative for a signal."""
        deadline = time.monotonic() + _PATIENCE_S
        while self.process.poll() is None:
            assert time.monotonic() < deadline, f"it does not end: {self.written[-3000:]!r}"
            self._read()
        self.read_all()
        return self.process.returncode

    def read_all(self) -> None:
        """Read the available output."""
        while self._read():
            pass

    def _read(self) -> bool:
        if self._ours < 0 or not select.select([self._ours], [], [], 0.05)[0]:
            return False
        try:
            part = os.read(self._ours, 65536)
        except OSError:
            return False
        self.written += part
        return bool(part)

    def settings(self) -> list[Any]:
        """Return the terminal's input settings."""
        return termios.tcgetattr(self._theirs)

    def modes(self) -> frozenset[int]:
        """Return the private modes that are on."""
        on = set(USUALLY_ON)
        for numbers, switch in _MODE.findall(self.written):
            for number in map(int, numbers.split(b";")):
                (on.add if switch == b"h" else on.discard)(number)
        return frozenset(on)

    def is_clean(self) -> bool:
        """Return whether the terminal is as it was before the process began."""
        keyboards = self.written.count(b"\x1b[>") - self.written.count(b"\x1b[<u")
        return self.modes() == USUALLY_ON and keyboards == 0 and self.settings() == self._settings
