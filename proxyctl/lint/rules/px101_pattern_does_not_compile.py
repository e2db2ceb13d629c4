"""PX101 pattern-does-not-compile."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.broken_patterns import broken, effect, why_not_re2
from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.subject import RULES, Subject


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
    for row, column, problem in broken(subject):
        if why_not_re2(subject, row, column) is None:
            yield Finding(
                RULES,
                row.key,
                f"{column} does not compile in {subject.engine}: {problem}; {effect(row)}",
                column,
            )
