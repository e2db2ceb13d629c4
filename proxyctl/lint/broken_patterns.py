"""Patterns that the engine in force does not take."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.pasted_digests import is_pasted
from proxyctl.lint.subject import RuleRow, Subject
from proxyctl.routing.regex import BadPattern, Engine, as_bytes, compile_pattern
from proxyctl.state.row import Secret


def broken(subject: Subject) -> Iterator[tuple[RuleRow, str, str]]:
    """Yield the patterns that do not compile: row, column, and what the engine says."""
    for row in subject.rule_rows:
        for column, problem in row.rule.broken.items() if row.rule else ():
            # Without digests match_digest is not looked at, and another check says so.
            is_asked = column == "match_pattern" or subject.variables.query_digests
            if is_asked and not is_pasted(row, column):
                # The engine's words may repeat the pattern.
                is_secret = isinstance(row.cells[column], Secret)
                yield row, column, "(sensitive)" if is_secret else problem


def why_not_re2(subject: Subject, row: RuleRow, column: str) -> Engine | None:
    """Return PCRE if it compiles what RE2, the engine in force, does not."""
    text = row.text(column)
    if subject.engine is not Engine.RE2 or text is None:
        return None
    try:
        compile_pattern(as_bytes(text), Engine.PCRE)
    except BadPattern:
        return None
    return Engine.PCRE


def effect(row: RuleRow) -> str:
    """Return what a pattern that does not compile makes of its rule."""
    is_negated = row.rule is not None and row.rule.negated
    return "negated, it fits every query" if is_negated else "the rule never matches"
