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
