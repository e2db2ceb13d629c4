"""Destinations that nobody serves, or that a monitor keeps for something else."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from proxyctl.lint.subject import Subject
from proxyctl.lint.traffic_sessions import Session, classes, login_keys, logins
from proxyctl.lint.traffic_twins import ask
from proxyctl.routing import Source
from proxyctl.routing.probes import BEGIN, INSERT, READ
from proxyctl.state.row import Key

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
