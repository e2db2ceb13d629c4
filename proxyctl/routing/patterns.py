"""The patterns of one set of rules, each compiled once."""

from __future__ import annotations

from proxyctl.routing.regex import BadPattern, Compiled, Engine, Spans, compile_pattern


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


class Patterns:
    """Compiles patterns for one engine; rules that share a pattern share the compiled one."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._known: dict[tuple[str, bool], Compiled] = {}

    def compiled(self, pattern: str, *, caseless: bool) -> Compiled:
        """Return the compiled pattern, or a `Broken` one."""
        key = (pattern, caseless)
        if key not in self._known:
            text = as_bytes(pattern)
            try:
                made = compile_pattern(text, self._engine, caseless=caseless)
            except BadPattern as problem:
                made = Broken(problem)
            self._known[key] = made
        return self._known[key]


def as_bytes(text: str) -> bytes:
    """Return text as ProxySQL holds it."""
    return text.encode("utf-8", "surrogateescape")
