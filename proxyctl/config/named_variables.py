"""Which variables of the environment files name, as far as their text says, unrendered."""

from __future__ import annotations

import re

from proxyctl.config.fenced import Fence, UnreadableError, read_text
from proxyctl.config.files import find_files
from proxyctl.config.mistakes import Mistakes
from proxyctl.config.sources import Sources

_NAMED = re.compile(r"""\benv["']?\s*:\s*(?:(["']?)([A-Za-z_][A-Za-z0-9_]*)\1(?=[\s,}\]#]|\Z))?""")
_TAKES_MORE = re.compile(r"\{%[-+]?\s*(?:include|import|from|extends)\b")


def named_variables(sources: Sources) -> frozenset[str] | None:
    """Return the names that stand in `env:` anywhere; None where one may stand that is not seen.

    That is so where a template works a name out, or takes another file in.
    """
    names: set[str] = set()
    for path in find_files(sources.paths, Mistakes()):
        try:
            text = read_text(path, fence=Fence.around(sources))
        except UnreadableError:
            return None
        found = [match[2] for match in _NAMED.finditer(text)]
        if None in found or _TAKES_MORE.search(text):
            return None
        names.update(found)
    return frozenset(names)
