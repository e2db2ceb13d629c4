"""PX421 empty-text."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.subject import RULES, Subject


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
      - {rule_id: 2, match_digest: '', destination_hostgroup: 20, apply: true}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 1, match_digest: '^SELECT', destination_hostgroup: 20}
      - {rule_id: 2, match_digest: '^SELECT', destination_hostgroup: 20, apply: true}
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
                yield Finding(RULES, (rule.rule_id,), f"'' is a message: {message}", column, hint)
    for row in subject.rule_rows:
        for column in ("match_digest", "match_pattern"):
            if row.text(column) == "":
                negated = row.rule is not None and row.rule.negated
                message = f"'' matches every query{', so that the rule never does' * negated}"
                hint = "leave the column out, or write null"
                yield Finding(RULES, row.key, message, column, hint, severity=Severity.WARNING)
