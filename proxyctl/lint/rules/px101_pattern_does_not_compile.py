"""PX101 pattern-does-not-compile."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.check import check
from proxyctl.lint.finding import Finding, Severity
from proxyctl.lint.patterns import is_pasted
from proxyctl.lint.subject import LintSubject, RuleRow
from proxyctl.routing.regex import BadPattern, RegexEngine, as_bytes, compile_pattern
from proxyctl.rows.row import Secret

_FOR_RE2 = "write it without look-around and back references, or split it into two rules"


@check("PX101", "pattern-does-not-compile", Severity.ERROR, pgsql=True)
def pattern_does_not_compile(subject: LintSubject) -> Iterator[Finding]:
    r"""A pattern that the regular expression engine in force cannot compile.

    ProxySQL loads the rule silently. The rule never matches; with `negate_match_pattern` it matches
    every query before ProxySQL 3.0.12, and none from that version on.

    Correct the pattern. Put a backslash before a parenthesis, a bracket or a question mark that
    is meant literally. With `mysql-query_processor_regex: 2` the engine is RE2, which has neither
    look-around, such as `(?!...)`, nor back references, such as `\1`: write two rules instead.

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

    ```yaml
    # Bad
    variables: {mysql-query_processor_regex: 2}
    mysql_query_rules:
      - {rule_id: 10, match_digest: '^SELECT (?!.*FOR UPDATE)', destination_hostgroup: 2}
    ```
    """
    for row in subject.rule_rows:
        for column, problem in row.rule.broken.items() if row.rule else ():
            # Without digests ProxySQL skips match_digest, and PX120 reports it.
            is_used = column == "match_pattern" or subject.variables.query_digests
            if not is_used or is_pasted(row.rule, column, row.text(column)):
                continue
            # The engine's message may repeat the pattern.
            reason = "(sensitive)" if isinstance(row.cells[column], Secret) else problem
            message = (
                f"{column} does not compile in {subject.engine}: {reason}; {_effect(row, column)}"
            )
            fix = _FOR_RE2 if _compiles_only_in_pcre(subject, row, column) else None
            yield subject.rule_finding(row.key, message, column, fix)


def _compiles_only_in_pcre(subject: LintSubject, row: RuleRow, column: str) -> bool:
    """Return whether RE2 is in force and only PCRE compiles the pattern."""
    if subject.engine is not RegexEngine.RE2:
        return False
    try:
        compile_pattern(as_bytes(row.text(column) or ""), RegexEngine.PCRE)
    except BadPattern:
        return False
    return True


def _effect(row: RuleRow, column: str) -> str:
    is_negated = row.rule is not None and row.rule.negated and column not in row.rule.dead
    return "negated, it matches every query" if is_negated else "the rule never matches"
