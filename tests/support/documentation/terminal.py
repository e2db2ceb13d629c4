"""Run a command on a terminal and answer its question with `yes`: `apply` asks only there."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

_QUESTION = b"Only 'yes' is accepted: "


def main(command: list[str]) -> int:
    """Run the command; copy what it writes, and what is typed, to stdout."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        seen = b""
        while part := _read(ours):
            if seen.endswith(_QUESTION) is False and (seen + part).endswith(_QUESTION):
                os.write(ours, b"yes\n")
            seen += part
    sys.stdout.buffer.write(seen.replace(b"\r\n", b"\n"))
    return process.returncode


def _read(handle: int) -> bytes:
    try:
        return os.read(handle, 65536)
    except OSError:  # Linux: the last process has closed its side
        return b""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
