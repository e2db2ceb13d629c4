"""Text of a server inside markdown."""

from __future__ import annotations

import re

from proxyctl.text import printable


def code_span(text: str) -> str:
    """Return a code span that also a table cell takes, which a pipe would end."""
    safe = printable(text).replace("|", "\\|")
    longest = max((len(run) for run in re.findall(r"`+", safe)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if safe.startswith("`") or safe.endswith("`") else ""
    return f"{fence}{pad}{safe}{pad}{fence}"
