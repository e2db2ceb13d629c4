"""PX202 overwritten-destination."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.check import check
from proxyctl.lint.finding import Finding, Severity
from proxyctl.lint.shadowing import verdicts
from proxyctl.lint.subject import LintSubject


@check("PX202", "overwritten-destination", Severity.ERROR, pgsql=True)
def overwritten_destination(subject: LintSubject) -> Iterator[Finding]:
    """A destination_hostgroup that a later rule always overwrites.

    Without `apply: 1` ProxySQL tries the next rules, and the last one that matches wins. The
    destination of a rule has no effect if a later rule matches all its queries.

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
      - {rule_id: 10, match_digest: '^SELECT .*FOR UPDATE', destination_hostgroup: 1,
         apply: 1}
      - {rule_id: 20, match_digest: '^SELECT ', destination_hostgroup: 2, apply: 1}
    ```
    """
    for rule, by in verdicts(subject).overwritten:
        message = (
            f"destination_hostgroup {rule.destination} has no effect:"
            f" {subject.rule_name(by.rule_id)}"
            f" also matches all its queries and sets {by.destination}"
        )
        yield subject.rule_finding(
            (rule.rule_id,), message, "destination_hostgroup", "add apply: 1"
        )
