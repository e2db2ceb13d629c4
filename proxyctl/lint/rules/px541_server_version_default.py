"""PX541 server-version-default."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.catalog.releases import version_numbers
from proxyctl.catalog.variables import VARIABLES
from proxyctl.lint.check import Finding, Severity, check
from proxyctl.lint.subject import Subject

_NAME = "mysql-server_version"
_DEFAULTS = ("5.5.30", "8.0.11")
"""ProxySQL's defaults, before 2.6 and since; an old one may stay in its database."""


@check("PX541", "server-version-default", Severity.WARNING)
def server_version_default(subject: Subject) -> Iterator[Finding]:
    """mysql-server_version has ProxySQL's default, 8.0.11 or once 5.5.30.

    ProxySQL tells each client this version, whatever the backends are. Connectors decide by it
    which SQL they send: after 5.5.30 or 8.0.11 they may ask for `query_cache_size` or
    `tx_isolation`, which a newer server refuses. Nothing is reported where the files set no mysql
    variable, or if `--backend-version` names that version.

    Set it to the lowest version of the backends.

    ```yaml
    # Bad
    variables: {mysql-max_connections: 4096}
    ```

    ```yaml
    # Good
    variables: {mysql-max_connections: 4096, mysql-server_version: "8.0.36"}
    ```
    """
    variables = subject.configuration.variables
    default = VARIABLES[_NAME].default_in(subject.configuration.version)
    message = f"not set: ProxySQL tells clients {default}, whatever the backends are"
    if _NAME in variables:
        announced = str(variables[_NAME])
        behind = [version_numbers(one) for one in subject.backend_versions]
        if announced not in (*_DEFAULTS, default) or version_numbers(announced) in behind:
            return
        origin = "ProxySQL's default" if announced == default else "an older ProxySQL's default"
        message = f"{announced} is {origin}, whatever the backends are"
    if any(name.startswith("mysql-") for name in variables):
        fix = "set it to the lowest version of the backends"
        yield Finding("mysql_variables", (_NAME,), message, "variable_value", fix)
