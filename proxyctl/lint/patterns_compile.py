"""Checks: patterns that the engine in force does not take."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.patterns_pasted import is_pasted
from proxyctl.lint.subject import RULES, RuleRow, Subject
from proxyctl.regex import BadPattern, Engine, compile_pattern
from proxyctl.routing.patterns import as_bytes
from proxyctl.state import Secret


@check("PX101", "pattern-does-not-compile", Severity.ERROR)
def pattern_does_not_compile(subject: Subject) -> Iterator[Finding]:
    r"""A pattern that the engine in force cannot compile.

    ProxySQL loads the rule in silence. It never matches; with `negate_match_pattern` it matches
    every query.

    Correct the pattern. A parenthesis, a bracket or a question mark that is meant as such needs a
    backslash before it.

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 10, match_digest: '^SELECT count(', destination_hostgroup: 2, apply: 1}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 10, match_digest: '^SELECT count\(', destination_hostgroup: 2, apply: 1}
    ```
    """
    for row, column, problem in _broken(subject):
        if _why_not_re2(subject, row, column) is None:
            yield Finding(
                RULES,
                row.key,
                f"{column} does not compile in {subject.engine}: {problem}; {_effect(row)}",
                column,
            )


@check("PX102", "pattern-not-for-re2", Severity.ERROR)
def pattern_not_for_re2(subject: Subject) -> Iterator[Finding]:
    r"""A pattern that PCRE takes and RE2 does not: look-around, a back reference.

    With `mysql-query_processor_regex: 2` ProxySQL uses RE2, which knows neither `(?=...)`,
    `(?!...)` and `(?<...)` nor `\1`. It loads the rule in silence, and the rule never matches.

    Write the pattern without them, often as two rules or with `negate_match_pattern`, or go back to
    PCRE, the default.

    ```yaml
    # Bad
    variables: {mysql-query_processor_regex: 2}
    mysql_query_rules:
      - {rule_id: 10, match_digest: '^SELECT (?!.*FOR UPDATE)', destination_hostgroup: 2}
    ```

    ```yaml
    # Good
    variables: {mysql-query_processor_regex: 2}
    mysql_query_rules:
      - {rule_id: 9, match_digest: '^SELECT .*FOR UPDATE', destination_hostgroup: 1, apply: 1}
      - {rule_id: 10, match_digest: '^SELECT ', destination_hostgroup: 2, apply: 1}
    ```
    """
    for row, column, problem in _broken(subject):
        if _why_not_re2(subject, row, column) is not None:
            yield Finding(
                RULES,
                row.key,
                f"RE2 does not take this {column}, PCRE would: {problem}; {_effect(row)}",
                column,
                hint="write it without look-around and back references, or as two rules",
            )


def _broken(subject: Subject) -> Iterator[tuple[RuleRow, str, str]]:
    for row in subject.rule_rows:
        for column, problem in row.rule.broken.items() if row.rule else ():
            # Without digests match_digest is not looked at, and another check says so.
            is_asked = column == "match_pattern" or subject.variables.query_digests
            if is_asked and not is_pasted(row, column):
                # The engine's words may repeat the pattern.
                is_secret = isinstance(row.cells[column], Secret)
                yield row, column, "(sensitive)" if is_secret else problem


def _why_not_re2(subject: Subject, row: RuleRow, column: str) -> Engine | None:
    """Return PCRE if it compiles what RE2, the engine in force, does not."""
    text = row.text(column)
    if subject.engine is not Engine.RE2 or text is None:
        return None
    try:
        compile_pattern(as_bytes(text), Engine.PCRE)
    except BadPattern:
        return None
    return Engine.PCRE


def _effect(row: RuleRow) -> str:
    is_negated = row.rule is not None and row.rule.negated
    return "negated, it fits every query" if is_negated else "the rule never matches"
