"""PX504 writer-hostgroup-unused."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.destinations import destinations
from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.subject import Subject
from proxyctl.lint.traffic_readers import called, family_rows


@check("PX504", "writer-hostgroup-unused", Severity.WARNING)
def unused_writer(subject: Subject) -> Iterator[Finding]:
    """Nothing is ever sent to the writer hostgroup of a family.

    No rule, no row of fast routing and no user's default_hostgroup names it. Often a hostgroup was
    renumbered, and the rules or the users were not. It is not said where the files leave
    mysql_users alone.

    ```yaml
    # Bad
    mysql_replication_hostgroups:
      - {writer_hostgroup: 10, reader_hostgroup: 20}
    mysql_users:
      - {username: app, default_hostgroup: 20}
    ```

    ```yaml
    # Good
    mysql_replication_hostgroups:
      - {writer_hostgroup: 10, reader_hostgroup: 20}
    mysql_users:
      - {username: app, default_hostgroup: 10}
    ```
    """
    # Others may own users, or rules, that send something there.
    if not subject.cells("mysql_users") or not all(
        subject.holds_all_of(name, if_there=True)
        for name in ("mysql_users", "mysql_query_rules", "mysql_query_rules_fast_routing")
    ):
        return
    used = {one.hostgroup for one in destinations(subject)}
    used |= {
        value
        for _, cells in subject.cells("mysql_users")
        if isinstance(value := cells["default_hostgroup"], int)
    }
    for row in family_rows(subject):
        writer = row.roles.get("writer_hostgroup")
        if writer is not None and writer not in used:
            message = f"nothing is sent to {called(subject, writer)}"
            hint = "no rule, fast routing or default_hostgroup names it"
            yield Finding(row.table, row.key, message, "writer_hostgroup", hint)
