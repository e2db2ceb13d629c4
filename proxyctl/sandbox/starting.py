"""What can be wrong before a sandbox serves: the file for DISK, the address."""

from __future__ import annotations

import errno
import os
import socket
import sqlite3
from pathlib import Path

from proxyctl.errors import ProxyctlError

_PORT_ERRORS = (errno.EADDRINUSE, errno.EACCES)
_HOST_HINT = "--host takes an address of this machine, such as 127.0.0.1"


def check_host(host: str) -> None:
    """Refuse an address that is empty: it would mean every address of this machine.

    Raises: ProxyctlError.
    """
    if not host.strip():
        raise ProxyctlError("cannot listen: the address is empty", hint=_HOST_HINT)


def address(host: str, port: int) -> str:
    """Return an address as people write it."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def disk_error(path: Path, error: sqlite3.DatabaseError) -> ProxyctlError:
    """Return the error for a file that SQLite cannot use as DISK."""
    reason, hint = str(error), "it may come from another version; choose another file"
    if path.is_dir():
        reason, hint = "it is a folder", "name a file"
    elif not path.parent.is_dir():
        reason, hint = f"there is no folder {path.parent}", "create the folder first"
    elif path.exists() and not path.is_file():
        reason, hint = "it is no ordinary file", "name another file"
    elif not os.access(path if path.exists() else path.parent, os.R_OK | os.W_OK):
        reason, hint = "it cannot be read and written", "check its owner and mode"
    elif "locked" in reason:
        hint = "another sandbox may be using it; choose another file"
    return ProxyctlError(f"{path} cannot be used as DISK: {reason}", hint=hint)


def listen_error(
    host: str, port: int, error: OSError | UnicodeError | OverflowError
) -> ProxyctlError:
    """Return the error for an address that cannot be listened on."""
    hint = _HOST_HINT
    if isinstance(error, OSError) and error.errno in _PORT_ERRORS:
        hint = "choose another --port"
    if isinstance(error, socket.gaierror):
        reason = error.strerror or str(error)
    elif isinstance(error, OSError):
        reason = os.strerror(error.errno or 0)
    elif isinstance(error, UnicodeError):
        reason = "not a host name"
    else:
        reason = str(error)
    return ProxyctlError(f"cannot listen on {address(host, port)}: {reason}", hint=hint)
