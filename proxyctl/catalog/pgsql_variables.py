"""The variables of the PostgreSQL side: most are those of the MySQL side of ProxySQL 3.0.

Source: a fresh ProxySQL 3.0.0-alpha, run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from proxyctl.catalog.pgsql_tables import SINCE
from proxyctl.catalog.variable_model import INT, TEXT, Variable

_WITHOUT = frozenset(
    {
        "connpoll_reset_queue_length",
        "default_authentication_plugin",
        "evaluate_replication_lag_on_servers_load",
        "proxy_protocol_networks",
        "reset_connection_algorithm",
    }
)
_MONITOR = frozenset(
    {
        "monitor_connect_interval",
        "monitor_connect_timeout",
        "monitor_enabled",
        "monitor_history",
        "monitor_password",
        "monitor_ping_interval",
        "monitor_ping_max_failures",
        "monitor_ping_timeout",
        "monitor_username",
    }
)
"""All that it has of the monitor's."""

_NO_LIMITS: Mapping[str, Any] = {"minimum": None, "maximum": None}
_CHANGES: Mapping[str, Mapping[str, Any]] = {
    "binlog_reader_connect_retry_msec": _NO_LIMITS,
    "data_packets_history_size": _NO_LIMITS,
    "eventslog_format": _NO_LIMITS,
    "handle_unknown_charset": {"maximum": None},
    "interfaces": {"default": "0.0.0.0:6133"},
    "query_cache_size_MB": _NO_LIMITS,
    "server_version": {"default": "16.1"},
    "wait_timeout": _NO_LIMITS,
}
_OWN = (
    Variable("pgsql-authentication_method", INT, "3", minimum=1, maximum=3, since=SINCE),
    Variable("pgsql-default_client_encoding", TEXT, "UTF8", since=SINCE),
    Variable("pgsql-monitor_threads", INT, "2", minimum=2, maximum=256, since=SINCE),
)


def pgsql_variables(others: Iterable[Variable]) -> list[Variable]:
    """Return the variables, sorted by name. `others`: the variables of the other sides."""
    found = [*_OWN]
    for variable in others:
        side, _, name = variable.name.partition("-")
        is_shared = name in _MONITOR or not name.startswith("monitor_")
        if side == "mysql" and variable.until is None and is_shared and name not in _WITHOUT:
            changes = _CHANGES.get(name, {})
            found.append(replace(variable, name=f"pgsql-{name}", since=SINCE, **changes))
    return sorted(found, key=lambda variable: variable.name)
