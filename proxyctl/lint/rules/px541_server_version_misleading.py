"""PX541 server-version-misleading."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from proxyctl.catalog.releases import is_mariadb, version_numbers
from proxyctl.catalog.variables import VARIABLES
from proxyctl.lint.check import check
from proxyctl.lint.finding import Finding, Severity, quoted
from proxyctl.lint.subject import LintSubject

_NAME = "mysql-server_version"
_DEFAULTS = ("5.5.30", "8.0.11")
"""ProxySQL's defaults before 2.6 and since; the old one may still be in its database."""


@check("PX541", "server-version-misleading", Severity.WARNING, any_size=True)
def server_version_misleading(subject: LintSubject) -> Iterator[Finding]:
    """A mysql-server_version that is not the version of the backends.

    Connectors choose their SQL according to it. With ProxySQL's default, 8.0.11 (5.5.30 before
    2.6), they may ask for `query_cache_size` or `tx_isolation`, which a newer server refuses. With
    a version above the lowest backend's, or of a different product, they send SQL that this backend
    does not know. The versions of the backends come from `--backend-version`. If the files set no
    mysql variable, the default is not reported.

    It is an error if the variable does not begin with a number: with `MariaDB-10.6` PyMySQL
    fails in the handshake, also at the admin port. proxyctl is then locked out, and only a mysql
    client can correct the variable.

    Set the variable to the lowest version of the backends, with the number first.

    ```yaml
    # Bad
    variables: {mysql-max_connections: 4096}
    ```

    ```yaml
    # Bad
    # proxyctl lint --backend-version 8.0.30
    variables: {mysql-server_version: "8.4.3"}
    ```

    ```yaml
    # Bad
    variables: {mysql-server_version: "MariaDB-10.6.12"}
    ```

    ```yaml
    # Good
    # proxyctl lint --backend-version 8.0.36
    variables: {mysql-max_connections: 4096, mysql-server_version: "8.0.36"}
    ```
    """
    variables, backends = subject.configuration.variables, subject.backend_versions
    default = VARIABLES[_NAME].default_in(subject.configuration.version) or ""
    announced = variables.get(_NAME, default)
    severity = None
    if version_numbers(announced) is None:
        message = f"{quoted(announced)} does not begin with a number: clients fail to log in"
        fix, severity = "put the number first, as in 10.6.12-MariaDB", Severity.ERROR
    elif misfit := _misfit(announced, backends):
        difference, fix = misfit
        message = f"ProxySQL tells clients {quoted(announced)}, but {difference}"
    elif (
        announced in (*_DEFAULTS, default)
        and any(name.startswith("mysql-") for name in variables)
        and version_numbers(announced) not in map(version_numbers, backends)
    ):
        fix = "set it to the lowest version of the backends"
        origin = "ProxySQL's default" if announced == default else "an older ProxySQL's default"
        message = f"{quoted(announced)} is {origin}, whatever the backends are"
        if _NAME not in variables:
            message = f"not set: ProxySQL tells clients {default}, whatever the backends are"
    else:
        return
    yield Finding("mysql_variables", (_NAME,), message, "variable_value", fix, severity=severity)


def _misfit(announced: str, backends: Sequence[str]) -> tuple[str, str] | None:
    """Return which backend differs from the announced version, and the fix."""
    known = [(parsed, text) for text in backends if (parsed := version_numbers(text)) is not None]
    numbers = version_numbers(announced)
    if not known or numbers is None:
        return None
    lowest, text = min(known)
    for backend in backends:
        if is_mariadb(backend) is not is_mariadb(announced):
            return (
                f"a backend is {backend}",
                "set it to the version of a backend: clients use it to tell MySQL from MariaDB",
            )
    return (f"the lowest backend is {text}", f"set it to {text}") if numbers > lowest else None
