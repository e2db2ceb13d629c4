"""PX504 writer-hostgroup-unused."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.check import check
from proxyctl.lint.finding import Finding, Severity
from proxyctl.lint.sample_queries import destinations
from proxyctl.lint.subject import FamilyRow, LintSubject
from proxyctl.proxysql.cells import number
from proxyctl.proxysql.servers import Address


@check("PX504", "writer-hostgroup-unused", Severity.WARNING, pgsql=True)
def writer_hostgroup_unused(subject: LintSubject) -> Iterator[Finding]:
    """A family whose writer hostgroup gets no queries.

    No rule, no row of fast routing and no user's default_hostgroup has its number. Often a
    hostgroup was renumbered, but the rules or the users were not updated. Nothing is reported where
    the files leave mysql_users alone. PX503 reports a family without a server.

    Correct the number. If another family has the same nodes and gets the queries, the two exist
    side by side while [a family gets other hostgroups](../../how-to/renumber-hostgroups.md): remove
    the older one as soon as nothing uses it. PX501 reports two such Galera families instead.

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
    # Users and rules that the files do not manage may send queries there.
    dialect = subject.dialect
    users = subject.cells(dialect.users)
    tables = (dialect.users, dialect.rules, dialect.fast_routing)
    if not users or not all(subject.has_all_rows(name, if_absent=True) for name in tables):
        return
    used: set[int | None] = {destination.hostgroup for destination in destinations(subject)}
    used |= {number(cells["default_hostgroup"]) for _, cells in users}

    def nodes(row: FamilyRow) -> frozenset[Address]:
        return frozenset(server.address for server in subject.nodes_of(row))

    unused = [row for row in subject.families if row.roles.get("writer_hostgroup") not in used]
    served = {nodes(row) for row in subject.families if row not in unused} - {frozenset()}
    lists_servers = subject.has_all_rows(dialect.servers)
    for row in unused:
        own, writer = nodes(row), row.roles.get("writer_hostgroup")
        stands_beside = own in served
        is_reported = stands_beside and row in subject.galera  # by PX501
        if writer is None or is_reported or (lists_servers and not own):
            continue
        message = f"{subject.label(writer)} gets no queries"
        fix = "name it in a rule, in fast routing or as a default_hostgroup"
        if stands_beside:
            message += "; a family with the same nodes does"
            fix = "remove the older family as soon as nothing uses its hostgroups"
        yield Finding(row.table, row.key, message, "writer_hostgroup", fix)
