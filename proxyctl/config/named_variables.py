"""Which variables of the environment files may name, as far as their text says, unrendered."""

from __future__ import annotations

import re
from collections.abc import Iterable
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
_EXPRESSION = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
_BY_ANOTHER_NAME = re.compile(r"""\benv["']?\s*[:=]\s*[A-Za-z_]""")
"""In an expression, where a name without quotes is that of a value."""

_PIECE = re.compile(r"""["']([A-Za-z0-9_]{2,})["']""")
_TOUCHING = re.compile(r"[A-Za-z0-9_]{2,}(?=\{\{)|(?<=\}\})[A-Za-z0-9_]{2,}")
_TAKES_MORE = re.compile(r"\{%[-+]?\s*(?:include|import|from|extends)\b")


def named_variables(sources: Sources, environment: Iterable[str]) -> frozenset[str] | None:
    """Return those names of the environment that the files, var files or variables may mean.

    A template writes a reference in many ways, but the name stands somewhere: as a word, or begun
    or ended by a string that an expression puts together with others. None where it may not:
    something else works it out, or a template takes another file in.
    """
    words: set[str] = set()
    pieces: set[str] = set()
    try:
        for path in find_files(sources.paths, Mistakes()):
            text = read_text(path, fence=Fence.around(sources))
            expressions = _EXPRESSION.findall(text)
            if _NOT_A_NAME.search(text) or _TAKES_MORE.search(text):
                return None
            if any(map(_BY_ANOTHER_NAME.search, expressions)):
                return None
            words.update(_WORD.findall(text))
            pieces.update(_TOUCHING.findall(text), *map(_PIECE.findall, expressions))
        for path in sources.var_files:
            text = read_text(path, fence=Fence.around_paths((path,), sources))
            words.update(_WORD.findall(text))
    except UnreadableError:
        return None
    for value in sources.variables.values():
        words.update(_WORD.findall(str(value)))
    ends = tuple(pieces)
    return frozenset(
        name
        for name in environment
        if name not in NO_SECRETS
        and (name in words or name.startswith(ends) or name.endswith(ends))
    )
