"""The version of a MySQL server as it says it, such as `8.0.36-28.1` or `10.11.6-MariaDB`. Pure."""

from __future__ import annotations

import re

_NUMBERS = re.compile(r"(\d{1,9})\.(\d{1,9})(?:\.(\d{1,9}))?")


_MARIADB = re.compile(r"mariadb", re.IGNORECASE)


_PRETENDED = "5.5.5-"
"""What MariaDB puts before its version, for clients of old."""


def version_numbers(text: str) -> tuple[int, int, int] | None:
    """Return a server version as numbers, whatever follows them; None for what is no version."""
    found = _NUMBERS.match(text.strip().removeprefix(_PRETENDED))
    return None if found is None else (int(found[1]), int(found[2]), int(found[3] or 0))


def is_mariadb(text: str) -> bool:
    """Return whether the version names MariaDB."""
    return bool(_MARIADB.search(text))
