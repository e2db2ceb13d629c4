"""PX601 broken-policy."""

from __future__ import annotations

from collections.abc import Iterable

from proxyctl.lint.check import check
from proxyctl.lint.finding import Finding, Severity
from proxyctl.lint.policy import BROKEN_POLICY, broken_by_rows
from proxyctl.lint.subject import LintSubject


@check(BROKEN_POLICY, "broken-policy", Severity.ERROR, any_size=True)
def broken_policy(subject: LintSubject) -> Iterable[Finding]:
    """A row, or a change in a plan, that breaks a policy of the files.

    The section `policies` has expressions that must hold for the rows of a table, or for the
    changes of a plan. It is a warning if the policy says `action: warn`. An expression that cannot
    be evaluated for a row is an error whatever the action, reported at the place of the expression.

    Correct the row, or the policy. Ignore the finding for a row that may be an exception.

    ```yaml
    # Bad
    mysql_users:
      - {username: app, password: "*9B500343BC52E2911172EB52AE5CF4847604C6E5",
         max_connections: 900}
    policies:
      - name: limit per user
        for: mysql_users
        that: row.max_connections <= 500
        message: a user may have 500 connections
    ```

    ```yaml
    # Good
    mysql_users:
      - {username: app, password: "*9B500343BC52E2911172EB52AE5CF4847604C6E5",
         max_connections: 500}
    policies:
      - name: limit per user
        for: mysql_users
        that: row.max_connections <= 500
        message: a user may have 500 connections
    ```
    """
    return broken_by_rows(subject.policies, subject.configuration)
