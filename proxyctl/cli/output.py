"""Output: data on stdout, progress and errors on stderr, and the files that options name.

Only the package `cli` prints.
"""

from __future__ import annotations

import getpass
import json
import os
import re
import secrets
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

import typer

from proxyctl.errors import ConfigError, ProxyctlError, RefusedError, UsageError
from proxyctl.render.style import Style
from proxyctl.text import os_reason, printable


def wants_colour(stream_is_terminal: bool) -> bool:
    """Return whether to colour. NO_COLOR wins; FORCE_COLOR colours without a terminal."""
    if os.environ.get("NO_COLOR"):
        return False
    return stream_is_terminal or bool(os.environ.get("FORCE_COLOR"))


@contextmanager
def without_colour() -> Iterator[None]:
    """Set NO_COLOR while the block runs."""
    before = os.environ.get("NO_COLOR")
    os.environ["NO_COLOR"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["NO_COLOR"]
        else:
            os.environ["NO_COLOR"] = before


def is_terminal(stream: TextIO | None) -> bool:
    """Return whether a stream is a terminal. Python sets a closed stream to None."""
    return stream is not None and stream.isatty()


def style(stream: TextIO | None = None, *, is_verbose: bool = False) -> Style:
    """Return the style for a stream, stdout by default. `is_verbose`: cut no value short."""
    on_terminal = is_terminal(sys.stdout if stream is None else stream)
    return Style(wants_colour(on_terminal), columns() if on_terminal else None, is_verbose)


def columns() -> int:
    """Return the width for text: the terminal's, or 80 without a terminal, and at least 40."""
    return max(shutil.get_terminal_size().columns, 40)


def emit(format: str, **texts: Callable[[], str]) -> None:
    """Write a result in the format that the command line asks for; only that text is made."""
    write(texts[format]())


def write(text: str) -> None:
    """Write data to stdout. Text that is not UTF-8 is written as the bytes that were read.

    A reader that closes the pipe, such as `head`, is no error: an apply continues.

    Raises: ProxyctlError when stdout cannot be written, as on a full disk.
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
        _discard_output(sys.stdout)
    except OSError as error:
        _discard_output(sys.stdout)
        raise ProxyctlError(f"stdout cannot be written: {os_reason(error)}") from error


def _discard_output(stream: TextIO) -> None:
    """Send everything written to a stream from now on to /dev/null, also at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def say(*lines: str) -> None:
    """Write messages to stderr, one per line; control characters in them are escaped.

    A terminal shows warnings and notes wrapped, and other lines whole, so that they can be copied.
    Never raises: an apply must not stop half way because nobody reads stderr.
    """
    text_style = style(sys.stderr)
    for line in map(printable, lines):
        parts = (
            text_style.lines(line, then="  ")
            if line.startswith(("warning: ", "note: "))
            else [line]
        )
        write_to_stderr("".join(f"{part}\n" for part in parts))


def write_to_stderr(text: str) -> None:
    """Write rendered text to stderr, when stdout is reserved for a document. Never raises.

    Renderers escape control characters themselves.
    """
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:
        _discard_output(sys.stderr)


def can_ask() -> bool:
    """Return whether a person can answer a question: stdin and stderr are terminals."""
    return is_terminal(sys.stdin) and is_terminal(sys.stderr)


def confirm(verb: str, *questions: str, fix: str, refusal: str) -> None:
    """Ask each question on the terminal; only `yes` continues.

    Raises: UsageError when nobody can be asked; RefusedError for any other answer.
    """
    if not can_ask():
        raise UsageError(f"{verb} asks for approval, and there is no terminal to ask on", fix=fix)
    for question in questions:
        write_to_stderr(f"{printable(question)} Only 'yes' is accepted: ")
        if sys.stdin.readline().strip() != "yes":
            raise RefusedError(f"{refusal}: the answer was not 'yes'")


def ask_password(account: str) -> str:
    """Ask for a password on the terminal, without showing it."""
    return getpass.getpass(f"Password for {account}: ", stream=sys.stderr)


_ERASE_LINE = "\x1b[A\x1b[2K"
"""Terminal codes: go to the previous line and erase it."""


@contextmanager
def progress(label: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show a progress bar on a terminal; yield a function that takes the number done so far.

    The bar disappears at the end.
    """
    if not is_terminal(sys.stderr) or total == 0:
        yield lambda _done: None
        return
    try:
        with typer.progressbar(length=total, label=label, show_pos=True, file=sys.stderr) as bar:
            yield lambda done: bar.update(done - bar.pos)
    finally:
        write_to_stderr(_ERASE_LINE)


_CLEAR_LINE = "\r\x1b[2K"
"""Terminal codes: go to the beginning of this line and erase it."""


@contextmanager
def live_line() -> Iterator[Callable[[str], None]]:
    """Yield a function that shows a text in one line of the terminal, in place of the last one.

    The line disappears at the end, and before other messages. Without a terminal nothing is shown.
    """
    if not is_terminal(sys.stderr):
        yield lambda _text: None
        return
    try:
        yield lambda text: write_to_stderr(f"{_CLEAR_LINE}{text[: columns() - 1]}")
    finally:
        write_to_stderr(_CLEAR_LINE)


def write_file(path: Path, text: str, *, mode: int = 0o644, is_new: bool = False) -> None:
    """Write a file, which gets its name once it is complete: a full disk leaves what was there.

    `is_new`: never overwrite a file. Raises: ProxyctlError when it cannot be written.
    """
    content = text.encode("utf-8", "surrogateescape")
    try:
        if is_new:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
        elif path.exists() and not path.is_file():  # such as /dev/stdout
            path.write_bytes(content)
            return
        real = path.resolve()  # a link stays one
        if real.exists() and not is_new:
            mode &= real.stat().st_mode  # what was private stays so
        unfinished = real.with_name(f".{real.name}.{secrets.token_hex(4)}")
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
            with os.fdopen(os.open(unfinished, flags, mode), "wb") as file:
                file.write(content)
            unfinished.replace(real)
        except BaseException:
            for incomplete in (unfinished, path) if is_new else (unfinished,):
                incomplete.unlink(missing_ok=True)
            raise
    except FileNotFoundError:
        raise _no_folder(path) from None
    except OSError as error:
        raise ProxyctlError(f"{path}: cannot be written: {os_reason(error)}") from error


def _no_folder(path: Path) -> ProxyctlError:
    make = f"create it: mkdir -p {shlex.quote(str(path.parent))}"
    return ProxyctlError(f"{path}: cannot be written: no such folder", fix=make)


def check_writable(path: Path) -> None:
    """Refuse a path that cannot be written, before reading an instance. Raises: ProxyctlError."""
    try:
        is_folder, has_folder = path.is_dir(), path.parent.is_dir()
    except OSError as error:
        raise ProxyctlError(f"{path}: cannot be written: {os_reason(error)}") from error
    if is_folder:
        raise ProxyctlError(f"{path}: cannot be written: it is a folder", fix="name a file in it")
    if not has_folder:
        raise _no_folder(path)


def check_new(path: Path) -> None:
    """Refuse a path that cannot be a new file.

    Raises: RefusedError when the file exists; ProxyctlError when it cannot be written.
    """
    check_writable(path)
    if path.exists():
        fix = "choose another file with -o, or remove this one"
        raise RefusedError(f"{path}: already exists", fix=fix)


def new_files(folder: Path, names: Sequence[str], ending: str) -> dict[str, Path]:
    """Return the path of a new file for each instance, by its name, in a new or empty folder.

    The folder is made if it is missing. Raises: UsageError when two names would give the same file;
    RefusedError if something is in the folder; ProxyctlError when it cannot be made.
    """
    paths = {name: folder / (re.sub(r"[^\w.-]|^\.", "_", name) + ending) for name in names}
    if len({*paths.values()}) < len(paths):
        raise UsageError(
            "two instances would get the same file: their names are too similar",
            fix="rename one of them in the section `instances`",
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        is_empty = next(folder.iterdir(), None) is None
    except OSError as error:
        raise ProxyctlError(f"{folder}: {os_reason(error)}") from error
    if not is_empty:
        raise RefusedError(f"{folder}: not empty", fix="choose another folder with -o")
    return paths


def report_error(error: ProxyctlError, *, as_json: bool = False) -> None:
    """Write an error to stderr; `as_json`: also to stdout as JSON."""
    text_style = style(sys.stderr)
    whole = error.of_whole_file() if isinstance(error, ConfigError) else error
    prefix = "error: " if whole else ""
    for line in (whole or error).lines():
        for part in text_style.line(printable(f"{prefix}{line}")):
            shown = part.replace("error:", text_style("refuse", "error:"), 1) if prefix else part
            write_to_stderr(f"{shown}\n")
            prefix = ""
    if as_json:
        from proxyctl.render.encode import ERROR

        with suppress(ProxyctlError):  # stderr has the error already
            write(json.dumps({"error": ERROR.encode(error)}, indent=2) + "\n")
