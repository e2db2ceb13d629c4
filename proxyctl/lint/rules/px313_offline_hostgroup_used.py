"""PX313 offline-hostgroup-used."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.check import check
from proxyctl.lint.finding import Finding, Severity
from proxyctl.lint.sample_queries import destinations
from proxyctl.lint.subject import LintSubject


@check("PX313", "offline-hostgroup-used", Severity.WARNING)
def offline_hostgroup_used(subject: LintSubject) -> Iterator[Finding]:
    """A rule, a row of fast routing or a user that sends to a family's offline hostgroup.

    The monitor moves nodes there that are broken or out of sync, and shows them as ONLINE: the
    queries reach exactly the nodes that should not get any.

    Send the queries to the writer or the reader hostgroup.

    ```yaml
    # Bad
    mysql_galera_hostgroups:
      - {writer_hostgroup: 10, backup_writer_hostgroup: 20,
         reader_hostgroup: 30, offline_hostgroup: 40}
    mysql_users:
      - {username: app, default_hostgroup: 40}
    ```

    ```yaml
    # Good
    mysql_galera_hostgroups:
      - {writer_hostgroup: 10, backup_writer_hostgroup: 20,
         reader_hostgroup: 30, offline_hostgroup: 40}
    mysql_users:
      - {username: app, default_hostgroup: 10}
    ```
    """
    role = "offline_hostgroup"
    families = {row.roles[role]: row for row in subject.families if role in row.roles}
    for table, column, hostgroup, (key, *also) in destinations(subject):
        row = families.get(hostgroup)
        if row is not None:
            message = f"{subject.label(hostgroup)} is an {role} in {row.table}"
            writer, reader = row.roles["writer_hostgroup"], row.roles["reader_hostgroup"]
            fix = f"use the writer, {subject.label(writer)}, or the reader, {subject.label(reader)}"
            yield Finding(table, key, message, column, fix, also=tuple(also))
