"""PX124 no-such-session."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from proxyctl.lint.check import check
from proxyctl.lint.finding import SEVERITIES, Finding, Severity, grouped, quoted
from proxyctl.lint.subject import LintSubject


@check("PX124", "no-such-session", Severity.ERROR, pgsql=True)
def no_such_session(subject: LintSubject) -> Iterable[Finding]:
    """A schemaname, proxy_addr, proxy_port or user name that no session has.

    ProxySQL compares these exactly: `%` is not a wildcard there, and case, leading and trailing
    spaces, and quotes around the name matter. proxy_addr and proxy_port are the text of the entry
    of `mysql-interfaces` that accepted the session, not the address that the client connected to:
    with `0.0.0.0:6033` a rule for `127.0.0.1` never matches. Sessions of a Unix socket have port 0.
    A session without a schema is in `mysql-default_schema`, so a row of fast routing for the schema
    `''` is never used. It is a warning for a name in mysql_users: a client may log in with it.

    Leave the column out to match any name, or write a row for each name.

    ```yaml
    # Bad
    variables: {mysql-interfaces: '0.0.0.0:6033'}
    mysql_query_rules:
      - {rule_id: 10, schemaname: 'shop%', destination_hostgroup: 2, apply: 1}
      - {rule_id: 20, proxy_addr: 127.0.0.1, destination_hostgroup: 2, apply: 1}
      - {rule_id: 30, proxy_port: 6034, destination_hostgroup: 2, apply: 1}
    ```

    ```yaml
    # Good
    variables: {mysql-interfaces: '0.0.0.0:6033;0.0.0.0:6034'}
    mysql_query_rules:
      - {rule_id: 10, schemaname: shop1, destination_hostgroup: 2, apply: 1}
      - {rule_id: 20, proxy_addr: 0.0.0.0, destination_hostgroup: 2, apply: 1}
      - {rule_id: 30, proxy_port: 6034, destination_hostgroup: 2, apply: 1}
    ```
    """
    return grouped((*_of_rules(subject), *_of_fast_routing(subject), *_of_users(subject)))


def _of_rules(subject: LintSubject) -> Iterator[Finding]:
    for row, column, flaw in subject.flaws(
        subject.dialect.schema_column, "proxy_addr", "proxy_port"
    ):
        message = f"{column} {row.shown(column)}: {flaw.problem}"
        severity = SEVERITIES[flaw.effect]
        yield subject.rule_finding(row.key, message, column, flaw.fix, severity=severity)


def _of_fast_routing(subject: LintSubject) -> Iterator[Finding]:
    table, column = subject.dialect.fast_routing, subject.dialect.schema_column
    for key, cells in subject.cells(table):
        name = str(cells[column])
        flaw = subject.criteria.schemaname_of_row(name)
        if flaw is not None:
            shown = quoted(name) if name else "''"
            message = f"{column} {shown}: {flaw.problem}"
            yield Finding(table, key, message, column, flaw.fix)


def _of_users(subject: LintSubject) -> Iterator[Finding]:
    for name, key in subject.login_keys.items():
        flaw = subject.criteria.name(name, "a username")
        if flaw is not None:
            message = f"username {quoted(name)}: {flaw.problem}"
            fix, warning = "write the name with which clients log in", Severity.WARNING
            yield Finding(subject.dialect.users, key, message, "username", fix, severity=warning)
