"""PX541 server-version-default."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.catalog.server_version import version_numbers
from proxyctl.catalog.variables import VARIABLES
from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.server_version import NAME, finding
from proxyctl.lint.subject import Subject

_DEFAULTS = ("5.5.30", "8.0.11")
"""What ProxySQL comes with, before 2.6 and since; an old one may stay in its database."""


@check("PX541", "server-version-default", Severity.WARNING)
def left_at_default(subject: Subject) -> Iterator[Finding]:
    """mysql-server_version is what ProxySQL comes with, 8.0.11 or once 5.5.30, set or not.

    ProxySQL tells it to each client, whatever the backends are. Connectors decide by it which SQL
    they send: after 5.5.30 or 8.0.11 they may ask for `query_cache_size` or `tx_isolation`, which a
    newer server refuses. Set it to the version of the backends, the lowest of them. It is not said
    where the files leave all mysql variables alone, nor if `--backend-version` names that version.

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
    default = VARIABLES[NAME].default_in(subject.configuration.version)
    hint = "set it to the lowest version of the backends"
    if NAME in variables:
        told = str(variables[NAME])
        behind = [version_numbers(one) for one in subject.backend_versions]
        if told in (*_DEFAULTS, default) and version_numbers(told) not in behind:
            whose = "ProxySQL's default" if told == default else "an older ProxySQL's default"
            yield finding(f"{told} is {whose}, whatever the backends are", hint)
        return
    if any(name.startswith("mysql-") for name in variables):
        yield finding(f"not set: clients are told {default}, whatever the backends are", hint)
