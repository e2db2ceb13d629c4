"""The names that a generated sharding rule stands for, read back from its pattern.

A rule at RUNTIME is all that remains of an earlier `sharding` section. Its pattern has literal
characters, classes, groups of alternatives, and `?` after one of these.
"""

from __future__ import annotations

import re

from proxyctl.routing.regex.samples import samples

BEFORE = "(^|[^0-9A-Za-z_$])"
AFTER = "($|[^0-9A-Za-z_$])"
"""What `proxyctl.config.sharding` writes around the names."""

MAX_NAMES = 1_000_000

_OURS = re.compile(r"(?:\\[^0-9A-Za-z]|\[[0-9A-Za-z_-]+\]|\((?!\?)|[)|?]|[^\\\[\](){}|?*+.^$])*")


def names_in(pattern: str) -> list[str] | None:
    """Return the names of a pattern in alphabetic order; None if it is not one of ours."""
    if not (pattern.startswith(BEFORE) and pattern.endswith(AFTER)):
        return None
    inner = pattern[len(BEFORE) : -len(AFTER)]
    if not _OURS.fullmatch(inner):
        return None
    names = samples(inner, limit=MAX_NAMES + 1)
    return sorted(names) if 0 < len(names) <= MAX_NAMES and "" not in names else None
