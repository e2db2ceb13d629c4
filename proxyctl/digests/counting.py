"""Whether ProxySQL counts digests, and for whom: variables of mysql-query_digests say it."""

from __future__ import annotations

from collections.abc import Mapping

SWITCH = "mysql-query_digests"
TRACKS_CLIENTS = "mysql-query_digests_track_hostname"
NOT_COUNTING = f"{SWITCH} is false: ProxySQL counts no digests"


def is_counting(variables: Mapping[str, str]) -> bool:
    """Return whether digests are counted: they are unless it is said otherwise."""
    return _is_true(variables.get(SWITCH, "true"))


def tracks_clients(variables: Mapping[str, str]) -> bool:
    """Return whether digests are counted by client, which they are not by default."""
    return _is_true(variables.get(TRACKS_CLIENTS, "false"))


def _is_true(value: str) -> bool:
    return value.lower() in ("true", "1")
