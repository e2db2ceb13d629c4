"""PX573 relative-folder."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.catalog import Value
from proxyctl.lint.check import check
from proxyctl.lint.finding import Finding, Severity, quoted
from proxyctl.lint.subject import LintSubject
from proxyctl.proxysql.flaws import WHERE_IT_RUNS, is_in_relative_folder
from proxyctl.rows.row import Key

_SSL_PARAMS = ("mysql_servers_ssl_params", "pgsql_servers_ssl_params")
_SSL_COLUMNS = ("ssl_ca", "ssl_cert", "ssl_key", "ssl_capath", "ssl_crl", "ssl_crlpath")
_SIDES = ("mysql", "pgsql")
_TLS_FILES = tuple(
    f"{side}-{column.replace('ssl_', 'ssl_p2s_')}" for side in _SIDES for column in _SSL_COLUMNS
)
_LOGS = tuple(f"{side}-{log}_filename" for side in _SIDES for log in ("auditlog", "eventslog"))


@check("PX573", "relative-folder", Severity.WARNING, any_size=True)
def relative_folder_of_a_file(subject: LintSubject) -> Iterator[Finding]:
    """A TLS file or a log in a relative folder.

    ProxySQL looks for a log below its data directory, and for a TLS file where it was started;
    it expands neither `~` nor variables. Without the file no TLS connection succeeds; without
    the folder nothing is logged. ProxySQL reports neither at LOAD. A name without a folder is
    not reported.

    Write the absolute path.

    ```yaml
    # Bad
    variables:
      mysql-ssl_p2s_ca: certs/ca.pem
      mysql-eventslog_filename: logs/queries
    ```

    ```yaml
    # Good
    variables:
      mysql-ssl_p2s_ca: /etc/proxysql/certs/ca.pem
      mysql-eventslog_filename: queries
    ```
    """
    values = subject.configuration.variables
    for name in (*_LOGS, *_TLS_FILES):
        place = "in its data directory" if name in _LOGS else WHERE_IT_RUNS
        table = f"{name.partition('-')[0]}_variables"
        yield from _finding(table, (name,), "variable_value", values.get(name), place)
    for table in _SSL_PARAMS:
        for key, cells in subject.cells(table):
            for column in _SSL_COLUMNS:
                yield from _finding(table, key, column, cells.get(column), WHERE_IT_RUNS)


def _finding(table: str, key: Key, column: str, path: Value, place: str) -> Iterator[Finding]:
    if isinstance(path, str) and is_in_relative_folder(path):
        message = f"ProxySQL looks for {quoted(path)} {place}"
        yield Finding(table, key, message, column, "write the absolute path")
