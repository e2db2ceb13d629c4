"""What all engines give: a compiled pattern, where it matches, and why it does not compile."""

from __future__ import annotations

from typing import Protocol

Span = tuple[int, int]
"""Start and end in bytes; (-1, -1) for a group that took no part."""

Spans = tuple[Span, ...]
"""The whole match, then each group."""


class BadPattern(Exception):  # noqa: N818 - it is an answer, and the callers want the reason
    """A pattern does not compile in the engine of ProxySQL.

    Units: `position` counts bytes from 0; None where the engine does not tell.
    """

    def __init__(self, reason: str, position: int | None = None) -> None:
        super().__init__(reason if position is None else f"{reason}, at byte {position + 1}")
        self.reason = reason
        self.position = position


class Compiled(Protocol):
    """A pattern that compiled. It works on bytes, as ProxySQL does, and stops at a NUL.

    PCRE can take very many steps for a match. Where proxyctl stops counting before ProxySQL would,
    the answer is None: neither yes nor no.
    """

    @property
    def groups(self) -> int:
        """The number of capturing groups."""

    @property
    def is_verified(self) -> bool:
        """Whether ProxySQL's engine is known to read the pattern as it is read here."""

    @property
    def for_re2(self) -> bytes | None:
        """A pattern for RE2 that matches wherever this one does; None: see `Prefilter`."""

    def matches(self, subject: bytes) -> bool | None:
        """Return whether the pattern matches somewhere in the subject."""

    def search(self, subject: bytes) -> Spans | None:
        """Return where the first match and its groups are; None without a match."""

    def replace(self, template: bytes, subject: bytes, *, every: bool) -> bytes | None:
        """Return the subject with the first match, or every match (GLOBAL), rewritten."""


class Broken:
    """A pattern that does not compile: ProxySQL loads the rule all the same, and never matches."""

    groups = 0
    is_verified = True
    for_re2 = None

    def __init__(self, problem: BadPattern) -> None:
        self.problem = problem

    def matches(self, subject: bytes) -> bool:  # noqa: ARG002
        """Return that it does not match."""
        return False

    def search(self, subject: bytes) -> Spans | None:  # noqa: ARG002
        """Return no place."""
        return None

    def replace(self, template: bytes, subject: bytes, *, every: bool) -> bytes:  # noqa: ARG002
        """Return the subject as ProxySQL copies it before it tries: up to a NUL."""
        return subject.partition(b"\0")[0]


def as_bytes(text: str) -> bytes:
    """Return text as ProxySQL holds it."""
    return text.encode("utf-8", "surrogateescape")


def rewritten(template: bytes, subject: bytes, spans: Spans, known: int) -> tuple[bytes, bool]:
    r"""Return the text for one match, and whether the template had no mistake.

    In replace_pattern `\1` is a group, `\\` a backslash, anything else a mistake. Both engines stop
    there: a single replacement is then not made, one of all matches keeps what was written before.

    Shape: `known` counts the groups that may be named, the whole match among them.
    """
    parts = []
    at = 0
    while True:
        found = template.find(b"\\", at)
        if found < 0:
            parts.append(template[at:])
            return b"".join(parts), True
        parts.append(template[at:found])
        letter = template[found + 1 : found + 2]
        if letter.isdigit() and int(letter) < known:
            start, end = spans[int(letter)] if int(letter) < len(spans) else (-1, -1)
            parts.append(subject[start:end] if start >= 0 else b"")
        elif letter == b"\\":
            parts.append(letter)
        else:
            return b"".join(parts), False
        at = found + 2


def highest_group(template: bytes) -> int:
    """Return the highest group that a template names, 0 without one."""
    highest = at = 0
    while (at := template.find(b"\\", at)) >= 0:
        letter = template[at + 1 : at + 2]
        if letter.isdigit():
            highest = max(highest, int(letter))
        at += 2
    return highest
