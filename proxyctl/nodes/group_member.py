"""What the monitor read of a member of a replication group, in words. Pure."""

from __future__ import annotations

from collections.abc import Mapping


def why_out(check: Mapping[str, str]) -> str:
    """Return why the monitor keeps a member out of service, empty where it says it is viable.

    `check`: the last line of monitor.mysql_server_group_replication_log, by column.
    """
    if check.get("viable_candidate") != "NO":
        return ""
    return (
        "viable_candidate NO, as of a member that is not ONLINE in its group or has lost the"
        " majority"
    )


def transactions_behind(check: Mapping[str, str]) -> str:
    """Return how far the member was behind, in digits; empty where it was not."""
    text = check.get("transactions_behind", "")
    return text if text.isdecimal() and int(text) else ""
