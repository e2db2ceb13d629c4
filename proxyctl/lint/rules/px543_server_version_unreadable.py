"""PX543 server-version-unreadable."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.catalog.releases import version_numbers
from proxyctl.lint.check import Finding, Severity, check, quoted
from proxyctl.lint.subject import Subject

_NAME = "mysql-server_version"


@check("PX543", "server-version-unreadable", Severity.ERROR)
def server_version_unreadable(subject: Subject) -> Iterator[Finding]:
    """mysql-server_version does not begin with a version number.

    Connectors read it before they log in, and some fail: with `MariaDB-10.6` PyMySQL fails in the
    handshake, at the admin port as well. proxyctl is then locked out, and only a mysql client can
    correct the variable.

    Put the number first.

    ```yaml
    # Bad
    variables: {mysql-server_version: "MariaDB-10.6.12"}
    ```

    ```yaml
    # Good
    variables: {mysql-server_version: "10.6.12-MariaDB"}
    ```
    """
    announced = subject.configuration.variables.get(_NAME)
    if announced is not None and version_numbers(announced) is None:
        message = f"{quoted(announced)} does not begin with a number: clients fail to log in"
        fix = "put the number first, as in 10.6.12-MariaDB"
        yield Finding("mysql_variables", (_NAME,), message, "variable_value", fix)
