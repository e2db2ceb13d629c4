"""PX315 max-num-online-servers-exceeded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from proxyctl.catalog import Version
from proxyctl.lint.check import check
from proxyctl.lint.finding import Finding, Severity
from proxyctl.lint.subject import LintSubject
from proxyctl.proxysql.cells import number
from proxyctl.routing.dialect import MYSQL

_ATTRIBUTES = "mysql_hostgroup_attributes"
_SINCE = Version(2, 6, 3)
"""The first ProxySQL that obeys max_num_online_servers."""


@check("PX315", "max-num-online-servers-exceeded", Severity.ERROR, any_size=True)
def max_num_online_servers_exceeded(subject: LintSubject) -> Iterator[Finding]:
    """A hostgroup with more ONLINE servers than its max_num_online_servers.

    ProxySQL 2.6.3 and later then uses none of them: the limit does not choose servers, it stops the
    hostgroup. Servers with weight 0 also count. Hostgroups of a family are not reported: the
    monitor fills them.

    Raise the limit, or remove servers.

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
    attributes = subject.configuration.tables.get(_ATTRIBUTES)
    if attributes is None or attributes.layout.version < _SINCE:
        return
    online = Counter(
        cells["hostgroup_id"]
        for _, cells in subject.cells(MYSQL.servers)
        if str(cells["status"]).upper() == "ONLINE"
    )
    for key, cells in subject.cells(_ATTRIBUTES):
        hostgroup, most = number(key[0]), number(cells["max_num_online_servers"]) or 0
        if online[hostgroup] > most and hostgroup not in subject.family_hostgroups:
            message = (
                f"{subject.label(hostgroup)} has {online[hostgroup]} ONLINE servers but a limit of"
                f" {most}: ProxySQL uses none of them"
            )
            fix = "raise it, or remove servers"
            yield Finding(_ATTRIBUTES, key, message, "max_num_online_servers", fix)
