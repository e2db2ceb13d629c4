"""PX120 digests-off."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.subject import RULES, Subject


@check("PX120", "digests-off", Severity.ERROR)
def digests_off(subject: Subject) -> Iterator[Finding]:
    """A rule with match_digest or digest while `mysql-query_digests` is false.

    Without digests ProxySQL skips match_digest: the rule then matches every query that its other
    criteria let through. What `digest` is compared with is left over from an earlier query.

    Turn the variable on, or use match_pattern.

    ```yaml
    # Bad: every query goes to 2.
    variables: {mysql-query_digests: false}
    mysql_query_rules:
      - {rule_id: 10, match_digest: '^SELECT ', destination_hostgroup: 2, apply: 1}
    ```

    ```yaml
    # Good
    variables: {mysql-query_digests: true}
    mysql_query_rules:
      - {rule_id: 10, match_digest: '^SELECT ', destination_hostgroup: 2, apply: 1}
    ```
    """
    if subject.variables.query_digests:
        return
    for row in subject.rule_rows:
        if row.rule is None:
            continue
        if row.rule.match_digest is not None:
            message = "match_digest is skipped, since mysql-query_digests is false: it matches all"
            yield Finding(RULES, row.key, message, "match_digest", _ON)
        elif row.rule.digest is not None:
            message = "no query has a digest, since mysql-query_digests is false"
            yield Finding(RULES, row.key, message, "digest", _ON)


_ON = "mysql-query_digests: true, or match_pattern"
