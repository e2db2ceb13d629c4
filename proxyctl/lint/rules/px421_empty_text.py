"""PX421 empty-text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from proxyctl.lint.check import check
from proxyctl.lint.finding import Finding, Severity, grouped
from proxyctl.lint.subject import LintSubject

_ANSWERS = {
    "OK_msg": "'' is a reply: ProxySQL replies OK, and no backend sees the query",
    "error_msg": "'' is a reply: ProxySQL replies with an error, and no backend sees the query",
}

_FIX_ANSWER = "write a text if you want ProxySQL to reply, otherwise null"


@check("PX421", "empty-text", Severity.ERROR, pgsql=True)
def empty_text(subject: LintSubject) -> Iterable[Finding]:
    """A message or a criterion of a rule that is '' rather than NULL.

    An empty OK_msg or error_msg is a reply: ProxySQL answers every query of the rule itself, with
    OK or with error 1148, and an INSERT then only seems to work. Forms with an empty field write
    such rules. An empty OK_msg is a warning, since some rules answer SET statements this way on
    purpose. An empty match_digest or match_pattern (a warning) matches every query, and with
    negate_match_pattern none. An empty username, schemaname, client_addr, proxy_addr or digest is
    not a criterion; this is a warning if the rule has no other criterion, otherwise a note.

    Leave the column out, or write null. If you want ProxySQL to reply, write a text.

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
    return grouped(_empty(subject))


def _empty(subject: LintSubject) -> Iterator[Finding]:
    fix = "leave the column out, or write null"
    schema_column = subject.dialect.schema_column
    for row in subject.rule_rows:
        sets = dict(row.rule.sets) if row.rule else {}
        for column, message in _ANSWERS.items():
            if sets.get(column) == "":
                severity = Severity.WARNING if column == "OK_msg" else None
                yield subject.rule_finding(row.key, message, column, _FIX_ANSWER, severity=severity)
        for column, text in row.patterns:
            if text == "":
                is_negated = row.rule is not None and row.rule.negated
                message = "'' matches every query"
                message += ", so the negated rule matches none" if is_negated else ""
                yield subject.rule_finding(row.key, message, column, fix, severity=Severity.WARNING)
        for column in ("username", schema_column, "client_addr", "proxy_addr", "digest"):
            if row.text(column) == "" and row.rule is not None:
                has_other = row.rule.is_for_some_queries
                message = "'' is not a criterion"
                message += "" if has_other else ": the rule matches all queries"
                severity = Severity.NOTE if has_other else Severity.WARNING
                yield subject.rule_finding(row.key, message, column, fix, severity=severity)
