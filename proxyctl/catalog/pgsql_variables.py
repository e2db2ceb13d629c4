"""The variables of the PostgreSQL side: most are copies of the MySQL side of ProxySQL 3.0.

Source: a fresh ProxySQL 3.0.0-alpha and 3.0.3, run; later releases: lib/PgSQL_Thread.cpp.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from proxyctl.catalog.model import BOOL, INT, TEXT, Variable
from proxyctl.catalog.releases import PGSQL, parse_version

ENCODINGS = (
    "BIG5", "EUC_CN", "EUC_JIS_2004", "EUC_JP", "EUC_KR", "EUC_TW", "GB18030", "GBK", "ISO88591",
    "ISO_8859_5", "ISO_8859_6", "ISO_8859_7", "ISO_8859_8", "JOHAB", "KOI8", "KOI8R", "KOI8U",
    "LATIN1", "LATIN2", "LATIN3", "LATIN4", "LATIN5", "LATIN6", "LATIN7", "LATIN8", "LATIN9",
    "LATIN10", "MULE_INTERNAL", "SHIFT_JIS_2004", "SJIS", "SQL_ASCII", "UHC", "UNICODE", "UTF8",
    "WIN866", "WIN874", "WIN1250", "WIN1251", "WIN1252", "WIN1253", "WIN1254", "WIN1255",
    "WIN1256", "WIN1257", "WIN1258",
)  # fmt: skip
"""Names of encodings that ProxySQL accepts. Source: ProxySQL 3.0.3, run."""

DATE_STYLES = tuple(
    f"{style}, {order}"
    for style in ("ISO", "SQL", "Postgres", "German")
    for order in ("MDY", "DMY", "YMD")
)
"""The complete values of pgsql-default_datestyle; ProxySQL completes a partial value."""

_WITHOUT = frozenset(
    {
        "connpoll_reset_queue_length",
        "default_authentication_plugin",
        "evaluate_replication_lag_on_servers_load",
        "proxy_protocol_networks",
        "reset_connection_algorithm",
        # From 3.0.1 on:
        "aws_blue_green_deployment_auto_discovery",
        "eventslog_stmt_parameters",
        "fast_forward_grace_close_ms",
        "ignore_min_gtid_annotations",
        "protocol_compression_level",
        "resolution_family",
        "select_version_forwarding",
        "session_track_variables",
        "update_gtid_from_ok",
        "user_variable_tracking",
        "zstd_compression_level",
    }
)
_OF_MONITOR = (
    (PGSQL, "connect_interval connect_timeout enabled history password username"),
    (PGSQL, "ping_interval ping_max_failures ping_timeout"),
    ("3.0.1", "read_only_interval read_only_max_timeout_count read_only_timeout"),
    ("3.0.1", "writer_is_also_reader"),
    ("3.0.6", "local_dns_cache_refresh_interval local_dns_cache_ttl"),
    ("3.0.6", "local_dns_resolver_queue_maxsize"),
    ("3.0.6", "replication_lag_count replication_lag_interval replication_lag_timeout"),
)
_MONITOR = {f"monitor_{name}": since for since, names in _OF_MONITOR for name in names.split()}
"""The monitor variables that the PostgreSQL side shares, and the first release with each."""

_ALPHA_ONLY: Mapping[str, Any] = {"until": "3.0.0"}
_LATE: Mapping[str, Any] = {"since": "3.0.6"}
_CHANGES: Mapping[str, Mapping[str, Any]] = {
    "default_charset": _ALPHA_ONLY,
    "default_collation_connection": _ALPHA_ONLY,
    "eventslog_buffer_history_size": _LATE,
    "eventslog_buffer_max_query_length": _LATE,
    "eventslog_table_memory_size": _LATE,
    "interfaces": {"default": "0.0.0.0:6133"},
    "server_capabilities": _ALPHA_ONLY,
    "server_version": {"default": "16.1"},
}
_OWN = (
    Variable("pgsql-authentication_method", INT, "3", minimum=1, maximum=3, since=PGSQL),
    Variable("pgsql-default_client_encoding", TEXT, "UTF8", since=PGSQL),
    Variable("pgsql-default_datestyle", TEXT, "ISO, MDY", since="3.0.1"),
    Variable("pgsql-default_intervalstyle", TEXT, "postgres", since="3.0.1"),
    Variable("pgsql-default_search_path", TEXT, "", since="3.0.6"),
    Variable("pgsql-default_standard_conforming_strings", TEXT, "on", since="3.0.1"),
    Variable("pgsql-default_timezone", TEXT, "GMT", since="3.0.1"),
    Variable("pgsql-monitor_connect_interval_window", INT, "50", 0, 100, "3.0.1"),
    Variable("pgsql-monitor_dbname", TEXT, "postgres", since="3.0.1"),
    Variable("pgsql-monitor_ping_interval_window", INT, "10", 0, 100, "3.0.1"),
    Variable("pgsql-monitor_read_only_interval_window", INT, "10", 0, 100, "3.0.1"),
    Variable("pgsql-monitor_replication_lag_interval_window", INT, "10", 0, 100, "3.0.6"),
    Variable("pgsql-monitor_threads", INT, "2", minimum=2, maximum=256, since=PGSQL),
    Variable("pgsql-preserve_client_on_broken_backend_in_tx", BOOL, "true", since="3.0.6"),
    Variable("pgsql-server_encoding", TEXT, "UTF8", since="3.0.1"),
)


def pgsql_variables(listed: Iterable[Variable]) -> list[Variable]:
    """Return the variables, sorted by name. `listed`: the variables of the other sides."""
    variables = [*_OWN]
    for variable in listed:
        side, _, name = variable.name.partition("-")
        is_shared = name in _MONITOR or not name.startswith(("monitor_", "passthrough_"))
        if side == "mysql" and variable.until is None and is_shared and name not in _WITHOUT:
            since = max(_MONITOR.get(name, PGSQL), variable.since, key=parse_version)
            changes = {"name": f"pgsql-{name}", "since": since, **_CHANGES.get(name, {})}
            variables.append(replace(variable, **changes))
    return sorted(variables, key=lambda variable: variable.name)
