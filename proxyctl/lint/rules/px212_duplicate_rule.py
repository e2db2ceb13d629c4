"""PX212 duplicate-rule."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.shadowing import (
    verdicts,
)
from proxyctl.lint.subject import RULES, Subject


@check("PX212", "duplicate-rule", Severity.WARNING)
def duplicate_rule(subject: Subject) -> Iterator[Finding]:
    """A rule that is the same as an earlier one, but for rule_id and comment.

    With apply the second one is never reached; without, it does again what was done. Tools that
    insert rules at each run leave such rows behind.

    Remove one of them.

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 10, match_digest: '^SELECT ', destination_hostgroup: 2, apply: 1}
      - {rule_id: 11, match_digest: '^SELECT ', destination_hostgroup: 2, apply: 1}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 10, match_digest: '^SELECT ', destination_hostgroup: 2, apply: 1}
    ```
    """
    for rule_id, first in subject.once(verdicts).duplicates.items():
        message = f"the same as rule {first}"
        yield Finding(RULES, (rule_id,), message, hint="remove one of them")
