"""PX511 no-writers."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.families import GALERA, galera_rows
from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.subject import Subject
from proxyctl.lint.traffic_readers import called


@check("PX511", "no-writers", Severity.ERROR)
def no_writers(subject: Subject) -> Iterator[Finding]:
    """max_writers of a Galera family is 0.

    ProxySQL then takes every node out of the writer hostgroup, and each write fails.

    ```yaml
    # Bad
    mysql_galera_hostgroups:
      - {writer_hostgroup: 10, backup_writer_hostgroup: 20, reader_hostgroup: 30,
         offline_hostgroup: 40, max_writers: 0}
    ```

    ```yaml
    # Good
    mysql_galera_hostgroups:
      - {writer_hostgroup: 10, backup_writer_hostgroup: 20, reader_hostgroup: 30,
         offline_hostgroup: 40, max_writers: 1}
    ```
    """
    for row in galera_rows(subject):
        if row.cells["max_writers"] == 0:
            message = f"no node may stay in {called(subject, row.roles['writer_hostgroup'])}"
            yield Finding(GALERA, row.key, message, "max_writers", "write 1")
