"""The files to read, the fence around them, and the content of one of them."""

from __future__ import annotations

import codecs
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from proxyctl.config.mistakes import ValueProblem
from proxyctl.errors import UsageError
from proxyctl.rows.row import Where
from proxyctl.text import os_fix, os_reason

MAX_FILE = 64 * 1024 * 1024
"""Largest YAML file or template. Units: bytes."""


@dataclass(frozen=True)
class Sources:
    """The files to read, and the variables for their templates."""

    paths: tuple[str, ...] = ("./proxyctl.yaml",)
    """The files and folders to read."""
    variables: Mapping[str, object] = field(default_factory=dict)
    """The variables from `--var`."""
    var_files: tuple[str, ...] = ()
    """The files with variables; a later file overrides an earlier one."""
    instance_vars: Mapping[str, object] = field(default_factory=dict)
    """The variables from an instance."""
    restrict_paths: bool = False
    """Whether `{file:}`, `{csv:}`, `{jsonl:}` and template includes must stay inside the folders of
    `paths`, also through links."""


class UnreadableError(ValueProblem):
    """A file or a reference that cannot be read. The message names the reason, not the file.

    `line` and `column` count from 1; both are 0 for the file as a whole.
    """

    def __init__(
        self, message: str, fix: str | None = None, *, line: int = 0, column: int = 0
    ) -> None:
        super().__init__(message, fix)
        self.line = line
        self.column = column

    def where(self, path: str) -> Where:
        """Return the place of the mistake in the file at `path`."""
        return Where(path, self.line, self.column)


@dataclass(frozen=True)
class Fence:
    """The folders that must hold every file that other files name; None allows any folder."""

    folders: tuple[Path, ...] | None = None

    @classmethod
    def around(cls, sources: Sources, *paths: str) -> Fence:
        """Return the fence of the command line around `paths`, by default around its own paths."""
        if not sources.restrict_paths:
            return cls()
        for path in (*sources.paths, *paths):
            _refuse_way_out(path)
        return cls(tuple(map(_folder_of, paths or sources.paths)))

    def path(self, name: str, folder: str) -> str:
        """Return the path of `name` as seen from `folder`.

        Raises: UnreadableError when it lies outside, also through a symbolic link.
        """
        path = os.path.normpath(os.path.join(folder, os.path.expanduser(name)))
        self.check(path)
        if "\0" not in path and is_special(path):
            raise UnreadableError(NOT_A_FILE)
        return path

    def check(self, path: str) -> None:
        """Refuse a path that leads outside, or into /proc, which shows the environment.

        Raises: UnreadableError.
        """
        if "\0" in path:  # refused when it is opened
            return
        real = os.path.realpath(path)
        if real.startswith("/proc/") and os.path.isfile(real):  # a pipe of a shell is none
            raise UnreadableError("a file of /proc, which shows processes and their secrets")
        if self.folders is not None and not any(
            Path(real).is_relative_to(folder) for folder in self.folders
        ):
            raise UnreadableError("the path leads out of the folders of the -f paths")


def _refuse_way_out(path: str) -> None:
    """Refuse a path inside the working folder that a link leads out of it. Raises: UsageError."""
    here = Path.cwd()
    is_inside = Path(os.path.abspath(path)).is_relative_to(here)
    if is_inside and not Path(os.path.realpath(path)).is_relative_to(here.resolve()):
        raise UsageError(
            f"{path}: a symbolic link leads out of the working folder (--restrict-paths)",
            fix="name the folder that it leads to",
        )


def _folder_of(path: str) -> Path:
    real = Path(os.path.realpath(path))
    return real if real.is_dir() else Path(path).parent.resolve()


ANYWHERE = Fence()

NOT_A_FILE = "a pipe or a device, not a file: reading it may never end"


def is_special(path: str) -> bool:
    """Return whether something exists there that is neither a file nor a folder."""
    return os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path))


def read_bytes(path: str, *, limit: int, fence: Fence = ANYWHERE) -> bytes:
    """Return the content of a file.

    Raises: UnreadableError, also for a file larger than `limit` bytes or outside the fence.
    """
    fence.check(path)
    try:
        with open(path, "rb") as file:
            content = file.read(limit + 1)
    except OSError as error:
        raise UnreadableError(os_reason(error), os_fix(error)) from error
    except ValueError as error:
        raise UnreadableError("the path contains a NUL character") from error
    if len(content) > limit:
        raise UnreadableError(f"the file is larger than {limit // 1024:,} KB")
    return content


def read_text(path: str, *, limit: int = MAX_FILE, fence: Fence = ANYWHERE) -> str:
    """Return the text of a UTF-8 file, without a byte order mark.

    Raises: UnreadableError.
    """
    content = read_bytes(path, limit=limit, fence=fence).removeprefix(codecs.BOM_UTF8)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        begin = content.rfind(b"\n", 0, error.start) + 1
        raise UnreadableError(
            f"not UTF-8: byte 0x{content[error.start]:02X} fits no character",
            "save the file as UTF-8",
            line=content.count(b"\n", 0, begin) + 1,
            column=len(content[begin : error.start].decode()) + 1,
        ) from None
