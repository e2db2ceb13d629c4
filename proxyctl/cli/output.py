"""Where text goes: data to stdout, progress and errors to stderr, colour only on a terminal."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from proxyctl.errors import ConfigError, ProxyctlError
from proxyctl.render.style import Style, printable


def wants_colour(stream_is_terminal: bool) -> bool:
    """Return whether to colour. NO_COLOR wins; FORCE_COLOR colours without a terminal."""
    if os.environ.get("NO_COLOR"):
        return False
    return stream_is_terminal or bool(os.environ.get("FORCE_COLOR"))


def style() -> Style:
    """Return the style for stdout."""
    return Style(wants_colour(sys.stdout.isatty()))


def write(text: str) -> None:
    """Write data to stdout. Text that is not UTF-8 leaves as the bytes it came as."""
    data = text.encode("utf-8", "surrogateescape")
    sys.stdout.flush()
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None:
        sys.stdout.write(text)
    else:
        buffer.write(data)
        buffer.flush()


def say(text: str) -> None:
    """Write progress or a remark to stderr; what came from a server cannot move the cursor."""
    _to_stderr("\n".join(map(printable, text.split("\n"))))


def _to_stderr(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def write_file(path: Path, text: str, *, mode: int = 0o644) -> None:
    """Write a file that has its mode from the first byte on.

    Raises: ProxyctlError when it cannot be written.
    """
    data = text.encode("utf-8", "surrogateescape")
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        with os.fdopen(handle, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(data)
    except OSError as error:
        raise ProxyctlError(f"{path}: cannot be written: {error.strerror}") from error


def report_error(error: ProxyctlError, *, as_json: bool = False) -> None:
    """Show an error: on stderr for people; with a machine format also as JSON on stdout."""
    colour = Style(wants_colour(sys.stderr.isatty()))
    first = True
    for entry in error.lines():
        for line in entry.split("\n"):
            text = printable(line)
            if first and not isinstance(error, ConfigError):
                text = f"{colour('refuse', 'error:')} {text}"
            first = False
            _to_stderr(text)
    if as_json:
        write(json.dumps({"error": error_object(error)}, indent=2) + "\n")


def error_object(error: ProxyctlError) -> dict[str, object]:
    """Return an error as plain data."""
    result: dict[str, object] = {
        "type": type(error).__name__,
        "message": error.message,
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
