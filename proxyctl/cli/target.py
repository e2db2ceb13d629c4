"""The file that a command writes: whether it may be, told before an instance is asked for it."""

from __future__ import annotations

from pathlib import Path

from proxyctl.cli.output import already_there
from proxyctl.errors import ProxyctlError


def check_place(path: Path) -> None:
    """Refuse a path that cannot be a file. Raises: ProxyctlError."""
    if path.is_dir():
        raise ProxyctlError(f"{path}: cannot be written: it is a folder")
    if not path.parent.is_dir():
        raise ProxyctlError(f"{path}: cannot be written: no such folder")


def check_new(path: Path) -> None:
    """Refuse a path that cannot be a new file.

    Raises: RefusedError where a file is there already; ProxyctlError where none can be.
    """
    check_place(path)
    if path.exists():
        raise already_there(path)
