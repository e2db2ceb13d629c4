"""PX213 rule-without-criteria."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.check import RULES, Finding, Severity, check
from proxyctl.lint.cover import verdicts
from proxyctl.lint.subject import Subject


@check("PX213", "rule-without-criteria", Severity.NOTE)
def rule_without_criteria(subject: Subject) -> Iterator[Finding]:
    r"""A rule that matches every query of every session.

    It may be intended without apply, as a default or for logging. It is a mistake where a criterion
    was forgotten. The last rule is not reported if it has a destination_hostgroup: that is for the
    rest.

    Add a criterion, or ignore the note for this rule.

    ```yaml
    # Bad: every query gets this answer.
    mysql_query_rules:
      - {rule_id: 10, error_msg: 'no such table'}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 10, match_digest: 'FROM old_orders\b', error_msg: 'no such table'}
    ```
    """
    found = verdicts(subject)
    # A rule that ends others, or is one of them, is reported as such; PX421 reports empty patterns.
    reported = {one.rule_id for pair in found.shadowed for one in pair} | found.duplicates.keys()
    reported |= {
        row.rule.rule_id
        for row in subject.rule_rows
        if row.rule and "" in (row.text("match_digest"), row.text("match_pattern"))
    }
    at_start = [rule for rule in subject.rules if rule.flag_in == 0]
    reported |= {rule.rule_id for rule in at_start[-1:] if rule.destination is not None}
    for rule in found.matching_all:
        if rule.flag_in == 0 and rule.rule_id not in reported:
            yield Finding(RULES, (rule.rule_id,), "matches every query of every session")
