"""PX202 overwritten-destination."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.shadowing import (
    verdicts,
)
from proxyctl.lint.subject import RULES, Subject


@check("PX202", "overwritten-destination", Severity.ERROR)
def overwritten_destination(subject: Subject) -> Iterator[Finding]:
    """A destination_hostgroup that a later rule always overwrites.

    Without `apply: 1` the rules go on, and of several that match the last one wins. Where a later
    rule matches every query that this one matches, the destination of this one never counts.

    Add `apply: 1`, or leave the destination out.

    ```yaml
    # Bad: locking reads go to 2.
    mysql_query_rules:
      - {rule_id: 10, match_digest: '^SELECT .*FOR UPDATE', destination_hostgroup: 1}
      - {rule_id: 20, match_digest: '^SELECT ', destination_hostgroup: 2, apply: 1}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 10, match_digest: '^SELECT .*FOR UPDATE', destination_hostgroup: 1, apply: 1}
      - {rule_id: 20, match_digest: '^SELECT ', destination_hostgroup: 2, apply: 1}
    ```
    """
    for rule, by in subject.once(verdicts).overwritten:
        message = (
            f"destination_hostgroup {rule.destination} never counts: rule {by.rule_id} matches all"
            f" its queries too and sets {by.destination}"
        )
        key = (rule.rule_id,)
        yield Finding(RULES, key, message, "destination_hostgroup", hint="add apply: 1")
