"""PX201 shadowed-rule."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from proxyctl.lint.check import check
from proxyctl.lint.finding import Finding, Severity, grouped
from proxyctl.lint.shadowing import verdicts
from proxyctl.lint.subject import LintSubject


@check("PX201", "shadowed-rule", Severity.ERROR, pgsql=True)
def shadowed_rule(subject: LintSubject) -> Iterable[Finding]:
    """A rule that no query reaches, because an earlier rule with apply matches all its queries.

    ProxySQL tries rules by rule_id until one with `apply: 1` matches. A rule never has a hit if
    an earlier rule matches all its queries: the earlier rule has the same criteria, fewer, or a
    pattern that is the beginning of this one. It is a warning if two rules differ only in
    rule_id and comment: scripts that insert rules on each run leave such rows behind.

    Give the narrower rule the smaller rule_id, or remove it.

    ```yaml
    # Bad: locking reads go to 2 as well.
    mysql_query_rules:
      - {rule_id: 10, match_digest: '^SELECT ', destination_hostgroup: 2, apply: 1}
      - {rule_id: 20, match_digest: '^SELECT .*FOR UPDATE', destination_hostgroup: 1,
         apply: 1}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 10, match_digest: '^SELECT .*FOR UPDATE', destination_hostgroup: 1,
         apply: 1}
      - {rule_id: 20, match_digest: '^SELECT ', destination_hostgroup: 2, apply: 1}
    ```
    """
    return grouped(_shadowed(subject))


def _shadowed(subject: LintSubject) -> Iterator[Finding]:
    for rule, by in verdicts(subject).shadowed:
        message = (
            f"never reached: {subject.rule_name(by.rule_id)} matches all its queries first and has"
            " apply"
        )
        fix = f"give it a rule_id below {by.rule_id}, or remove it"
        yield subject.rule_finding((rule.rule_id,), message, fix=fix)
    for rule_id, first in verdicts(subject).duplicates.items():
        message, fix = f"the same as {subject.rule_name(first)}", "remove one of them"
        yield subject.rule_finding((rule_id,), message, fix=fix, severity=Severity.WARNING)
