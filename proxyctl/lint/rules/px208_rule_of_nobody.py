"""PX208 rule-of-nobody."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from proxyctl.lint.check import check
from proxyctl.lint.finding import SEVERITIES, Finding, Severity, grouped, quoted
from proxyctl.lint.subject import LintSubject
from proxyctl.rows.row import Key


@check("PX208", "rule-of-nobody", Severity.ERROR, pgsql=True)
def rule_of_nobody(subject: LintSubject) -> Iterable[Finding]:
    """A rule, or a row of fast routing, for a user whose queries never reach it.

    With `fast_forward: 1` a user's queries go straight to the default hostgroup, and rules that
    name the user never have a hit. It is a warning if no active row of mysql_users has the
    username: nobody can log in with that name. Names are compared exactly, with their case and
    without wildcards. If mysql_users has no rows, only a `%` and leading or trailing spaces are
    reported.

    Correct the name, switch fast_forward off, or remove the rule.

    ```yaml
    # Bad
    mysql_users:
      - {username: backup, password: '', default_hostgroup: 1, fast_forward: 1}
      - {username: app, password: '', default_hostgroup: 1}
    mysql_query_rules:
      - {rule_id: 10, username: backup, match_digest: '^SELECT ', destination_hostgroup: 2}
      - {rule_id: 20, username: App, match_digest: '^SELECT ', destination_hostgroup: 2}
    mysql_query_rules_fast_routing:
      - {username: shop, schemaname: shop, flagIN: 0, destination_hostgroup: 2}
    ```

    ```yaml
    # Good
    mysql_users:
      - {username: app, password: '', default_hostgroup: 1}
    mysql_query_rules:
      - {rule_id: 20, username: app, match_digest: '^SELECT ', destination_hostgroup: 2}
    mysql_query_rules_fast_routing:
      - {username: '', schemaname: shop, flagIN: 0, destination_hostgroup: 2}
    ```
    """
    return grouped(_of_nobody(subject))


def _of_nobody(subject: LintSubject) -> Iterator[Finding]:
    for table, key, name in _rows_with_user(subject):
        flaw = subject.criteria.username(name)
        if flaw is not None:
            message = f"username {quoted(name)}: {flaw.problem}"
            severity = SEVERITIES[flaw.effect]
            yield Finding(table, key, message, "username", flaw.fix, severity=severity)


def _rows_with_user(subject: LintSubject) -> Iterator[tuple[str, Key, str]]:
    """Yield the rules and the rows of fast routing that name a user."""
    dialect = subject.dialect
    for rule in subject.rules:
        if rule.username is not None:
            yield dialect.rules, (rule.rule_id,), rule.username
    for key, cells in subject.cells(dialect.fast_routing):
        if cells["username"]:
            yield dialect.fast_routing, key, str(cells["username"])
