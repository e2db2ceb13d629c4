"""The state of a Galera node, as text. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

_STATES = {"0": "Initialized", "1": "Joining", "2": "Donor/Desynced", "3": "Joined", "4": "Synced"}
_PROBLEMS = {
    "primary_partition": ("NO", "not in the primary component"),
    "wsrep_desync": ("YES", "desynced"),
    "wsrep_reject_queries": ("YES", "rejects queries"),
    "pxc_maint_mode": ("YES", "in maintenance"),
}
"""Columns of monitor.mysql_server_galera_log, and what they say with this value."""


def state(wsrep: Mapping[str, str]) -> str:
    """Return the state of the node. It may hold text from the server: escape it before printing."""
    number = wsrep.get("wsrep_local_state", "")
    return _STATES.get(number, f"wsrep_local_state {number}")


def reasons(wsrep: Mapping[str, str]) -> Iterator[str]:
    """Yield why the monitor keeps a node out of service."""
    for column, (value, text) in _PROBLEMS.items():
        if wsrep.get(column) == value:
            yield text
