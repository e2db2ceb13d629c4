"""PX213 rule-without-criteria."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.shadowing import (
    verdicts,
)
from proxyctl.lint.subject import RULES, RuleRow, Subject


@check("PX213", "rule-without-criteria", Severity.NOTE)
def rule_without_criteria(subject: Subject) -> Iterator[Finding]:
    r"""A rule that matches every query of every session.

    As the last rule it may be meant, and as one without apply, for logging or a default. It is a
    mistake where a criterion was forgotten.

    Add a criterion, or ignore the note for this rule.

    ```yaml
    # Bad: every query has this answer.
    mysql_query_rules:
      - {rule_id: 10, error_msg: 'no such table'}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 10, match_digest: 'FROM old_orders\b', error_msg: 'no such table'}
    ```
    """
    found = subject.once(verdicts)
    said = {one.rule_id for rule, behind in found.ends for one in (rule, *behind)}
    said |= set(found.duplicates)
    # Of an empty pattern another check speaks.
    said |= {row.rule.rule_id for row in subject.rule_rows if row.rule and _has_empty(row)}
    for rule in found.matching_all:
        if rule.flag_in == 0 and rule.rule_id not in said:
            yield Finding(RULES, (rule.rule_id,), "matches every query of every session")


def _has_empty(row: RuleRow) -> bool:
    return "" in (row.text("match_digest"), row.text("match_pattern"))
