"""The `pxc_clusters` section of a cluster that was discovered, to start files with."""

from __future__ import annotations

import re
from collections.abc import Iterable

from proxyctl.errors import counted
from proxyctl.formats.yaml import quoted
from proxyctl.state.families import Node

_HOSTGROUPS = {"writer": 10, "backup_writer": 20, "reader": 30, "offline": 40}


def pxc_section(cluster: str, nodes: Iterable[Node], *, silent: int = 0) -> str:
    """Return a file with the cluster; its hostgroups are a proposal.

    `silent`: how many nodes are to be added by hand, since they do not say their address.
    """
    name = re.sub(r"[^0-9A-Za-z_-]", "_", cluster) or "main"
    lines = ["version: 1", "hostgroups:"]
    lines += [f"  {role}: {{id: {number}}}" for role, number in _HOSTGROUPS.items()]
    lines += ["pxc_clusters:", f"  - name: {quoted(name)}"]
    lines += [f"    {role}_hostgroup: {role}" for role in _HOSTGROUPS]
    lines += ["    max_writers: 1", "    writer_is_also_reader: 2", "    nodes:"]
    for host, port in nodes:
        named = f", port: {port}" if port != 3306 else ""
        lines.append(f"      - {{hostname: {quoted(str(host))}{named}}}")
    if silent:
        lines.append(f"      # and {counted(silent, 'node')} without a known address")
    return "\n".join(lines) + "\n"
