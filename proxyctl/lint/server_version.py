"""mysql-server_version: what clients take the server for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from proxyctl.catalog.server_version import is_mariadb, version_numbers
from proxyctl.lint.finding import Finding
from proxyctl.lint.subject import Subject
from proxyctl.state.row import Secret

NAME = "mysql-server_version"
TABLE = "mysql_variables"
_COLUMN = "variable_value"


def finding(message: str, hint: str) -> Finding:
    """Return a finding at the variable."""
    return Finding(TABLE, (NAME,), message, _COLUMN, hint)


def compared_with(subject: Subject, backends: Sequence[str]) -> Iterator[Finding]:
    """Yield what is wrong with the version, given those of the backends, such as `8.0.36-28.1`."""
    told = subject.configuration.variable(NAME) or ""
    numbers = version_numbers(told)
    known = [(found, text) for text in backends if (found := version_numbers(text)) is not None]
    if numbers is None or not known:
        return
    lowest, text = min(known)
    others = [one for one in backends if is_mariadb(one) is not is_mariadb(told)]
    if others:
        message = f"clients are told {shown(told)}, and a backend is {others[0]}"
        yield finding(message, "MySQL and MariaDB are told apart by it")
    elif numbers > lowest:
        message = f"clients are told {shown(told)}, and the lowest backend is {text}"
        yield finding(message, f"set it to {text}")


def shown(version: str) -> str:
    """Return a version as it may be shown."""
    return "(sensitive)" if isinstance(version, Secret) else version
