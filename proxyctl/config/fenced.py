"""The content of one file, read where it may be read, as far as it is not too large."""

from __future__ import annotations

import codecs
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO

from proxyctl.config.exposure import exposure
from proxyctl.config.sources import Sources
from proxyctl.state.row import Where

MAX_FILE = 64 * 1024 * 1024
"""Largest YAML file or template. Units: bytes."""


class UnreadableError(Exception):
    """A file cannot be read. The message names the reason, not the file.

    Shape: `line` and `column` count from 1; both are 0 where the whole file is meant.
    """

    def __init__(
        self, message: str, hint: str | None = None, *, line: int = 0, column: int = 0
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.line = line
        self.column = column

    def where(self, path: str) -> Where:
        """Return the place in the file that was to be read."""
        return Where(path, self.line, self.column)


@dataclass(frozen=True)
class Fence:
    """The folders that files named inside the files must stand in; None means anywhere.

    `warn` is told of a file with a password that everybody can read.
    """

    folders: tuple[str, ...] | None = None
    warn: Callable[[str], None] = lambda _text: None
    named: str = "folders of the -f paths"

    @classmethod
    def around(cls, sources: Sources) -> Fence:
        """Return the fence that the command line asks for."""
        return cls.around_paths(sources.paths, sources)

    @classmethod
    def around_paths(cls, paths: tuple[str, ...], sources: Sources) -> Fence:
        """Return the fence around the folders of these paths, if one is asked for."""
        if not sources.restrict_paths:
            return cls(warn=sources.warn)
        folders = tuple(dict.fromkeys(map(_folder_of, paths)))
        return cls(folders, sources.warn)

    @classmethod
    def around_path(cls, path: str, named: str) -> Fence:
        """Return the fence around the folder of one file, and what that is called."""
        return cls((_folder_of(path),), named=named)

    def path(self, name: str, folder: str) -> str:
        """Return the path of `name` as seen from `folder`.

        Raises: UnreadableError when it lies outside, also through a symbolic link.
        """
        path = os.path.normpath(os.path.join(folder, os.path.expanduser(name)))
        self._real(path)
        return path

    def check(self, descriptor: int, path: str) -> None:
        """Check a file that was opened as `path`, which may have become another one meanwhile.

        Raises: UnreadableError when it lies outside.
        """
        real = self._real(path)
        if real is not None and not os.path.samestat(os.fstat(descriptor), os.stat(real)):
            raise UnreadableError(f"the path leads out of the {self.named}")

    def _real(self, path: str) -> str | None:
        """Return where a path leads, if that matters.

        Raises: UnreadableError when that is outside.
        """
        # A NUL is no name to look up: opening the file says so.
        if self.folders is None or "\0" in path:
            return None
        real = os.path.realpath(path)
        if not any(real.startswith(os.path.join(inside, "")) for inside in self.folders):
            raise UnreadableError(f"the path leads out of the {self.named}")
        return real

    def warn_of(self, path: str) -> None:
        """Warn of a file with a password in clear text, if everybody can read it."""
        said = exposure(path)
        if said:
            self.warn(said)


def _folder_of(path: str) -> str:
    return os.path.realpath(path if os.path.isdir(path) else os.path.dirname(path) or ".")


ANYWHERE = Fence()
_PIPES = "give a file, or a pipe of the shell such as <(command)"


def read_bytes(path: str, *, limit: int, fence: Fence = ANYWHERE) -> bytes:
    """Return the content of a file.

    Raises: UnreadableError, also for a file larger than `limit` bytes, outside the fence, or a
    named pipe: whoever names one can let proxyctl wait for ever. That of `<(command)` has an end.
    """
    with _opened(path, fence) as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise UnreadableError(f"the file is larger than {limit // 1024:,} KB")
    return content


def is_readable(path: str, *, fence: Fence = ANYWHERE) -> bool:
    """Return whether a file can be opened. Nothing is read: a pipe gives its text once."""
    try:
        with _opened(path, fence):
            return True
    except UnreadableError:
        return False


@contextmanager
def _opened(path: str, fence: Fence) -> Iterator[BinaryIO]:
    """Open a file. Raises: UnreadableError, also for what fails while it is read."""
    try:
        if stat.S_ISFIFO(os.stat(path).st_mode) and os.path.exists(os.path.realpath(path)):
            raise UnreadableError("a named pipe, which may never have an end", _PIPES)
        with open(path, "rb") as file:
            fence.check(file.fileno(), path)
            yield file
    except OSError as error:
        raise UnreadableError((error.strerror or "it cannot be read").lower()) from error
    except ValueError as error:
        raise UnreadableError("the path holds a NUL character") from error


def read_text(path: str, *, limit: int = MAX_FILE, fence: Fence = ANYWHERE) -> str:
    """Return the text of a UTF-8 file, without a byte order mark.

    Raises: UnreadableError.
    """
    content = read_bytes(path, limit=limit, fence=fence).removeprefix(codecs.BOM_UTF8)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        begin = content.rfind(b"\n", 0, error.start) + 1
        is_utf16 = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        raise UnreadableError(
            f"not UTF-8: byte 0x{content[error.start]:02X} fits no character",
            f"save the file as UTF-8{', it is UTF-16' if is_utf16 else ''}",
            line=content.count(b"\n", 0, begin) + 1,
            column=len(content[begin : error.start].decode()) + 1,
        ) from None
