"""Which names are those of a secret, where the catalogue does not list what has them."""

from __future__ import annotations

import re

SECRET_NAME = re.compile(
    r"pas+w|ps?wd|pass(?:phrase|code)|(?<![a-z])(?:pass|pw|creds?|salt|jwt|bearer)(?![a-z])"
    r"|secret|token|credential|hmac|auth(?:entication)?_?string"
    r"|(?<!ssl)[-_]key(?![a-z])|(?:api|access|private|encryption|master|signing)key",
    re.IGNORECASE,
)
"""Found anywhere in a name, also in a misspelt one: too much is hidden rather than too little.

A key that follows `ssl` is the name of a file.
"""


def names_a_secret(name: str) -> bool:
    """Return whether a column or variable of this name may hold a secret."""
    return SECRET_NAME.search(name) is not None
