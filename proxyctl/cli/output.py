"""Where text goes: data to stdout, progress and errors to stderr, colour only on a terminal."""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from proxyctl.errors import ConfigError, ProxyctlError, RefusedError
from proxyctl.render.style import Style
from proxyctl.text import printable


def wants_colour(stream_is_terminal: bool) -> bool:
    """Return whether to colour. NO_COLOR wins; FORCE_COLOR colours without a terminal."""
    if os.environ.get("NO_COLOR"):
        return False
    return stream_is_terminal or bool(os.environ.get("FORCE_COLOR"))


def is_terminal(stream: TextIO | None) -> bool:
    """Return whether a person is at this end. Python has None for a stream that was closed."""
    return stream is not None and stream.isatty()


def style() -> Style:
    """Return the style for stdout."""
    return Style(wants_colour(is_terminal(sys.stdout)))


def columns() -> int:
    """Return how wide text may be: as the terminal, 80 where there is none; 40 at least."""
    return max(shutil.get_terminal_size().columns, 40)


def write(text: str) -> None:
    """Write data to stdout. Text that is not UTF-8 leaves as the bytes it came as.

    A reader that went away, as `head` does, is no error: an apply goes on without it.

    Raises: ProxyctlError when stdout takes nothing more, as on a full disk.
    """
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
        buffer = getattr(sys.stdout, "buffer", None)
        if buffer is None:
            sys.stdout.write(text)
        else:
            buffer.write(text.encode("utf-8", "surrogateescape"))
            buffer.flush()
    except BrokenPipeError:
        _to_nowhere(sys.stdout)
    except OSError as error:
        _to_nowhere(sys.stdout)
        raise ProxyctlError(f"stdout cannot be written: {error.strerror}") from error


def _to_nowhere(stream: TextIO) -> None:
    """Let a stream swallow what is written from now on, also at the end of the process."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def say(*lines: str) -> None:
    """Write progress or a remark to stderr, each text on a line of its own.

    What came from a server or a file neither moves the cursor nor begins a line.

    Never raises: nobody may be reading, and an apply must not end half way for that.
    """
    _to_stderr("".join(f"{printable(line)}\n" for line in lines))


def write_beside(text: str) -> None:
    """Write a rendered text to stderr, where stdout is for a document: its lines are its own.

    What came from a server or a file is printable in it already. Never raises.
    """
    _to_stderr(text)


def says_yes(question: str) -> bool:
    """Ask on the terminal, and return whether the answer is `yes`."""
    _to_stderr(f"{printable(question)} Only 'yes' is accepted: ")
    return sys.stdin.readline().strip() == "yes"


def _to_stderr(text: str) -> None:
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:
        _to_nowhere(sys.stderr)


def write_file(path: Path, text: str, *, mode: int = 0o644, is_new: bool = False) -> None:
    """Write a file. One for its owner only is so from the first byte on, also if it was there.

    Raises: ProxyctlError when it cannot be written; RefusedError when an `is_new` one is there.
    """
    data = text.encode("utf-8", "surrogateescape")
    try:
        handle = os.open(
            path, os.O_WRONLY | os.O_CREAT | (os.O_EXCL if is_new else os.O_TRUNC), mode
        )
        with os.fdopen(handle, "wb") as file:
            is_file = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            if is_file and not mode & 0o077:
                os.fchmod(file.fileno(), mode)
            file.write(data)
    except FileExistsError:
        raise already_there(path) from None
    except OSError as error:
        raise ProxyctlError(f"{path}: cannot be written: {error.strerror}") from error


def already_there(path: Path) -> RefusedError:
    """Return why a file is not written that was to be a new one."""
    return RefusedError(
        f"{path}: is there already", hint="name a new file with -o, or remove this one"
    )


def report_error(error: ProxyctlError, *, as_json: bool = False) -> None:
    """Show an error: on stderr for people; with a machine format also as JSON on stdout."""
    colour = Style(wants_colour(is_terminal(sys.stderr)))
    begin = "" if isinstance(error, ConfigError) else f"{colour('refuse', 'error:')} "
    for line in error.lines():
        _to_stderr(f"{begin}{printable(line)}\n")
        begin = ""
    if as_json:
        write_error(error)


def write_error(error: ProxyctlError) -> None:
    """Write an error to stdout as JSON."""
    with suppress(ProxyctlError):  # it was said on stderr already
        write(json.dumps({**error.beside, "error": error_object(error)}, indent=2) + "\n")


def error_object(error: ProxyctlError) -> dict[str, object]:
    """Return an error as plain data."""
    result: dict[str, object] = {
        "type": type(error).__name__,
        "message": str(error),
        "hint": error.hint,
        "exit_code": int(error.exit_code),
    }
    if isinstance(error, ConfigError):
        result["mistakes"] = [
            {
                "path": m.path,
                "line": m.line,
                "column": m.column,
                "key": m.key,
                "message": m.message,
                "hint": m.hint,
            }
            for m in error.mistakes
        ]
    for name in ("reasons", "layers"):
        if hasattr(error, name):
            result[name] = getattr(error, name)
    return result
