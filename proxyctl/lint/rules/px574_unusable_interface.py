"""PX574 unusable-interface."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.catalog.variable_rules import INTERFACES, interfaces_complaint
from proxyctl.lint.check import check
from proxyctl.lint.finding import Finding, Severity
from proxyctl.lint.subject import LintSubject
from proxyctl.rows.row import Secret


@check("PX574", "unusable-interface", Severity.ERROR, any_size=True)
def unusable_interface(subject: LintSubject) -> Iterator[Finding]:
    """An interface on which ProxySQL does not listen.

    Interfaces are separated by `;`. After a comma the rest of the text is lost, without an error. A
    text without a port is the path of a Unix socket: `0.0.0.0` creates a socket of that name. A
    space after the `;` is part of the address, and an IPv6 address needs brackets.

    Write ADDRESS:PORT, [IPV6]:PORT or the path of a socket, with `;` between.

    ```yaml
    # Bad
    variables:
      mysql-interfaces: 0.0.0.0:6033,/run/proxysql/proxysql.sock
    ```

    ```yaml
    # Good
    variables:
      mysql-interfaces: 0.0.0.0:6033;/run/proxysql/proxysql.sock
    ```
    """
    for name in INTERFACES:
        value = subject.configuration.variables.get(name, "")
        problem = interfaces_complaint(value)
        if problem is not None and not isinstance(value, Secret):  # the words have parts of it
            table = f"{name.partition('-')[0]}_variables"
            yield Finding(table, (name,), problem.message, "variable_value", problem.fix)
