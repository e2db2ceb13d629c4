"""PX311 hostgroup-without-servers."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.check import check
from proxyctl.lint.finding import Finding, Severity
from proxyctl.lint.sample_queries import destinations
from proxyctl.lint.subject import LintSubject

_MIRROR_EFFECT = "only the copies are lost; the query itself is not affected"


@check("PX311", "hostgroup-without-servers", Severity.ERROR, pgsql=True)
def hostgroup_without_servers(subject: LintSubject) -> Iterator[Finding]:
    """A rule, a row of fast routing or a user that sends to a hostgroup without servers.

    The client waits for mysql-connect_timeout_server_max, 10 seconds, and then gets error 9001
    (PostgreSQL: SQLSTATE 08001). Copies for a mirror_hostgroup without servers are lost. A user's
    default_hostgroup, 0 by default, gets the queries that no rule routes, such as BEGIN and SET.

    Hostgroups of a family are not reported: the monitor fills them. A user whose queries all match
    rules is not reported either. Nothing is reported if the files leave mysql_servers alone.

    Correct the number, or add a server.

    ```yaml
    # Bad
    mysql_servers:
      - {hostgroup_id: 10, hostname: db1.example.com}
    mysql_users:
      - {username: app}
    mysql_query_rules:
      - {rule_id: 1, match_digest: '^SELECT', destination_hostgroup: 20, apply: true}
    ```

    ```yaml
    # Good
    mysql_servers:
      - {hostgroup_id: 10, hostname: db1.example.com}
      - {hostgroup_id: 20, hostname: db2.example.com}
    mysql_users:
      - {username: app, default_hostgroup: 10}
    mysql_query_rules:
      - {rule_id: 1, match_digest: '^SELECT', destination_hostgroup: 20, apply: true}
    ```
    """
    if not subject.has_all_rows(subject.dialect.servers):
        return
    timeout = subject.dialect.variable("connect_timeout_server_max")
    waits = f"a client waits for {timeout}, then gets {subject.dialect.connect_error}"
    served = subject.servers.hostgroups | subject.family_hostgroups
    for table, column, hostgroup, (key, *also) in destinations(subject):
        if hostgroup not in served:
            message = f"{subject.label(hostgroup)} has no server"
            effect = _MIRROR_EFFECT if column == "mirror_hostgroup" else waits
            fix = f"add a server to it, or correct the number; {effect}"
            yield Finding(table, key, message, column, fix, also=tuple(also))
