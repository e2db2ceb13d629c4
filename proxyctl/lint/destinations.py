"""Which rows send queries to which hostgroup."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from proxyctl.lint.check import RULES
from proxyctl.lint.subject import FAST_ROUTING, USERS, Subject
from proxyctl.routing import Source
from proxyctl.routing.probes import BEGIN, INSERT, READ
from proxyctl.routing.reach import Session
from proxyctl.state.row import Key


class Destination(NamedTuple):
    """The rows of a table that name a hostgroup in one column."""

    table: str
    column: str
    hostgroup: int
    keys: list[Key]


def destinations(subject: Subject) -> list[Destination]:
    """Return who sends where.

    Not in it are rules that answer by themselves, and users whose every query a rule takes.
    """
    return subject.once(_destinations)


def _destinations(subject: Subject) -> list[Destination]:
    found: dict[tuple[str, str, int], list[Key]] = {}
    rows = (*_of_rules(subject), *_of_fast_routing(subject), *_of_users(subject))
    for table, column, hostgroup, key in rows:
        if isinstance(hostgroup, int):
            found.setdefault((table, column, hostgroup), []).append(key)
    return [Destination(*which, keys) for which, keys in found.items()]


_Row = tuple[str, str, object, Key]


def _of_rules(subject: Subject) -> Iterator[_Row]:
    for rule in subject.rules:
        sets = dict(rule.sets)
        if not {"OK_msg", "error_msg"} & sets.keys():
            key = (rule.rule_id,)
            yield RULES, "destination_hostgroup", rule.destination, key
            yield RULES, "mirror_hostgroup", sets.get("mirror_hostgroup"), key


def _of_fast_routing(subject: Subject) -> Iterator[_Row]:
    table = subject.configuration.tables.get(FAST_ROUTING)
    column = "destination_hostgroup"
    if table is not None:
        position = table.layout.index[column]
        for key, row in table.rows.items():
            yield FAST_ROUTING, column, row[position], key


def _of_users(subject: Subject) -> Iterator[_Row]:
    stands_for = subject.reach.classes
    uses_default: dict[str | None, bool] = {}
    for name, user in subject.logins.items():
        one = stands_for[name]
        if one not in uses_default:
            uses_default[one] = any(
                subject.reach.route(Session(one), probe.query).source is Source.DEFAULT_HOSTGROUP
                for probe in (BEGIN, INSERT, READ)
            )
        if uses_default[one]:
            key = subject.login_keys[name]
            yield USERS, "default_hostgroup", user.default_hostgroup, key
