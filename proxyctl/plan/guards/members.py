"""Guards: a LOAD at a cluster member that is behind its peers, or that took over a drain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from proxyctl.instance.members import MOST_AHEAD_S, Membership
from proxyctl.plan.guards.danger import Danger
from proxyctl.plan.plan import ModulePlan
from proxyctl.state.families import ServerColumns, by_hostgroup, is_drained_by_limit, node_text
from proxyctl.state.row import Layer

STALE_MEMBER = "stale_member"


DRAINED_ELSEWHERE = "drained_elsewhere"


def dangers(loaded: Iterable[str], membership: Membership) -> Iterator[Danger]:
    """Yield the modules whose LOAD would replace newer content of other members, or be ignored."""
    for module in loaded:
        ahead = ", ".join(one.name for one in membership.ahead(module))
        late_s = membership.newest_epoch(module) - membership.now
        if ahead:
            yield Danger(
                STALE_MEMBER,
                f"{module}: {ahead} has newer content, which this member has not taken over yet; a"
                " LOAD here would replace it everywhere: wait, or apply there",
            )
        elif late_s > MOST_AHEAD_S:
            yield Danger(
                STALE_MEMBER,
                f"{module}: a member loaded it last by a clock that is {late_s:.0f} s ahead of this"
                " one's: no LOAD here would be taken for newer; set the clocks",
                is_certain=True,
            )


def drained_elsewhere(modules: Iterable[ModulePlan]) -> Iterator[Danger]:
    """Yield the nodes of families that are drained in all layers while the files say otherwise.

    A member takes over RUNTIME of another one into MEMORY and DISK, so a drain looks configured.
    """
    diffs = [one.diffs["mysql_servers"] for one in modules if "mysql_servers" in one.diffs]
    for diff in diffs:
        columns, in_family = ServerColumns.of(diff.layout), by_hostgroup(diff.families)
        out = {
            columns.node(row)
            for row in diff.memory.values()
            if row[columns.hostgroup] in in_family and is_drained_by_limit(columns, row)
        }
        wanted = {
            columns.node(one.desired)
            for one in diff.changes.get(Layer.RUNTIME, ())
            if one.current is not None
            and one.desired is not None
            and is_drained_by_limit(columns, one.current)
            and not is_drained_by_limit(columns, one.desired)
        }
        for node in sorted(out & wanted, key=node_text):
            yield Danger(
                DRAINED_ELSEWHERE,
                f"{node_text(node)} has weight 0 and max_connections 0 in all layers, and the files"
                " say otherwise: drained at another member? proxyctl nodes restore there",
            )
