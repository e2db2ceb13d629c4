"""Which variables of the environment files may name, as far as their text says, unrendered."""

from __future__ import annotations

import re
from typing import Final

from proxyctl.config.fenced import Fence, UnreadableError, read_text
from proxyctl.config.files import find_files
from proxyctl.config.mistakes import Mistakes
from proxyctl.config.sources import Sources

NO_SECRETS: Final = frozenset(
    ["HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "PWD", "SHELL", "TERM", "TMPDIR", "TZ", "USER"]
)
"""What any program may need, and no password stands in."""

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NOT_A_NAME = re.compile(
    r"""(?:\benv["']?\s*:|\bdict\(\s*env\s*=)"""
    r"""(?!\s*(["']?)[A-Za-z_][A-Za-z0-9_]*\1[ \t]*(?:[,)}\]#\r\n]|\Z))"""
)
_TAKES_MORE = re.compile(r"\{%[-+]?\s*(?:include|import|from|extends)\b")


def named_variables(sources: Sources) -> frozenset[str] | None:
    """Return every word of the files, var files and variables that may be such a name.

    A template writes a reference in many ways, but the name stands somewhere. None where it may
    not: a template works it out, or takes another file in.
    """
    words: set[str] = set()
    try:
        for path in find_files(sources.paths, Mistakes()):
            text = read_text(path, fence=Fence.around(sources))
            if _NOT_A_NAME.search(text) or _TAKES_MORE.search(text):
                return None
            words.update(_WORD.findall(text))
        for path in sources.var_files:
            text = read_text(path, fence=Fence.around_paths((path,), sources))
            words.update(_WORD.findall(text))
    except UnreadableError:
        return None
    for value in sources.variables.values():
        words.update(_WORD.findall(str(value)))
    return frozenset(words - NO_SECRETS)
