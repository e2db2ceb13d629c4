"""PX543 server-version-unreadable."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.catalog.server_version import version_numbers
from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.server_version import NAME, finding, shown
from proxyctl.lint.subject import Subject


@check("PX543", "server-version-unreadable", Severity.ERROR)
def unreadable(subject: Subject) -> Iterator[Finding]:
    """mysql-server_version does not begin with a version number.

    Connectors read it before they log in, and some give up: with `MariaDB-10.6` PyMySQL fails in
    the handshake, at the admin port as well, since ProxySQL says it there, too. proxyctl is then
    locked out, and a mysql client has to put it right.

    ```yaml
    # Bad
    variables: {mysql-server_version: "MariaDB-10.6.12"}
    ```

    ```yaml
    # Good
    variables: {mysql-server_version: "10.6.12-MariaDB"}
    ```
    """
    told = subject.configuration.variables.get(NAME)
    if told is not None and version_numbers(told) is None:
        message = (
            f"{shown(told)} does not begin with a version such as 8.0.36: clients fail to log in"
        )
        yield finding(message, "put the number first, as in 10.6.12-MariaDB")
