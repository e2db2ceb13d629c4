"""PX502 families-share-hostgroup."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.check import check
from proxyctl.lint.finding import Finding, Severity, cases_of
from proxyctl.lint.subject import FamilyRow, LintSubject


@check("PX502", "families-share-hostgroup", Severity.ERROR, any_size=True)
def families_share_hostgroup(subject: LintSubject) -> Iterator[Finding]:
    """Two families with the same hostgroup.

    ProxySQL checks each table by itself and loads both rows. Then two monitors move the same
    servers, each in its own way. A row of mysql_aws_rds_bgd_hostgroups is not reported: its monitor
    works together with that of the family whose deployment is switched.

    Remove one of the rows.

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
    for row in subject.families:
        if row.table == "mysql_aws_rds_bgd_hostgroups":
            continue
        hostgroups = row.roles.values()
        shared = [number for number in hostgroups if first.setdefault(number, row) is not row]
        if shared:
            other = first[shared[0]]
            message = f"{subject.label(shared[0])} is also in a row of {other.table}"
            fix = "remove one of the rows: two monitors move the same servers"
            cases = cases_of(row.key, shared)
            yield Finding(row.table, row.key, message, None, fix, cases=cases)
