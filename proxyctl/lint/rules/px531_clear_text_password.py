"""PX531 clear-text-password."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.catalog.variables import is_secret_variable
from proxyctl.lint.check import check
from proxyctl.lint.finding import Finding, Severity
from proxyctl.lint.subject import LintSubject
from proxyctl.proxysql.passwords import hashed_password
from proxyctl.rows.row import Secret


@check("PX531", "clear-text-password", Severity.WARNING)
def clear_text_password(subject: LintSubject) -> Iterator[Finding]:
    """A password in clear text in a file.

    Whoever reads the file, or its history, can log in.

    Take the password from the environment or from a file of its own, or write its hash. A variable
    with a password and an entry of `instances` have no hash and need a reference.

    ```yaml
    # Bad
    mysql_users:
      - {username: app, password: sesame, default_hostgroup: 10}
    ```

    ```yaml
    # Good
    mysql_users:
      - {username: app, password: '*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19',
         default_hostgroup: 10}
    ```
    """
    place = subject.configuration.place
    for table in ("mysql_users", "pgsql_users"):
        for key, cells in subject.cells(table):
            password = cells["password"]
            if not isinstance(password, str) or isinstance(password, Secret) or not password:
                continue
            if place(table, key, "password") is None:
                continue  # a row in no file
            if hashed_password(table, password) != password:
                message = f"the password of {key[0]} is in clear text"
                fix = "write password: {env: NAME}, {file: PATH}, or its hash"
                yield Finding(table, key, message, "password", fix)
    for name, value in sorted(subject.configuration.variables.items()):
        table = f"{name.partition('-')[0]}_variables"
        if not is_secret_variable(name) or isinstance(value, Secret) or not value:
            continue
        if place(table, (name,), None) is not None:
            message = f"{name} is in clear text"
            yield Finding(table, (name,), message, "variable_value", "write {env: NAME}")
    for name, where in subject.plain_passwords.items():
        message = "the password of this instance is in clear text"
        fix = "write password: {env: NAME} or {file: PATH}"
        yield Finding("instances", (name,), message, "password", fix, where)
