"""Destinations that nobody serves, or that a monitor keeps for something else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from proxyctl.catalog import Version
from proxyctl.cells import number as as_number
from proxyctl.families import ServerColumns
from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.subject import Subject
from proxyctl.lint.traffic_probes import BEGIN, INSERT, READ
from proxyctl.lint.traffic_readers import called, family_rows, nodes_of
from proxyctl.lint.traffic_sessions import Session, classes, login_keys, logins
from proxyctl.lint.traffic_twins import ask
from proxyctl.routing import Source
from proxyctl.state import Key

_ATTRIBUTES = "mysql_hostgroup_attributes"
_MAX_ONLINE_SINCE = Version(2, 6, 3)
"""The first ProxySQL that takes notice of max_num_online_servers."""
_RULES, _FAST, _USERS = "mysql_query_rules", "mysql_query_rules_fast_routing", "mysql_users"


class Destination(NamedTuple):
    """A row that names a hostgroup to send to; `alike` more rows name it too."""

    table: str
    key: Key
    column: str
    hostgroup: int
    alike: int = 0

    @property
    def others(self) -> str:
        """The words for the rows that are alike."""
        if not self.alike:
            return ""
        return f" (and of {self.alike} more row{'s' * (self.alike > 1)})"


@lru_cache(maxsize=1)
def destinations(subject: Subject) -> tuple[Destination, ...]:
    """Return who sends where.

    Shape: each rule that answers nothing by itself; of fast routing and of users the first row for
    each hostgroup.
    """
    found = [*_of_rules(subject), *_of_fast_routing(subject), *_of_users(subject)]
    return tuple(found)


def _of_rules(subject: Subject) -> Iterator[Destination]:
    for rule in subject.rules:
        sets = dict(rule.sets)
        answers = "OK_msg" in sets or "error_msg" in sets
        named: dict[str, object] = {
            "destination_hostgroup": rule.destination,
            "mirror_hostgroup": sets.get("mirror_hostgroup"),
        }
        for column, number in named.items():
            if isinstance(number, int) and not answers:
                yield Destination(_RULES, (rule.rule_id,), column, number)


def _of_fast_routing(subject: Subject) -> Iterator[Destination]:
    table = subject.configuration.tables.get(_FAST)
    if table is None:
        return
    position = table.layout.index["destination_hostgroup"]
    first: dict[object, Key] = {}
    count: dict[object, int] = {}
    for key, row in table.rows.items():
        hostgroup = row[position]
        first.setdefault(hostgroup, key)
        count[hostgroup] = count.get(hostgroup, 0) + 1
    for number, key in first.items():
        if isinstance(number, int):
            yield Destination(_FAST, key, "destination_hostgroup", number, count[number] - 1)


def _of_users(subject: Subject) -> Iterator[Destination]:
    """Yield the default hostgroups that are asked for something: rules may take it all."""
    keys, stands_for = login_keys(subject), classes(subject)
    asked: dict[str | None, bool] = {}
    first: dict[int, str] = {}
    count: dict[int, int] = {}
    for name, user in logins(subject).items():
        one = stands_for[name]
        if one not in asked:
            asked[one] = _uses_default(subject, Session(one))
        if asked[one]:
            first.setdefault(user.default_hostgroup, name)
            count[user.default_hostgroup] = count.get(user.default_hostgroup, 0) + 1
    for hostgroup, name in first.items():
        yield Destination(_USERS, keys[name], "default_hostgroup", hostgroup, count[hostgroup] - 1)


def _uses_default(subject: Subject, session: Session) -> bool:
    return any(
        ask(subject, session, probe.query).source is Source.DEFAULT_HOSTGROUP
        for probe in (BEGIN, INSERT, READ)
    )


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
