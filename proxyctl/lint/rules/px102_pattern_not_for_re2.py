"""PX102 pattern-not-for-re2."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.broken_patterns import broken, effect, why_not_re2
from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.subject import RULES, Subject


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
    for row, column, problem in broken(subject):
        if why_not_re2(subject, row, column) is not None:
            yield Finding(
                RULES,
                row.key,
                f"RE2 does not take this {column}, PCRE would: {problem}; {effect(row)}",
                column,
                hint="write it without look-around and back references, or as two rules",
            )
