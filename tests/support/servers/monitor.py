"""Place servers at RUNTIME of a sandbox, as ProxySQL's monitor does.

No node is checked: the test names the healthy nodes. MEMORY never changes, as with the real
monitor.
"""

from __future__ import annotations

from collections.abc import Iterable

from proxyctl.sandbox import Sandbox
from proxyctl.sandbox.runtime import NamedValues

Node = tuple[str, int]
"""Hostname and port."""

_BACKUPS_READ = 2


def place(
    sandbox: Sandbox,
    writer_hostgroup: int,
    *,
    writers: Iterable[Node],
    offline: Iterable[Node] = (),
) -> None:
    """Place all nodes of one Galera family as the monitor does.

    Writers are ONLINE in the writer hostgroup. Other healthy nodes are SHUNNED there, ONLINE in the
    backup writer hostgroup and, depending on writer_is_also_reader, among the readers.
    """
    with sandbox.held():
        families = sandbox.runtime["mysql_galera_hostgroups"]
        family = next(f for f in families if f["writer_hostgroup"] == writer_hostgroup)
        hostgroups = {family[role] for role in family if role.endswith("_hostgroup")}
        servers = sandbox.runtime["mysql_servers"]
        nodes: dict[Node, NamedValues] = {}
        for row in servers:
            if row["hostgroup_id"] in hostgroups:
                nodes.setdefault((str(row["hostname"]), int(str(row["port"]))), row)
        wanted, gone = set(writers), set(offline)
        sandbox.runtime["mysql_servers"] = [
            *(row for row in servers if row["hostgroup_id"] not in hostgroups),
            *(
                placed
                for node, row in nodes.items()
                for placed in _placed(family, row, node in wanted, node in gone)
            ),
        ]


def _placed(
    family: NamedValues, row: NamedValues, is_writer: bool, is_offline: bool
) -> list[NamedValues]:
    def at(role: str, status: str = "ONLINE") -> NamedValues:
        return {**row, "hostgroup_id": family[f"{role}_hostgroup"], "status": status}

    if is_offline:
        return [at("offline")]
    also_reads = family["writer_is_also_reader"]
    if is_writer:
        return [at("writer"), *([at("reader")] if also_reads == 1 else [])]
    reads = [at("reader")] if also_reads in (1, _BACKUPS_READ) else []
    return [at("writer", "SHUNNED"), at("backup_writer"), *reads]
