"""Text of a server or of files inside markdown: it cannot be markup, and ends no block."""

from __future__ import annotations

import re

from proxyctl.text import printable

_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|!~$])")


def inline(text: str) -> str:
    """Return text that is no markup, no HTML and no mention of anybody."""
    escaped = _MARKUP.sub(r"\\\1", printable(text).replace("&", "&amp;"))
    # A zero-width space: a mention would be made of `@name` however it is escaped.
    return escaped.replace("@", "@&#8203;")


def code_span(text: str) -> str:
    """Return a code span that also a table cell takes, which a pipe would end."""
    safe = printable(text).replace("|", "\\|")
    fence = "`" * (_longest_run(safe) + 1)
    pad = " " if safe.startswith("`") or safe.endswith("`") else ""
    return f"{fence}{pad}{safe}{pad}{fence}"


def fenced(text: str) -> str:
    """Return text for a line of a block that stands already: it cannot close the block."""
    return printable(text).replace("```", "'''")


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
