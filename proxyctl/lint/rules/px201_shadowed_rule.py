"""PX201 shadowed-rule."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.shadowing import (
    verdicts,
)
from proxyctl.lint.subject import RULES, Subject


@check("PX201", "shadowed-rule", Severity.ERROR)
def shadowed_rule(subject: Subject) -> Iterator[Finding]:
    """A rule that no query reaches, since an earlier one with apply takes them all.

    Rules are tried by rule_id, and `apply: 1` ends that. Where an earlier rule matches every query
    that this one matches, this one never has a hit. That shows in the criteria: the earlier rule
    asks for nothing else, and its pattern is the same, or a plain text that this one begins with.

    Give the narrower rule the smaller rule_id.

    ```yaml
    # Bad: locking reads go to 2 as well.
    mysql_query_rules:
      - {rule_id: 10, match_digest: '^SELECT ', destination_hostgroup: 2, apply: 1}
      - {rule_id: 20, match_digest: '^SELECT .*FOR UPDATE', destination_hostgroup: 1, apply: 1}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 10, match_digest: '^SELECT .*FOR UPDATE', destination_hostgroup: 1, apply: 1}
      - {rule_id: 20, match_digest: '^SELECT ', destination_hostgroup: 2, apply: 1}
    ```
    """
    found = subject.once(verdicts)
    for rule, by in found.shadowed:
        message = f"never reached: rule {by.rule_id} matches all its queries first, and has apply"
        hint = f"give it a rule_id below {by.rule_id}, or remove it"
        yield Finding(RULES, (rule.rule_id,), message, hint=hint)
