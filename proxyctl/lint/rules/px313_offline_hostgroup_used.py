"""PX313 offline-hostgroup-used."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.destinations import (
    destinations,
)
from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.subject import Subject
from proxyctl.lint.traffic_readers import called, family_rows


@check("PX313", "offline-hostgroup-used", Severity.WARNING)
def to_offline(subject: Subject) -> Iterator[Finding]:
    """Queries are sent to the offline hostgroup of a family.

    The monitor puts the nodes there that are broken or out of step, and it shows them as ONLINE: a
    rule that names this hostgroup reaches exactly the nodes that should get nothing.

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
    found = {row.roles[role]: row for row in family_rows(subject) if role in row.roles}
    for one in destinations(subject):
        row = found.get(one.hostgroup)
        if row is not None:
            message = f"{called(subject, one.hostgroup)}{one.others} is the {role} of {row.table}"
            hint = (
                "the monitor puts nodes there that are out; the writer is"
                f" {called(subject, row.roles['writer_hostgroup'])}"
            )
            if "reader_hostgroup" in row.roles:
                hint += f", readers are in {called(subject, row.roles['reader_hostgroup'])}"
            yield Finding(one.table, one.key, message, one.column, hint)
