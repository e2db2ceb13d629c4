"""PX203 ends-all-rules-behind."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.shadowing import (
    verdicts,
)
from proxyctl.lint.subject import RULES, Subject
from proxyctl.lint.wording import listed


@check("PX203", "ends-all-rules-behind", Severity.ERROR)
def ends_all_rules_behind(subject: Subject) -> Iterator[Finding]:
    """A rule that matches every query and has apply, with other rules behind it.

    It has no criteria, or a pattern such as `.*`. The rules behind it, of the same flagIN, never
    have a hit.

    Give it the largest rule_id of its flagIN, or a criterion.

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 10, match_pattern: '.*', destination_hostgroup: 1, apply: 1}
      - {rule_id: 20, match_digest: '^SELECT ', destination_hostgroup: 2, apply: 1}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 10, match_digest: '^SELECT ', destination_hostgroup: 2, apply: 1}
      - {rule_id: 20, destination_hostgroup: 1, apply: 1}
    ```
    """
    for rule, behind in subject.once(verdicts).ends:
        dead = [other.rule_id for other in behind]
        message = f"matches every query and has apply: {listed(dead)} behind it never reached"
        hint = f"give it a rule_id above {dead[-1]}, or a criterion"
        yield Finding(RULES, (rule.rule_id,), message, hint=hint)
