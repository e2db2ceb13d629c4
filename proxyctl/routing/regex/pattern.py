"""The shapes that all engines share: compiled patterns, broken patterns and matches."""

from __future__ import annotations

from typing import Protocol

MatchSpan = tuple[int, int]
"""Start and end in bytes; (-1, -1) for a group outside the match."""

Spans = tuple[MatchSpan, ...]
"""The whole match, then each group."""


class BadPattern(Exception):  # noqa: N818 - it is an answer, and the callers want the reason
    """A pattern does not compile in ProxySQL's engine.

    Units: `position` counts bytes from 0; None if the engine does not report it.
    """

    def __init__(self, reason: str, position: int | None = None) -> None:
        super().__init__(reason if position is None else f"{reason}, at byte {position + 1}")
        self.reason = reason
        self.position = position


class Compiled(Protocol):
    """A compiled pattern. Like ProxySQL, it works on bytes and stops at a NUL.

    PCRE can need very many steps for a match. If proxyctl gives up before ProxySQL would, the
    answer is None: undecided.
    """

    @property
    def groups(self) -> int:
        """The number of capturing groups."""

    @property
    def is_verified(self) -> bool:
        """Whether ProxySQL's engine surely reads the pattern as proxyctl does."""

    @property
    def for_re2(self) -> bytes | None:
        """A pattern for RE2 that matches at least where this one does; None: see `Prefilter`."""

    def matches(self, subject: bytes) -> bool | None:
        """Return whether the pattern matches somewhere in the subject."""

    def search(self, subject: bytes) -> Spans | None:
        """Return the spans of the first match and its groups; None without a match."""

    def replace(self, template: bytes, subject: bytes, *, every: bool) -> bytes | None:
        """Return the subject with the first match, or every match (GLOBAL), rewritten."""


class Broken:
    """A pattern that does not compile: ProxySQL loads the rule, but the pattern never matches."""

    groups = 0
    is_verified = True
    for_re2 = None

    def __init__(self, problem: BadPattern) -> None:
        self.problem = problem

    def matches(self, subject: bytes) -> bool:  # noqa: ARG002
        """Return False."""
        return False

    def search(self, subject: bytes) -> Spans | None:  # noqa: ARG002
        """Return None."""
        return None

    def replace(self, template: bytes, subject: bytes, *, every: bool) -> bytes:  # noqa: ARG002
        """Return the subject up to a NUL, as ProxySQL copies it before it replaces."""
        return subject.partition(b"\0")[0]


def as_bytes(text: str) -> bytes:
    """Return the text as ProxySQL's bytes."""
    return text.encode("utf-8", "surrogateescape")


def rewritten(template: bytes, subject: bytes, spans: Spans, known: int) -> tuple[bytes, bool]:
    r"""Return the text for one match, and whether the template is valid.

    In replace_pattern `\1` is a group, `\\` a backslash, and any other backslash a mistake, where
    both engines stop: they drop a single replacement, but keep the part already written of a
    replacement of all matches.

    Shape: `known` is the number of groups that the template may name, with the whole match.
    """
    parts = []
    at = 0
    while True:
        backslash = template.find(b"\\", at)
        if backslash < 0:
            parts.append(template[at:])
            return b"".join(parts), True
        parts.append(template[at:backslash])
        letter = template[backslash + 1 : backslash + 2]
        if letter.isdigit() and int(letter) < known:
            start, end = spans[int(letter)] if int(letter) < len(spans) else (-1, -1)
            parts.append(subject[start:end] if start >= 0 else b"")
        elif letter == b"\\":
            parts.append(letter)
        else:
            return b"".join(parts), False
        at = backslash + 2


def highest_group(template: bytes) -> int:
    """Return the highest group that a template names; 0 if it names none."""
    highest = at = 0
    while (at := template.find(b"\\", at)) >= 0:
        letter = template[at + 1 : at + 2]
        if letter.isdigit():
            highest = max(highest, int(letter))
        at += 2
    return highest
