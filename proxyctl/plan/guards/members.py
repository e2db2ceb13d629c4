"""Guards: a LOAD at a cluster member that is behind its peers, or that copied a drain.

Also the cluster variables that one LOAD cannot set.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from proxyctl.catalog.variable_rules import DIFFS_BY_CHECKSUM, canonical
from proxyctl.instance.cluster import MOST_AHEAD_S, Membership
from proxyctl.plan.diff import TableDiff
from proxyctl.plan.guards import Danger
from proxyctl.plan.plan import ModulePlan
from proxyctl.proxysql.servers import server_reader
from proxyctl.proxysql.topology import node_text
from proxyctl.rows.row import Layer

STALE_MEMBER = "stale_member"


DRAINED_ELSEWHERE = "drained_elsewhere"


CHECKSUM_OFF = "checksum_off"


def dangers(loaded: Iterable[str], membership: Membership) -> Iterator[Danger]:
    """Yield the modules whose LOAD would replace newer content of members, or would be ignored."""
    for module in loaded:
        ahead = ", ".join(member.name for member in membership.ahead(module))
        late_s = membership.newest_epoch(module) - membership.now
        if ahead:
            yield Danger(
                STALE_MEMBER,
                f"{module}: {ahead} has newer content, which this member has not copied yet; a"
                " LOAD here would replace it everywhere",
                "wait, or apply there",
            )
        elif late_s > MOST_AHEAD_S:
            yield Danger(
                STALE_MEMBER,
                f"{module}: the clock of the member that loaded it last is {late_s:.0f} s ahead, so"
                " a LOAD here would not count as newer",
                "synchronise the clocks",
                can_force=False,
            )


def drained_elsewhere(modules: Iterable[ModulePlan]) -> Iterator[Danger]:
    """Yield the nodes of families that are drained in all layers although the files disagree.

    A member copies RUNTIME of another member to its MEMORY and DISK, so a drain looks configured.
    """
    for diff in (module.servers for module in modules if module.name == "MYSQL SERVERS"):
        if diff is None:
            continue
        read, in_family = server_reader(diff.layout), diff.topology.by_hostgroup
        drained = {
            server.node
            for server in map(read, diff.memory.values())
            if server.hostgroup in in_family and server.is_drained_by_limit
        }
        restored = {
            read(change.desired).node
            for change in diff.changes.get(Layer.RUNTIME, ())
            if change.current is not None
            and change.desired is not None
            and read(change.current).is_drained_by_limit
            and not read(change.desired).is_drained_by_limit
        }
        for node in sorted(drained & restored, key=node_text):
            yield Danger(
                DRAINED_ELSEWHERE,
                f"{node_text(node)} has weight 0 and max_connections 0 in all layers, but the"
                " files say otherwise",
                "if another member drained it, run proxyctl nodes restore there",
            )


def checksums_off(diff: TableDiff) -> Iterator[Danger]:
    """Yield the checksums that are off at RUNTIME although the files set them or their count.

    ProxySQL accepts the difference count only with a LOAD after the LOAD that turns the checksum
    on. `diff`: of admin_variables.
    """
    wanted = diff.desired.rows if diff.desired else {}
    for checksum, count in DIFFS_BY_CHECKSUM.items():
        running, desired = diff.runtime.get((checksum,)), wanted.get((checksum,))
        wants_on = desired is not None and canonical(checksum, str(desired[1])) == "true"
        wants_count = (count,) in wanted and str(wanted[count,][1]) != "0"
        if running is not None and running[1] == "false" and (wants_on or wants_count):
            yield Danger(
                CHECKSUM_OFF,
                f"{checksum} is false at RUNTIME, and the LOAD that turns it on leaves {count} at"
                " 0",
                f"send SET {checksum}='true', LOAD ADMIN VARIABLES TO RUNTIME twice, then apply",
                can_force=False,
            )
