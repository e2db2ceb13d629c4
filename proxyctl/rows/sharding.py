"""The rows that a `sharding` section of the files makes, recognised by their comment."""

from __future__ import annotations

import re

from proxyctl.catalog import Value

_ORIGIN = re.compile(r"sharding ([^:;]*)")
"""The start of generated comments: `sharding NAME: tables`, `sharding NAME; comment`."""


def section_in(comment: Value) -> str | None:
    """Return the `sharding` section that the comment of a rule, or of fast routing, names."""
    match = _ORIGIN.match(comment) if isinstance(comment, str) else None
    return match[1] if match else None
