"""What comes back from an admin interface: text, errors, and packets that are none of it."""

from __future__ import annotations

import struct

PORTS = "the admin port is 6032 by default; 6033 is for applications"
"""The way out where no admin interface answers."""

LOST = (2006, 2013, 2014, 2055)
"""The codes of a connection that broke."""

NOT_UNDERSTOOD = (
    AssertionError,
    IndexError,
    RuntimeError,
    ValueError,
    struct.error,
)
"""What PyMySQL raises, beside its own errors, over packets that are none of the protocol."""


def decoded(cell: bytes | str) -> str:
    """Return a cell as text. Bytes that are not UTF-8 stay, as surrogate escapes."""
    return cell if isinstance(cell, str) else cell.decode("utf-8", "surrogateescape")


def code_and_text(error: Exception) -> tuple[int, str]:
    """Return what an error of PyMySQL or of the system says; the code is 0 where it has none."""
    arguments = error.args
    if len(arguments) >= 2 and isinstance(arguments[0], int):
        return arguments[0], decoded(arguments[1]) if arguments[1] else ""
    return 0, str(error)
