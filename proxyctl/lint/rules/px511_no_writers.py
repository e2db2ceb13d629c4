"""PX511 no-writers."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.check import Finding, Severity, check
from proxyctl.lint.subject import Subject


@check("PX511", "no-writers", Severity.ERROR)
def no_writers(subject: Subject) -> Iterator[Finding]:
    """A Galera family with max_writers 0.

    ProxySQL then takes every node out of the writer hostgroup, and each write fails.

    Set max_writers to 1.

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
    for row in subject.galera:
        if row.cells["max_writers"] == 0:
            message = f"no node may stay in {subject.called(row.roles['writer_hostgroup'])}"
            yield Finding(row.table, row.key, message, "max_writers", "set it to 1")
