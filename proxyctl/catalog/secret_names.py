"""Which names are those of a secret, where the catalogue does not list what has them."""

from __future__ import annotations

import re

_SECRET = re.compile(
    r"(?:password|passwd|passphrase|pwd|secret|token|credentials?"
    r"|(?:^|[-_])pass|(?:api|access|private|secret)_?key)$",
    re.IGNORECASE,
)


def names_a_secret(name: str) -> bool:
    """Return whether a column or variable of this name may hold a secret."""
    return _SECRET.search(name) is not None
