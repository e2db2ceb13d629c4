"""PX311 hostgroup-without-servers."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.destinations import (
    Destination,
    destinations,
)
from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.subject import Subject
from proxyctl.lint.traffic_readers import called, family_rows, nodes_of


def _not_served(subject: Subject) -> Iterator[Destination]:
    if not subject.holds_all_of("mysql_servers"):
        return
    served = set(nodes_of(subject))
    served |= {number for row in family_rows(subject) for number in row.roles.values()}
    yield from (one for one in destinations(subject) if one.hostgroup not in served)


_LOST = "the copies are lost; the query itself goes its way"
_LATE = "ProxySQL lets a client wait for mysql-connect_timeout_server_max, then fails with 9001"


@check("PX311", "hostgroup-without-servers", Severity.ERROR)
def without_servers(subject: Subject) -> Iterator[Finding]:
    """A rule, a row of fast routing or a user sends to a hostgroup that has no server.

    ProxySQL does not refuse such a query: the client waits for mysql-connect_timeout_server_max, 10
    seconds, and then gets error 9001. Copies for a mirror_hostgroup without servers are lost.
    Hostgroups of a family count as served: the monitor fills them. It is not said where the files
    leave mysql_servers alone.

    A user's default_hostgroup takes whatever no rule decides: BEGIN, SET, and each statement that
    nobody thought of. Without a value it is 0. It is not said of users whose every query a rule
    takes.

    ```yaml
    # Bad
    mysql_servers:
      - {hostgroup_id: 10, hostname: db1.example.com}
    mysql_query_rules:
      - {rule_id: 1, match_digest: '^SELECT', destination_hostgroup: 20, apply: true}
    ```

    ```yaml
    # Good
    mysql_servers:
      - {hostgroup_id: 10, hostname: db1.example.com}
      - {hostgroup_id: 20, hostname: db2.example.com}
    mysql_query_rules:
      - {rule_id: 1, match_digest: '^SELECT', destination_hostgroup: 20, apply: true}
    ```

    ```yaml
    # Bad
    mysql_servers:
      - {hostgroup_id: 10, hostname: db1.example.com}
    mysql_users:
      - {username: app}
    ```

    ```yaml
    # Good
    mysql_servers:
      - {hostgroup_id: 10, hostname: db1.example.com}
    mysql_users:
      - {username: app, default_hostgroup: 10}
    ```
    """
    for one in _not_served(subject):
        message = f"{called(subject, one.hostgroup)}{one.others} has no server"
        hint = _LOST if one.column == "mirror_hostgroup" else _LATE
        yield Finding(one.table, one.key, message, one.column, hint)
