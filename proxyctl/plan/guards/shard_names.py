"""The names that a generated sharding rule stands for, read back from its pattern. Pure.

A rule at RUNTIME is all that is left of an earlier `sharding` section. Its pattern is made of few
means: literal characters, classes, groups of alternatives, and a `?` behind one of these.
"""

from __future__ import annotations

import re
from itertools import product

BEFORE = "(^|[^0-9A-Za-z_$])"
AFTER = "($|[^0-9A-Za-z_$])"
"""What `proxyctl.config.sharding` writes around the names."""

MAX_NAMES = 1_000_000

_TOKEN = re.compile(
    r"""(?P<escaped>\\[^0-9A-Za-z])
      | \[(?P<class>[0-9A-Za-z_-]+)\]
      | (?P<open>\() | (?P<close>\)) | (?P<or>\|) | (?P<maybe>\?)
      | (?P<plain>[^\\\[\](){}|?*+.^$])""",
    re.VERBOSE,
)


def names_in(pattern: str) -> list[str] | None:
    """Return the names of a pattern in alphabetic order; None if it is not one of ours."""
    if not (pattern.startswith(BEFORE) and pattern.endswith(AFTER)):
        return None
    inner = pattern[len(BEFORE) : -len(AFTER)]
    reader = _Reader(inner)
    try:
        names = reader.alternatives()
    except _ForeignError:
        return None
    return sorted(names) if reader.is_at_end and "" not in names else None


class _ForeignError(ValueError):
    """The pattern has means that we do not use, or stands for too much."""


class _Reader:
    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[str, str]] = []
        at = 0
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None or found.lastgroup is None:
                self._tokens = [("foreign", "")]
                return
            self._tokens.append((found.lastgroup, found[found.lastgroup]))
            at = found.end()
        self._at = 0

    _at = 0

    @property
    def is_at_end(self) -> bool:
        return self._at == len(self._tokens)

    def _peek(self) -> str:
        return "" if self.is_at_end else self._tokens[self._at][0]

    def alternatives(self) -> set[str]:
        """Return the texts of what stands before the next closing parenthesis."""
        found = self._sequence()
        while self._peek() == "or":
            self._at += 1
            found |= self._sequence()
        return found

    def _sequence(self) -> set[str]:
        parts: list[set[str]] = []
        count = 1
        while self._peek() not in ("", "or", "close"):
            part = self._part()
            if self._peek() == "maybe":
                self._at += 1
                part = part | {""}
            count *= len(part)
            if count > MAX_NAMES:
                raise _ForeignError
            parts.append(part)
        return {"".join(texts) for texts in product(*parts)}

    def _part(self) -> set[str]:
        kind, text = self._tokens[self._at]
        self._at += 1
        match kind:
            case "plain":
                return {text}
            case "escaped":
                return {text[1]}
            case "class":
                return set(_class(text))
            case "open":
                inner = self.alternatives()
                if self._peek() != "close":
                    raise _ForeignError
                self._at += 1
                return inner
            case _:
                raise _ForeignError


def _class(text: str) -> str:
    """Return the characters of a class such as `0-49a`."""
    found = ""
    for first, last in re.findall(r"(.)(?:-(.))?", text):
        found += "".join(map(chr, range(ord(first), ord(last or first) + 1)))
    return found
