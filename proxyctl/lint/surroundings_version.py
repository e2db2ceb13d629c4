"""mysql-server_version: what clients take the server for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from proxyctl.catalog.variables import VARIABLES
from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.subject import Subject
from proxyctl.server_version import is_mariadb, version_numbers
from proxyctl.state import Secret

_NAME = "mysql-server_version"
_TABLE = "mysql_variables"
_COLUMN = "variable_value"
_DEFAULTS = ("5.5.30", "8.0.11")
"""What ProxySQL comes with, before 2.6 and since; an old one may stay in its database."""


def _finding(message: str, hint: str) -> Finding:
    return Finding(_TABLE, (_NAME,), message, _COLUMN, hint)


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
    default = VARIABLES[_NAME].default_in(subject.configuration.version)
    hint = "set it to the lowest version of the backends"
    if _NAME in variables:
        told = str(variables[_NAME])
        behind = [version_numbers(one) for one in subject.backend_versions]
        if told in (*_DEFAULTS, default) and version_numbers(told) not in behind:
            yield _finding(f"{told} is ProxySQL's default, whatever the backends are", hint)
        return
    first = min((name for name in variables if name.startswith("mysql-")), default=None)
    if first is not None:
        message = f"set without {_NAME}: clients are told {default}, whatever the backends are"
        yield Finding(_TABLE, (first,), message, None, hint)


@check("PX542", "server-version-above-backends", Severity.WARNING)
def above_backends(subject: Subject) -> Iterator[Finding]:
    """mysql-server_version is above the lowest version of the backends, or of another product.

    A client that believes it sends SQL which that backend does not know yet. It can be checked only
    when the versions of the backends are given.

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
    yield from compared_with(subject, subject.backend_versions)


def compared_with(subject: Subject, backends: Sequence[str]) -> Iterator[Finding]:
    """Yield what is wrong with the version, given those of the backends, such as `8.0.36-28.1`."""
    told = subject.configuration.variable(_NAME) or ""
    numbers = version_numbers(told)
    known = [(found, text) for text in backends if (found := version_numbers(text)) is not None]
    if numbers is None or not known:
        return
    lowest, text = min(known)
    others = [one for one in backends if is_mariadb(one) is not is_mariadb(told)]
    if others:
        message = f"clients are told {_shown(told)}, and a backend is {others[0]}"
        yield _finding(message, "MySQL and MariaDB are told apart by it")
    elif numbers > lowest:
        message = f"clients are told {_shown(told)}, and the lowest backend is {text}"
        yield _finding(message, f"set it to {text}")


def _shown(version: str) -> str:
    return "(sensitive)" if isinstance(version, Secret) else version


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
    told = subject.configuration.variables.get(_NAME)
    if told is not None and version_numbers(told) is None:
        message = (
            f"{_shown(told)} does not begin with a version such as 8.0.36: clients fail to log in"
        )
        yield _finding(message, "put the number first, as in 10.6.12-MariaDB")
