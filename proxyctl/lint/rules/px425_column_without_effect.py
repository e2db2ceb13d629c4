"""PX425 column-without-effect."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from proxyctl.lint.check import check
from proxyctl.lint.finding import Finding, Severity, grouped
from proxyctl.lint.subject import LintSubject
from proxyctl.proxysql.cells import number
from proxyctl.routing.dialect import PGSQL

_IDLE = ("reconnect", "sticky_conn", "cache_timeout")
_IDLE_ON_PGSQL = ("mirror_hostgroup", "mirror_flagOUT")


@check("PX425", "column-without-effect", Severity.WARNING, pgsql=True)
def column_without_effect(subject: LintSubject) -> Iterable[Finding]:
    """A column of a rule that has no effect, or a different effect than it seems to have.

    negate_match_pattern inverts match_digest and match_pattern only, not digest, username or
    schemaname. With both patterns (a note) it inverts each: the rule matches if neither of them
    does. Of OK_msg and error_msg, ProxySQL sends OK_msg. It never uses reconnect, sticky_conn and
    cache_timeout (a note), and does not mirror PostgreSQL queries. A user with schema_locked may
    still use every schema.

    Remove the column. `multiplex: 0` keeps a session on its connection; cache_ttl sets how long a
    result is kept.

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 1, username: app, negate_match_pattern: true, destination_hostgroup: 20}
      - {rule_id: 2, match_digest: '^SELECT', match_pattern: 'id=7',
         negate_match_pattern: true}
      - {rule_id: 3, match_digest: '^DROP', OK_msg: ignored, error_msg: not here,
         apply: true}
      - {rule_id: 4, match_digest: '^SELECT @', sticky_conn: true}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 1, match_digest: '^SELECT', negate_match_pattern: true,
         destination_hostgroup: 10}
      - {rule_id: 2, match_digest: '^(SELECT|SHOW)', negate_match_pattern: true}
      - {rule_id: 3, match_digest: '^DROP', error_msg: not here, apply: true}
      - {rule_id: 4, match_digest: '^SELECT @', multiplex: 0}
    ```
    """
    return grouped((*_idle(subject), *_idle_of_users(subject)))


def _idle(subject: LintSubject) -> Iterator[Finding]:
    note = Severity.NOTE
    for rule in subject.rules:
        key, sets = (rule.rule_id,), dict(rule.sets)
        patterns = 2 - [rule.match_digest, rule.match_pattern].count(None)
        if rule.negated and patterns == 0:
            message = "has no effect without match_digest or match_pattern"
            yield subject.rule_finding(key, message, "negate_match_pattern", "remove it")
        if rule.negated and patterns == 2:
            message = "the rule matches only if neither match_digest nor match_pattern does"
            yield subject.rule_finding(key, message, "negate_match_pattern", severity=note)
        if {"OK_msg", "error_msg"} <= sets.keys():
            message = "ProxySQL sends OK_msg, never the error"
            yield subject.rule_finding(key, message, "error_msg", "keep one of the two")
        for column in _IDLE_ON_PGSQL if subject.dialect is PGSQL else ():
            if column in sets:
                message = "ProxySQL does not mirror PostgreSQL queries"
                yield subject.rule_finding(key, message, column, "remove it")
        for column in _IDLE:
            if column in sets:
                message = f"ProxySQL never uses {column}"
                yield subject.rule_finding(key, message, column, "remove it", severity=note)


def _idle_of_users(subject: LintSubject) -> Iterator[Finding]:
    for key, cells in subject.cells(subject.dialect.users):
        if number(cells.get("schema_locked")) == 1 and number(cells["active"]) == 1:
            message = "schema_locked has no effect: the user may use every schema"
            fix = "revoke the privileges on the servers"
            yield Finding(subject.dialect.users, key, message, "schema_locked", fix)
