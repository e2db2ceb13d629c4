"""PX425 column-without-effect."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.subject import RULES, Subject

_IDLE = ("reconnect", "sticky_conn", "cache_timeout")


@check("PX425", "column-without-effect", Severity.WARNING)
def negates_nothing(subject: Subject) -> Iterator[Finding]:
    """A column that does nothing, or something else than it seems to.

    negate_match_pattern turns match_digest and match_pattern around and nothing else: not digest,
    not username, not schemaname. Without these two it does nothing.

    With both of them (a note) it turns around each for itself: the rule matches where neither of
    them does, and not where they do not match together.

    A rule with both OK_msg and error_msg answers OK. The error is never sent.

    reconnect, sticky_conn and cache_timeout (a note) are left from earlier plans, and ProxySQL 2.7
    never looks at them. What keeps a session on its connection is `multiplex: 0`; how long an
    answer is kept is cache_ttl.

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 1, username: app, negate_match_pattern: true, destination_hostgroup: 20}
      - {rule_id: 2, match_digest: '^SELECT', match_pattern: 'id=7', negate_match_pattern: true}
      - {rule_id: 3, match_digest: '^DROP', OK_msg: ignored, error_msg: not here, apply: true}
      - {rule_id: 4, match_digest: '^SELECT @', sticky_conn: true}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 1, match_digest: '^SELECT', negate_match_pattern: true, destination_hostgroup: 10}
      - {rule_id: 2, match_digest: '^(SELECT|SHOW)', negate_match_pattern: true}
      - {rule_id: 3, match_digest: '^DROP', error_msg: not here, apply: true}
      - {rule_id: 4, match_digest: '^SELECT @', multiplex: 0}
    ```
    """
    for rule in subject.rules:
        if rule.negated and rule.match_digest is None and rule.match_pattern is None:
            message = "there is no match_digest or match_pattern to turn around; it does nothing"
            yield Finding(RULES, (rule.rule_id,), message, "negate_match_pattern")
    for rule in subject.rules:
        if rule.negated and rule.match_digest is not None and rule.match_pattern is not None:
            key, column = (rule.rule_id,), "negate_match_pattern"
            message = "matches only where neither match_digest nor match_pattern does"
            yield Finding(RULES, key, message, column, severity=Severity.NOTE)
    for rule in subject.rules:
        if {"OK_msg", "error_msg"} <= dict(rule.sets).keys():
            message = "OK_msg wins: the error is never sent"
            yield Finding(RULES, (rule.rule_id,), message, "error_msg", "keep one of the two")
    for rule in subject.rules:
        for column in _IDLE:
            if column in dict(rule.sets):
                key = (rule.rule_id,)
                message = "ProxySQL takes this column and never looks at it"
                yield Finding(RULES, key, message, column, severity=Severity.NOTE)
