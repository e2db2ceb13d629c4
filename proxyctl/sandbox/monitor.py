"""What ProxySQL's monitor does to the servers at RUNTIME, played by a test or a demo.

Nothing is checked and no node is asked: the script says which nodes are healthy. MEMORY is never
touched, as with the real monitor.
"""

from __future__ import annotations

from collections.abc import Iterable

from proxyctl.sandbox.engine import Engine
from proxyctl.sandbox.runtime import Row

Node = tuple[str, int]
"""Hostname and port."""

_BACKUPS_READ = 2


class Monitor:
    """Places the nodes of hostgroup families at RUNTIME."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def place(
        self, writer_hostgroup: int, *, writers: Iterable[Node], offline: Iterable[Node] = ()
    ) -> None:
        """Place all nodes of one Galera family as its monitor would.

        Writers are ONLINE in the writer hostgroup. Other healthy nodes are SHUNNED there, ONLINE
        in the backup writer hostgroup and, as writer_is_also_reader has it, among the readers.
        """
        with self._engine.lock:
            rows = self._engine.layers.rows
            families = rows["mysql_galera_hostgroups"]
            family = next(f for f in families if f["writer_hostgroup"] == writer_hostgroup)
            hostgroups = {family[role] for role in family if role.endswith("_hostgroup")}
            servers = rows["mysql_servers"]
            nodes: dict[Node, Row] = {}
            for row in servers:
                if row["hostgroup_id"] in hostgroups:
                    nodes.setdefault((str(row["hostname"]), int(str(row["port"]))), row)
            wanted, gone = set(writers), set(offline)
            rows["mysql_servers"] = [
                *(row for row in servers if row["hostgroup_id"] not in hostgroups),
                *(
                    placed
                    for node, row in nodes.items()
                    for placed in _placed(family, row, node in wanted, node in gone)
                ),
            ]

    def shun(self, hostgroup: int, node: Node, *, status: str = "SHUNNED") -> None:
        """Give one row at RUNTIME another status, as a failed ping or a recovery does."""
        with self._engine.lock:
            rows = self._engine.layers.rows
            rows["mysql_servers"] = [
                {**row, "status": status}
                if (row["hostgroup_id"], row["hostname"], row["port"]) == (hostgroup, *node)
                else row
                for row in rows["mysql_servers"]
            ]


def _placed(family: Row, row: Row, is_writer: bool, is_offline: bool) -> list[Row]:
    def at(role: str, status: str = "ONLINE") -> Row:
        return {**row, "hostgroup_id": family[f"{role}_hostgroup"], "status": status}

    if is_offline:
        return [at("offline")]
    also_reads = family["writer_is_also_reader"]
    if is_writer:
        return [at("writer"), *([at("reader")] if also_reads == 1 else [])]
    reads = [at("reader")] if also_reads in (1, _BACKUPS_READ) else []
    return [at("writer", "SHUNNED"), at("backup_writer"), *reads]
