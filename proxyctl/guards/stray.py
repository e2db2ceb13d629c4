"""Guards: users, rules and fast routing that leave a hostgroup with servers for one without."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from proxyctl.catalog import Layout, Value
from proxyctl.catalog.destinations import DESTINATIONS
from proxyctl.compare import Difference
from proxyctl.errors import counted
from proxyctl.guards.danger import Danger
from proxyctl.guards.hostgroups import (
    DEFAULT_HOSTGROUP,
    EMPTY_HOSTGROUP,
    USERS,
    HostgroupNeeds,
)

MOST_NAMES = 3


@dataclass(frozen=True)
class _Wording:
    """How a row of a table is called, what it would do, and the columns that name it."""

    guard: str
    noun: str
    would: str
    named_by: tuple[str, ...]


_WORDINGS = {
    USERS: _Wording(DEFAULT_HOSTGROUP, "user", "would be the default hostgroup of", ("username",)),
    "mysql_query_rules": _Wording(
        EMPTY_HOSTGROUP, "rule", "would be the destination of", ("rule_id",)
    ),
    "mysql_query_rules_fast_routing": _Wording(
        EMPTY_HOSTGROUP,
        "row",
        "would be the destination of fast routing in",
        ("username", "schemaname"),
    ),
}


def strays(
    layout: Layout,
    changes: Iterable[Difference],
    before: frozenset[Value],
    after: frozenset[Value],
    needs: HostgroupNeeds,
) -> Iterator[Danger]:
    """Yield the hostgroups without a server that rows of this table turn to from one with servers.

    `layout`: of a table of DESTINATIONS, `changes` are its own at RUNTIME. `before` and `after`:
    the hostgroups that serve. A row that is new is no transition.
    """
    wording, position = _WORDINGS[layout.name], layout.index[DESTINATIONS[layout.name]]
    stray: dict[Value, list[str]] = {}
    for current, hostgroup in redirected(layout, changes):
        # What serves now and would not afterwards is said of the hostgroup.
        if hostgroup not in before | after and current[position] in before:
            name = "/".join(str(current[layout.index[column]]) for column in wording.named_by)
            stray.setdefault(hostgroup, []).append(name)
    for hostgroup, names in sorted(stray.items(), key=repr):
        yield Danger(
            wording.guard,
            f"hostgroup {needs.shown(hostgroup)} {wording.would}"
            f" {counted(len(names), wording.noun)} ({_some(names)})"
            " and has no server that takes queries",
        )


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:MOST_NAMES]) + (" ..." if len(names) > MOST_NAMES else "")


def redirected(
    layout: Layout, changes: Iterable[Difference]
) -> Iterator[tuple[tuple[Value, ...], Value]]:
    """Yield the rows at RUNTIME that get another destination, as they are, and that hostgroup."""
    position = layout.index[DESTINATIONS[layout.name]]
    for change in changes:
        if change.current is not None and change.desired is not None:
            hostgroup = change.desired[position]
            if isinstance(hostgroup, int) and hostgroup != change.current[position]:
                yield change.current, hostgroup
