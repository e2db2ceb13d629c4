"""PX315 max-num-online-servers-exceeded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from proxyctl.catalog import Version
from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.subject import Subject
from proxyctl.lint.traffic_readers import called, family_rows
from proxyctl.state.cells import number as as_number
from proxyctl.state.families import ServerColumns

_ATTRIBUTES = "mysql_hostgroup_attributes"
_MAX_ONLINE_SINCE = Version(2, 6, 3)
"""The first ProxySQL that takes notice of max_num_online_servers."""


@check("PX315", "max-num-online-servers-exceeded", Severity.ERROR)
def more_than_may_be_online(subject: Subject) -> Iterator[Finding]:
    """A hostgroup has more servers than max_num_online_servers lets be ONLINE.

    ProxySQL 2.6.3 and later uses none of them then: the limit chooses nobody, it stops the
    hostgroup. Servers of weight 0 count, too. Hostgroups of a family are not looked at: the monitor
    fills them.

    ```yaml
    # Bad
    hostgroups:
      reader: {id: 20, max_num_online_servers: 1}
    mysql_servers:
      - {hostgroup_id: 20, hostname: db2.example.com}
      - {hostgroup_id: 20, hostname: db3.example.com}
    ```

    ```yaml
    # Good
    hostgroups:
      reader: {id: 20, max_num_online_servers: 2}
    mysql_servers:
      - {hostgroup_id: 20, hostname: db2.example.com}
      - {hostgroup_id: 20, hostname: db3.example.com}
    ```
    """
    tables = subject.configuration.tables
    servers, attributes = tables.get("mysql_servers"), tables.get(_ATTRIBUTES)
    if servers is None or attributes is None or attributes.layout.version < _MAX_ONLINE_SINCE:
        return
    placed = {number for row in family_rows(subject) for number in row.roles.values()}
    columns = ServerColumns.of(servers.layout)
    online = Counter(
        row[columns.hostgroup]
        for row in servers.rows.values()
        if str(row[columns.status]).upper() == "ONLINE"
    )
    most = attributes.layout.index["max_num_online_servers"]
    limits = {as_number(key[0]): as_number(row[most]) or 0 for key, row in attributes.rows.items()}
    crowded = {hostgroup for hostgroup, limit in limits.items() if online[hostgroup] > limit}
    for hostgroup in sorted(crowded - placed, key=str):
        message = f"more servers of {called(subject, hostgroup)} are ONLINE: none would be used"
        hint = "raise it, or take servers out"
        yield Finding(_ATTRIBUTES, (hostgroup,), message, "max_num_online_servers", hint)
