"""PX542 server-version-above-backends."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.catalog.releases import is_mariadb, version_numbers
from proxyctl.lint.check import Finding, Severity, check, quoted
from proxyctl.lint.subject import Subject

_NAME = "mysql-server_version"


@check("PX542", "server-version-above-backends", Severity.WARNING)
def server_version_above_backends(subject: Subject) -> Iterator[Finding]:
    """mysql-server_version is above the lowest backend's version, or that of another product.

    A client that relies on it sends SQL which that backend does not know yet. The versions of the
    backends come from `--backend-version`.

    Set it to the lowest version of the backends.

    ```yaml
    # Bad
    # proxyctl lint --backend-version 8.0.30
    variables: {mysql-server_version: "8.4.3"}
    ```

    ```yaml
    # Good
    # proxyctl lint --backend-version 8.0.30
    variables: {mysql-server_version: "8.0.30"}
    ```
    """
    announced = subject.configuration.variable(_NAME) or ""
    backends = subject.backend_versions
    numbers = version_numbers(announced)
    known = [(found, text) for text in backends if (found := version_numbers(text)) is not None]
    if numbers is None or not known:
        return
    lowest, text = min(known)
    others = [one for one in backends if is_mariadb(one) is not is_mariadb(announced)]
    fix = f"set it to {text}"
    if others:
        what = f"a backend is {others[0]}"
        fix = "clients tell MySQL and MariaDB apart by it"
    elif numbers > lowest:
        what = f"the lowest backend is {text}"
    else:
        return
    message = f"ProxySQL tells clients {quoted(announced)}, and {what}"
    yield Finding("mysql_variables", (_NAME,), message, "variable_value", fix)
