"""What an apply of ours left in MEMORY when it was killed: rows staged for a LOAD. Pure."""

from __future__ import annotations

from dataclasses import replace

from proxyctl.state import KEEP, DesiredRow, DesiredTable, Key, Rows


def with_status_again(servers: DesiredTable, memory: Rows) -> DesiredTable:
    """Return the desired servers with a status where MEMORY only has the one of a placement.

    A status that the files do not set is MEMORY's own. But a LOAD that keeps the placement stages
    SHUNNED where the monitor has put it, and what was staged is not a decision of anybody.
    """
    position = servers.layout.index["status"]
    rows: dict[Key, DesiredRow] = {}
    for key, row in servers.rows.items():
        found = memory.get(key)
        if row[position] is KEEP and found and str(found[position]).upper() == "SHUNNED":
            row = (*row[:position], "ONLINE", *row[position + 1 :])
        rows[key] = row
    return replace(servers, rows=rows)
