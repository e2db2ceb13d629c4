"""PX571 unusable-host."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from proxyctl.lint.check import check
from proxyctl.lint.finding import Finding, Severity, grouped, quoted
from proxyctl.lint.subject import LintSubject
from proxyctl.proxysql.flaws import ValueFlaw, doubts, flaws

_TABLES = (
    "mysql_servers",
    "mysql_servers_ssl_params",
    "mysql_aws_aurora_hostgroups",
    "pgsql_servers",
    "pgsql_servers_ssl_params",
    "proxysql_servers",
)


@check("PX571", "unusable-host", Severity.ERROR, any_size=True)
def unusable_host(subject: LintSubject) -> Iterable[Finding]:
    """A host name that no resolver accepts.

    ProxySQL loads every text. A text with a port, a URL, brackets or a space is not a host name:
    queries for that server wait for mysql-connect_timeout_server_max and fail. An IPv6 address has
    no brackets. In mysql_servers port 0 makes the host name the path of a Unix socket; in
    pgsql_servers it may be the folder of one, and the port stays. ProxySQL appends the domain_name
    of an Aurora cluster to the name of each instance, so it must not be an endpoint.

    It is a warning if it works in rare cases: several hosts with commas, port 0 and a name that
    is not an absolute path, and the domain of a cluster's endpoint.

    Write the name or the address alone, and the port in `port`.

    ```yaml
    # Bad
    mysql_servers:
      - {hostgroup_id: 10, hostname: 'db1.example.com:3306'}
      - {hostgroup_id: 10, hostname: '[2001:db8::1]'}
      - {hostgroup_id: 10, hostname: /run/mysqld/mysqld.sock}
    ```

    ```yaml
    # Good
    mysql_servers:
      - {hostgroup_id: 10, hostname: db1.example.com, port: 3306}
      - {hostgroup_id: 10, hostname: '2001:db8::1'}
      - {hostgroup_id: 10, hostname: /run/mysqld/mysqld.sock, port: 0}
    ```
    """
    return grouped(of_rows(subject, _TABLES))


def of_rows(subject: LintSubject, tables: Sequence[str]) -> Iterator[Finding]:
    """Yield the values in active rows that never work, and those that hardly ever do."""
    for table in tables:
        for key, cells in subject.cells(table):
            if cells.get("active") == 0:
                continue
            found: list[tuple[ValueFlaw, Severity | None]] = [
                (it, None) for it in flaws(table, cells)
            ]
            found = found or [(it, Severity.WARNING) for it in doubts(table, cells)]
            for (column, problem, fix), severity in found:
                value = cells[column]
                shown = quoted(value if isinstance(value, str) else str(value))
                message = f"{column} {shown}: {problem}"
                yield Finding(table, key, message, column, fix, severity=severity)
