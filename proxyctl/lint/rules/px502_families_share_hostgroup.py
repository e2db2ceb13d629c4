"""PX502 families-share-hostgroup."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.subject import Subject
from proxyctl.lint.traffic_readers import FamilyRow, called, family_rows


@check("PX502", "families-share-hostgroup", Severity.ERROR)
def shared(subject: Subject) -> Iterator[Finding]:
    """Two families name the same hostgroup.

    Between two tables ProxySQL does not notice: it loads both rows, and two monitors move the same
    servers, each its own way.

    ```yaml
    # Bad
    mysql_galera_hostgroups:
      - {writer_hostgroup: 10, backup_writer_hostgroup: 20,
         reader_hostgroup: 30, offline_hostgroup: 40}
    mysql_replication_hostgroups:
      - {writer_hostgroup: 10, reader_hostgroup: 30}
    ```

    ```yaml
    # Good
    mysql_galera_hostgroups:
      - {writer_hostgroup: 10, backup_writer_hostgroup: 20,
         reader_hostgroup: 30, offline_hostgroup: 40}
    ```
    """
    first: dict[int, FamilyRow] = {}
    for row in family_rows(subject):
        told = False
        for hostgroup in row.roles.values():
            other = first.setdefault(hostgroup, row)
            if other is not row and not told:
                told = True
                message = f"{called(subject, hostgroup)} belongs to a row of {other.table}, too"
                hint = "two monitors move the same servers; keep one of the rows"
                yield Finding(row.table, row.key, message, None, hint)
