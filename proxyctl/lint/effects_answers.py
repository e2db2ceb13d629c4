"""Columns that hold something else than they seem to, or do nothing."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.subject import Subject
from proxyctl.lint.traffic_readers import called

_RULES = "mysql_query_rules"
_IDLE = ("reconnect", "sticky_conn", "cache_timeout")


@check("PX421", "empty-text", Severity.ERROR)
def empty_answers(subject: Subject) -> Iterator[Finding]:
    """A message or a pattern of a rule is '' and not NULL.

    '' is a message, an empty one: ProxySQL answers every query of the rule by itself, with OK or
    with error 1148, and sends nothing to a backend. An INSERT then seems to work. It happens when
    rules come from a table or a form in which a field was left empty.

    An empty match_digest or match_pattern (a warning) matches every query, as no pattern does; in a
    negated rule it makes that the rule never matches.

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 1, match_digest: '^SELECT', destination_hostgroup: 20, OK_msg: ''}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 1, match_digest: '^SELECT', destination_hostgroup: 20}
    ```

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 1, match_digest: '', destination_hostgroup: 20, apply: true}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 1, match_digest: '^SELECT', destination_hostgroup: 20, apply: true}
    ```
    """
    answers = {
        "OK_msg": "ProxySQL answers OK to each query of this rule, and no backend sees it",
        "error_msg": "ProxySQL answers an error without text, and no backend sees the query",
    }
    for rule in subject.rules:
        for column, message in answers.items():
            if dict(rule.sets).get(column) == "":
                hint = "leave the column out, or write null"
                yield Finding(_RULES, (rule.rule_id,), f"'' is a message: {message}", column, hint)
    for row in subject.rule_rows:
        for column in ("match_digest", "match_pattern"):
            if row.text(column) == "":
                negated = row.rule is not None and row.rule.negated
                message = f"'' matches every query{', so that the rule never does' * negated}"
                hint = "leave the column out, or write null"
                yield Finding(_RULES, row.key, message, column, hint, severity=Severity.WARNING)


@check("PX424", "mirror-runs-twice", Severity.ERROR)
def mirrored_twice(subject: Subject) -> Iterator[Finding]:
    """A mirror that runs the query a second time where it runs anyway.

    A mirrored query is a copy that goes its own way. With mirror_flagOUT and neither a
    mirror_hostgroup nor a rule at that flagIN, the copy goes to the user's default_hostgroup, and
    with the same hostgroup in mirror_hostgroup and destination_hostgroup to the same servers.
    Either way each write is done twice.

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 1, match_digest: '^UPDATE', mirror_flagOUT: 100, apply: true}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 1, match_digest: '^UPDATE', mirror_hostgroup: 30, apply: true}
    ```
    """
    flags = {rule.flag_in for rule in subject.rules}
    for rule in subject.rules:
        sets = dict(rule.sets)
        mirror, flag = sets.get("mirror_hostgroup"), sets.get("mirror_flagOUT")
        if mirror is None and flag is not None and flag not in flags:
            message = (
                f"no rule has flagIN {flag}, and without mirror_hostgroup the copy runs in the"
                " user's default hostgroup"
            )
            hint = "give it a mirror_hostgroup"
            yield Finding(_RULES, (rule.rule_id,), message, "mirror_flagOUT", hint)
        elif mirror is not None and flag is None and mirror == rule.destination:
            message = f"{called(subject, mirror)} gets each query twice: it is the destination, too"
            yield Finding(_RULES, (rule.rule_id,), message, "mirror_hostgroup")


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
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 1, match_digest: '^SELECT', negate_match_pattern: true, destination_hostgroup: 10}
    ```

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 1, match_digest: '^SELECT', match_pattern: 'id=7', negate_match_pattern: true}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 1, match_digest: '^(SELECT|SHOW)', negate_match_pattern: true}
    ```

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 1, match_digest: '^DROP', OK_msg: ignored, error_msg: not here, apply: true}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 1, match_digest: '^DROP', error_msg: not here, apply: true}
    ```

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 1, match_digest: '^SELECT @', sticky_conn: true}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 1, match_digest: '^SELECT @', multiplex: 0}
    ```
    """
    for rule in subject.rules:
        if rule.negated and rule.match_digest is None and rule.match_pattern is None:
            message = "there is no match_digest or match_pattern to turn around; it does nothing"
            yield Finding(_RULES, (rule.rule_id,), message, "negate_match_pattern")
    for rule in subject.rules:
        if rule.negated and rule.match_digest is not None and rule.match_pattern is not None:
            key, column = (rule.rule_id,), "negate_match_pattern"
            message = "matches only where neither match_digest nor match_pattern does"
            yield Finding(_RULES, key, message, column, severity=Severity.NOTE)
    for rule in subject.rules:
        if {"OK_msg", "error_msg"} <= dict(rule.sets).keys():
            message = "OK_msg wins: the error is never sent"
            yield Finding(_RULES, (rule.rule_id,), message, "error_msg", "keep one of the two")
    for rule in subject.rules:
        for column in _IDLE:
            if column in dict(rule.sets):
                key = (rule.rule_id,)
                message = "ProxySQL takes this column and never looks at it"
                yield Finding(_RULES, key, message, column, severity=Severity.NOTE)
