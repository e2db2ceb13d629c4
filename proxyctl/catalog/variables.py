"""Every variable of global_variables, as data: kind, default, range, versions.

Variables that are not listed are text without a range: a newer ProxySQL may have more of them.
"""

from __future__ import annotations

from collections.abc import Mapping

from proxyctl.catalog.pgsql_variables import pgsql_variables
from proxyctl.catalog.secret_names import names_a_secret
from proxyctl.catalog.variable_model import BOOL, INT, TEXT, Variable, VariableKind

__all__ = [
    "CHOICES",
    "MEMBERS_OWN",
    "NEVER_EMPTY",
    "READ_ONLY",
    "READ_ONLY_SWITCH",
    "RESTART_ONLY",
    "RESTART_TO_TAKE_EFFECT",
    "STEPS",
    "VARIABLES",
    "Variable",
    "VariableKind",
    "is_secret_variable",
]

RESTART_ONLY = frozenset(
    {"mysql-threads", "mysql-interfaces", "pgsql-threads", "pgsql-interfaces"}
)
"""A LOAD puts these back to the running value, in MEMORY too: only DISK can be changed."""

RESTART_TO_TAKE_EFFECT = RESTART_ONLY | {"mysql-stacksize", "pgsql-stacksize"}
"""These work only after ProxySQL was restarted."""

MEMBERS_OWN = frozenset(
    {
        "admin-mysql_ifaces",
        "admin-restapi_port",
        "admin-telnet_admin_ifaces",
        "admin-telnet_stats_ifaces",
        "admin-web_port",
        "mysql-interfaces",
        "mysql-threads",
    }
)
"""Variables that each member of a cluster has for itself. Source: ProxySQL 2.7.1, lib/ProxySQL_Admin.cpp."""

READ_ONLY = frozenset({"admin-version"})
"""Never compared and never written."""

READ_ONLY_SWITCH = "admin-read_only"
"""While it is true at RUNTIME, the admin interface refuses every SQL that writes."""


NEVER_EMPTY = frozenset(
    {
        "admin-admin_credentials",
        "admin-cluster_password",
        "admin-cluster_username",
        "admin-mysql_ifaces",
        "admin-stats_credentials",
        "admin-telnet_admin_ifaces",
        "admin-telnet_stats_ifaces",
        "mysql-default_authentication_plugin",
        "mysql-default_charset",
        "mysql-default_collation_connection",
        "mysql-default_schema",
        "mysql-default_tx_isolation",
        "mysql-default_session_track_gtids",
        "mysql-keep_multiplexing_variables",
        "mysql-monitor_username",
        "mysql-server_version",
    }
)
"""Text variables that never become empty: most keep their old value. Source: ProxySQL 2.7.1, run."""

CHOICES: Mapping[str, tuple[str, ...]] = {
    "mysql-default_authentication_plugin": ("mysql_native_password", "caching_sha2_password"),
    "mysql-default_session_track_gtids": ("OFF", "OWN_GTID"),
}
"""Text variables that take only one of these, as RUNTIME shows it."""

_STEPS = (0, 1, 5, 10, 30, 60, 120, 300, 600)
STEPS: Mapping[str, tuple[int, ...]] = {
    "admin-stats_mysql_connection_pool": _STEPS[:-1],
    "admin-stats_mysql_connections": _STEPS[:-1],
    "admin-stats_mysql_query_cache": _STEPS[:-1],
    "admin-stats_system_cpu": _STEPS,
    "admin-stats_system_memory": _STEPS,
}
"""Integer variables that are rounded up to one of these. Source: ProxySQL 2.7.1, run."""


_LISTED = (
    Variable("admin-admin_credentials", TEXT, "admin:admin", secret=True),
    Variable("admin-checksum_admin_variables", BOOL, "true", since="2.0.18"),
    Variable("admin-checksum_ldap_variables", BOOL, "true", since="2.2.0"),
    Variable("admin-checksum_mysql_query_rules", BOOL, "true"),
    Variable("admin-checksum_mysql_servers", BOOL, "true"),
    Variable("admin-checksum_mysql_users", BOOL, "true"),
    Variable("admin-checksum_mysql_variables", BOOL, "true", since="2.0.18"),
    Variable("admin-cluster_admin_variables_diffs_before_sync", INT, "3", minimum=0, maximum=1000, since="2.0.18"),
    Variable("admin-cluster_admin_variables_save_to_disk", BOOL, "true", since="2.0.18"),
    Variable("admin-cluster_check_interval_ms", INT, "1000", minimum=10, maximum=300000),
    Variable("admin-cluster_check_status_frequency", INT, "10", minimum=0, maximum=10000),
    Variable("admin-cluster_ldap_variables_diffs_before_sync", INT, "3", minimum=0, maximum=1000, since="2.2.0"),
    Variable("admin-cluster_ldap_variables_save_to_disk", BOOL, "true", since="2.2.0"),
    Variable("admin-cluster_mysql_query_rules_diffs_before_sync", INT, "3", minimum=0, maximum=1000),
    Variable("admin-cluster_mysql_query_rules_save_to_disk", BOOL, "true"),
    Variable("admin-cluster_mysql_servers_diffs_before_sync", INT, "3", minimum=0, maximum=1000),
    Variable("admin-cluster_mysql_servers_save_to_disk", BOOL, "true"),
    Variable("admin-cluster_mysql_servers_sync_algorithm", INT, "1", minimum=1, maximum=3, since="2.6.0"),
    Variable("admin-cluster_mysql_users_diffs_before_sync", INT, "3", minimum=0, maximum=1000),
    Variable("admin-cluster_mysql_users_save_to_disk", BOOL, "true"),
    Variable("admin-cluster_mysql_variables_diffs_before_sync", INT, "3", minimum=0, maximum=1000, since="2.0.18"),
    Variable("admin-cluster_mysql_variables_save_to_disk", BOOL, "true", since="2.0.18"),
    Variable("admin-cluster_password", TEXT, "", secret=True),
    Variable("admin-cluster_proxysql_servers_diffs_before_sync", INT, "3", minimum=0, maximum=1000),
    Variable("admin-cluster_proxysql_servers_save_to_disk", BOOL, "true"),
    Variable("admin-cluster_username", TEXT, ""),
    Variable("admin-coredump_generation_interval_ms", INT, "30000", minimum=0, maximum=2147483646, since="2.5.3"),
    Variable("admin-coredump_generation_threshold", INT, "10", minimum=1, maximum=500, since="2.5.3"),
    Variable("admin-hash_passwords", BOOL, None, until="2.5.5"),
    Variable("admin-mysql_ifaces", TEXT, "0.0.0.0:6032"),
    Variable("admin-pgsql_ifaces", TEXT, None, since="3.0.0-alpha"),
    Variable("admin-prometheus_memory_metrics_interval", INT, "61", minimum=1, maximum=604799, since="2.0.18"),
    Variable("admin-read_only", BOOL, "false"),
    Variable("admin-refresh_interval", INT, "2000", minimum=101, maximum=99999),
    Variable("admin-restapi_enabled", BOOL, "false", since="2.0.9"),
    Variable("admin-restapi_port", INT, "6070", minimum=1, maximum=65534, since="2.0.9"),
    Variable("admin-ssl_keylog_file", TEXT, "", since="2.5.3"),
    Variable("admin-stats_credentials", TEXT, "stats:stats", secret=True),
    Variable("admin-stats_mysql_connection_pool", INT, "60", minimum=0, maximum=300),
    Variable("admin-stats_mysql_connections", INT, "60", minimum=0, maximum=300),
    Variable("admin-stats_mysql_query_cache", INT, "60", minimum=0, maximum=300),
    Variable("admin-stats_mysql_query_digest_to_disk", INT, "0", minimum=0, maximum=86400, since="2.0.9"),
    Variable("admin-stats_system_cpu", INT, "60", minimum=0, maximum=600),
    Variable("admin-stats_system_memory", INT, "60", minimum=0, maximum=600),
    Variable("admin-telnet_admin_ifaces", TEXT, ""),
    Variable("admin-telnet_stats_ifaces", TEXT, ""),
    Variable("admin-vacuum_stats", BOOL, "true"),
    Variable("admin-version", TEXT, None),
    Variable("admin-web_enabled", BOOL, "false"),
    Variable("admin-web_port", INT, "6080", minimum=1, maximum=65534),
    Variable("admin-web_verbosity", INT, "0", minimum=0, maximum=10, since="2.0.18"),
    Variable("mysql-add_ldap_user_comment", TEXT, ""),
    Variable("mysql-auditlog_filename", TEXT, "", since="2.0.5"),
    Variable("mysql-auditlog_filesize", INT, "104857600", minimum=1048576, maximum=1073741824, since="2.0.5"),
    Variable("mysql-aurora_max_lag_ms_only_read_from_replicas", INT, "2", minimum=0, maximum=100, since="2.0.8"),
    Variable("mysql-auto_increment_delay_multiplex", INT, "5", minimum=0, maximum=1000000),
    Variable("mysql-auto_increment_delay_multiplex_timeout_ms", INT, "10000", minimum=0, maximum=3600000, since="2.4.0"),
    Variable("mysql-autocommit_false_is_transaction", BOOL, "false"),
    Variable("mysql-autocommit_false_not_reusable", BOOL, "false"),
    Variable("mysql-automatic_detect_sqli", BOOL, "false", since="2.0.9"),
    Variable("mysql-binlog_reader_connect_retry_msec", INT, "3000", minimum=200, maximum=120000),
    Variable("mysql-client_found_rows", BOOL, None, until="2.3.2"),
    Variable("mysql-client_host_cache_size", INT, "0", minimum=0, maximum=1048576, since="2.3.0"),
    Variable("mysql-client_host_error_counts", INT, "0", minimum=0, maximum=1048576, since="2.3.0"),
    Variable("mysql-client_multi_statements", BOOL, None, until="2.3.2"),
    Variable("mysql-client_session_track_gtid", BOOL, "true", since="2.0.6"),
    Variable("mysql-commands_stats", BOOL, "true"),
    Variable("mysql-connect_retries_delay", INT, "1", minimum=0, maximum=10000),
    Variable("mysql-connect_retries_on_failure", INT, "10", minimum=0, maximum=1000),
    Variable("mysql-connect_timeout_client", INT, "10000", minimum=500, maximum=3600000, since="2.0.14"),
    Variable("mysql-connect_timeout_server", INT, "1000", minimum=10, maximum=120000),
    Variable("mysql-connect_timeout_server_max", INT, "10000", minimum=10, maximum=3600000),
    Variable("mysql-connection_delay_multiplex_ms", INT, "0", minimum=0, maximum=300000),
    Variable("mysql-connection_max_age_ms", INT, "0", minimum=0, maximum=86400000),
    Variable("mysql-connection_warming", BOOL, "false", since="2.0.11"),
    Variable("mysql-connpoll_reset_queue_length", INT, "50", minimum=0, maximum=10000),
    Variable("mysql-data_packets_history_size", INT, "0", minimum=0, maximum=2147483646, since="2.5.3"),
    Variable("mysql-default_authentication_plugin", TEXT, "mysql_native_password", since="2.6.0"),
    Variable("mysql-default_character_set_results", TEXT, None, since="2.0.7", until="2.0.10"),
    Variable("mysql-default_charset", TEXT, "utf8"),
    Variable("mysql-default_collation_connection", TEXT, "utf8_general_ci", since="2.0.7"),
    Variable("mysql-default_isolation_level", TEXT, None, since="2.0.7", until="2.0.10"),
    Variable("mysql-default_max_join_size", TEXT, None, since="2.0.7", until="2.0.10"),
    Variable("mysql-default_max_latency_ms", INT, "1000", minimum=0, maximum=1728000000),
    Variable("mysql-default_net_write_timeout", TEXT, None, since="2.0.7", until="2.0.10"),
    Variable("mysql-default_query_delay", INT, "0", minimum=0, maximum=3600000),
    Variable("mysql-default_query_timeout", INT, "86400000", minimum=1000, maximum=1728000000),
    Variable("mysql-default_reconnect", BOOL, "true"),
    Variable("mysql-default_schema", TEXT, "information_schema"),
    Variable("mysql-default_session_track_gtids", TEXT, "OFF", since="2.0.7"),
    Variable("mysql-default_sql_auto_is_null", TEXT, None, since="2.0.7", until="2.0.10"),
    Variable("mysql-default_sql_mode", TEXT, None, until="2.0.10"),
    Variable("mysql-default_sql_safe_updates", TEXT, None, since="2.0.7", until="2.0.10"),
    Variable("mysql-default_sql_select_limit", TEXT, None, since="2.0.7", until="2.0.10"),
    Variable("mysql-default_time_zone", TEXT, None, until="2.0.10"),
    Variable("mysql-default_transaction_read", TEXT, None, since="2.0.7", until="2.0.10"),
    Variable("mysql-default_tx_isolation", TEXT, None, since="2.0.7", until="2.5.5"),
    Variable("mysql-enable_client_deprecate_eof", BOOL, "true", since="2.0.18"),
    Variable("mysql-enable_load_data_local_infile", BOOL, "false", since="2.3.0"),
    Variable("mysql-enable_server_deprecate_eof", BOOL, "true", since="2.0.18"),
    Variable("mysql-enforce_autocommit_on_reads", BOOL, "false"),
    Variable("mysql-evaluate_replication_lag_on_servers_load", INT, "1", minimum=0, maximum=1, since="2.6.0"),
    Variable("mysql-eventslog_default_log", INT, "0", minimum=0, maximum=1, since="2.0.6"),
    Variable("mysql-eventslog_filename", TEXT, ""),
    Variable("mysql-eventslog_filesize", INT, "104857600", minimum=1048576, maximum=1073741824),
    Variable("mysql-eventslog_format", INT, "1", minimum=1, maximum=2, since="2.0.6"),
    Variable("mysql-firewall_whitelist_enabled", BOOL, "false", since="2.0.9"),
    Variable("mysql-firewall_whitelist_errormsg", TEXT, "Firewall blocked this query", since="2.0.9"),
    Variable("mysql-forward_autocommit", BOOL, None, until="2.1.0"),
    Variable("mysql-free_connections_pct", INT, "10", minimum=0, maximum=100),
    Variable("mysql-handle_unknown_charset", INT, "1", minimum=0, maximum=3, since="2.0.8"),
    Variable("mysql-handle_warnings", INT, "1", minimum=0, maximum=1, since="2.6.0"),
    Variable("mysql-have_compress", BOOL, "true"),
    Variable("mysql-have_ssl", BOOL, "true"),
    Variable("mysql-hostgroup_manager_verbose", INT, "1", minimum=0, maximum=3),
    Variable("mysql-init_connect", TEXT, ""),
    Variable("mysql-interfaces", TEXT, "0.0.0.0:6033"),
    Variable("mysql-keep_multiplexing_variables", TEXT, "tx_isolation,transaction_isolation,version", since="2.0.4"),
    Variable("mysql-kill_backend_connection_when_disconnect", BOOL, "true"),
    Variable("mysql-ldap_user_variable", TEXT, "", since="2.0.2"),
    Variable("mysql-log_mysql_warnings_enabled", BOOL, "false", since="2.0.18"),
    Variable("mysql-log_unhealthy_connections", BOOL, "true", since="2.0.8"),
    Variable("mysql-long_query_time", INT, "1000", minimum=0, maximum=1728000000),
    Variable("mysql-max_allowed_packet", INT, "67108864", minimum=8192, maximum=1073741824),
    Variable("mysql-max_connections", INT, "10000", minimum=1, maximum=1000000),
    Variable("mysql-max_stmts_cache", INT, "10000", minimum=128, maximum=1048576),
    Variable("mysql-max_stmts_per_connection", INT, "20", minimum=1, maximum=1024),
    Variable("mysql-max_transaction_idle_time", INT, "14400000", minimum=1000, maximum=1728000000, since="2.0.15"),
    Variable("mysql-max_transaction_time", INT, "14400000", minimum=1000, maximum=1728000000),
    Variable("mysql-min_num_servers_lantency_awareness", INT, "1000", minimum=0, maximum=10000, since="2.0.4"),
    Variable("mysql-mirror_max_concurrency", INT, "16", minimum=1, maximum=8192),
    Variable("mysql-mirror_max_queue_length", INT, "32000", minimum=0, maximum=1048576),
    Variable("mysql-monitor_aws_rds_topology_discovery_interval", INT, "0", minimum=0, maximum=100000, since="2.6.2"),
    Variable("mysql-monitor_connect_interval", INT, "120000", minimum=100, maximum=604800000),
    Variable("mysql-monitor_connect_timeout", INT, "600", minimum=100, maximum=600000),
    Variable("mysql-monitor_enabled", BOOL, "true"),
    Variable("mysql-monitor_galera_healthcheck_interval", INT, "5000", minimum=50, maximum=604800000),
    Variable("mysql-monitor_galera_healthcheck_max_timeout_count", INT, "3", minimum=1, maximum=10, since="2.0.4"),
    Variable("mysql-monitor_galera_healthcheck_timeout", INT, "800", minimum=50, maximum=600000),
    Variable("mysql-monitor_groupreplication_healthcheck_interval", INT, "5000", minimum=100, maximum=604800000),
    Variable("mysql-monitor_groupreplication_healthcheck_max_timeout_count", INT, "3", minimum=1, maximum=10, since="2.0.7"),
    Variable("mysql-monitor_groupreplication_healthcheck_timeout", INT, "800", minimum=100, maximum=600000),
    Variable("mysql-monitor_groupreplication_max_transactions_behind_count", INT, "3", minimum=1, maximum=10, since="2.0.9"),
    Variable("mysql-monitor_groupreplication_max_transactions_behind_for_read_only", INT, "1", minimum=0, maximum=2, since="2.3.0"),
    Variable("mysql-monitor_history", INT, "7200000", minimum=1000, maximum=604800000),
    Variable("mysql-monitor_local_dns_cache_refresh_interval", INT, "60000", minimum=0, maximum=604800000, since="2.4.5"),
    Variable("mysql-monitor_local_dns_cache_ttl", INT, "300000", minimum=0, maximum=604800000, since="2.4.5"),
    Variable("mysql-monitor_local_dns_resolver_queue_maxsize", INT, "128", minimum=16, maximum=1024, since="2.4.5"),
    Variable("mysql-monitor_password", TEXT, "monitor", secret=True),
    Variable("mysql-monitor_ping_interval", INT, "8000", minimum=100, maximum=604800000),
    Variable("mysql-monitor_ping_max_failures", INT, "3", minimum=1, maximum=1000000),
    Variable("mysql-monitor_ping_timeout", INT, "1000", minimum=100, maximum=600000),
    Variable("mysql-monitor_query_interval", INT, "60000", minimum=100, maximum=604800000),
    Variable("mysql-monitor_query_timeout", INT, "100", minimum=100, maximum=600000),
    Variable("mysql-monitor_read_only_interval", INT, "1000", minimum=100, maximum=604800000),
    Variable("mysql-monitor_read_only_max_timeout_count", INT, "3", minimum=1, maximum=1000000),
    Variable("mysql-monitor_read_only_timeout", INT, "800", minimum=100, maximum=600000),
    Variable("mysql-monitor_replication_lag_count", INT, "1", minimum=1, maximum=10, since="2.0.14"),
    Variable("mysql-monitor_replication_lag_group_by_host", BOOL, "false", since="2.4.0"),
    Variable("mysql-monitor_replication_lag_interval", INT, "10000", minimum=100, maximum=604800000),
    Variable("mysql-monitor_replication_lag_timeout", INT, "1000", minimum=100, maximum=600000),
    Variable("mysql-monitor_replication_lag_use_percona_heartbeat", TEXT, ""),
    Variable("mysql-monitor_slave_lag_when_null", INT, "60", minimum=0, maximum=604800),
    Variable("mysql-monitor_threads_max", INT, "128", minimum=4, maximum=1024),
    Variable("mysql-monitor_threads_min", INT, "8", minimum=2, maximum=256),
    Variable("mysql-monitor_threads_queue_maxsize", INT, "128", minimum=16, maximum=1024),
    Variable("mysql-monitor_username", TEXT, "monitor"),
    Variable("mysql-monitor_wait_timeout", BOOL, "true"),
    Variable("mysql-monitor_writer_is_also_reader", BOOL, "true"),
    Variable("mysql-multiplexing", BOOL, "true"),
    Variable("mysql-parse_failure_logs_digest", BOOL, "false", since="2.4.5"),
    Variable("mysql-ping_interval_server_msec", INT, "10000", minimum=1000, maximum=604800000),
    Variable("mysql-ping_timeout_server", INT, "200", minimum=10, maximum=600000),
    Variable("mysql-poll_timeout", INT, "2000", minimum=10, maximum=20000),
    Variable("mysql-poll_timeout_on_failure", INT, "100", minimum=10, maximum=20000),
    Variable("mysql-proxy_protocol_networks", TEXT, "", since="2.6.6"),
    Variable("mysql-query_cache_handle_warnings", INT, "0", minimum=0, maximum=1, since="2.6.0"),
    Variable("mysql-query_cache_size_MB", INT, "256", minimum=0, maximum=10485760),
    Variable("mysql-query_cache_soft_ttl_pct", INT, "0", minimum=0, maximum=100, since="2.5.0"),
    Variable("mysql-query_cache_stores_empty_result", BOOL, "true"),
    Variable("mysql-query_digests", BOOL, "true"),
    Variable("mysql-query_digests_grouping_limit", INT, "3", minimum=1, maximum=2089, since="2.0.18"),
    Variable("mysql-query_digests_groups_grouping_limit", INT, "10", minimum=0, maximum=2089, since="2.4.0"),
    Variable("mysql-query_digests_keep_comment", BOOL, "false", since="2.4.0"),
    Variable("mysql-query_digests_lowercase", BOOL, "false"),
    Variable("mysql-query_digests_max_digest_length", INT, "2048", minimum=16, maximum=1048576),
    Variable("mysql-query_digests_max_query_length", INT, "65000", minimum=16, maximum=1048576),
    Variable("mysql-query_digests_no_digits", BOOL, "false", since="2.0.7"),
    Variable("mysql-query_digests_normalize_digest_text", BOOL, "false"),
    Variable("mysql-query_digests_replace_null", BOOL, "false", since="2.0.6"),
    Variable("mysql-query_digests_track_hostname", BOOL, "false"),
    Variable("mysql-query_processor_iterations", INT, "0", minimum=0, maximum=1000000),
    Variable("mysql-query_processor_regex", INT, "1", minimum=1, maximum=2),
    Variable("mysql-query_retries_on_failure", INT, "1", minimum=0, maximum=1000),
    Variable("mysql-query_rules_fast_routing_algorithm", INT, "1", minimum=1, maximum=2, since="2.5.2"),
    Variable("mysql-reset_connection_algorithm", INT, "2", minimum=1, maximum=2),
    Variable("mysql-server_capabilities", INT, "569867", minimum=11),
    Variable("mysql-server_version", TEXT, "8.0.11"),
    Variable("mysql-servers_stats", BOOL, "true"),
    Variable("mysql-session_idle_ms", INT, "1", minimum=1, maximum=3600000),
    Variable("mysql-session_idle_show_processlist", BOOL, "true"),
    Variable("mysql-sessions_sort", BOOL, "true"),
    Variable("mysql-set_parser_algorithm", INT, "2", minimum=1, maximum=2, since="2.5.4"),
    Variable("mysql-set_query_lock_on_hostgroup", INT, "1", minimum=0, maximum=1, since="2.0.6"),
    Variable("mysql-show_processlist_extended", INT, "0", minimum=0, maximum=2, since="2.0.4"),
    Variable("mysql-shun_on_failures", INT, "5", minimum=0, maximum=10000000),
    Variable("mysql-shun_recovery_time_sec", INT, "10", minimum=0, maximum=31536000),
    Variable("mysql-ssl_p2s_ca", TEXT, ""),
    Variable("mysql-ssl_p2s_capath", TEXT, "", since="2.3.0"),
    Variable("mysql-ssl_p2s_cert", TEXT, ""),
    Variable("mysql-ssl_p2s_cipher", TEXT, ""),
    Variable("mysql-ssl_p2s_crl", TEXT, "", since="2.3.0"),
    Variable("mysql-ssl_p2s_crlpath", TEXT, "", since="2.3.0"),
    Variable("mysql-ssl_p2s_key", TEXT, ""),
    Variable("mysql-stacksize", INT, "1048576", minimum=262144, maximum=4194304),
    Variable("mysql-stats_time_backend_query", BOOL, "false"),
    Variable("mysql-stats_time_query_processor", BOOL, "false"),
    Variable("mysql-tcp_keepalive_time", INT, "120", minimum=0, maximum=7200, since="2.0.7"),
    Variable("mysql-threads", INT, "4", minimum=1, maximum=255),
    Variable("mysql-threshold_query_length", INT, "524288", minimum=1024, maximum=1073741824),
    Variable("mysql-threshold_resultset_size", INT, "4194304", minimum=1024, maximum=1073741824),
    Variable("mysql-throttle_connections_per_sec_to_hostgroup", INT, "1000000", minimum=1, maximum=100000000),
    Variable("mysql-throttle_max_bytes_per_second_to_client", INT, "0", minimum=0, maximum=2147483647),
    Variable("mysql-throttle_ratio_server_to_client", INT, "0", minimum=0, maximum=100),
    Variable("mysql-unshun_algorithm", INT, "0", minimum=0, maximum=1, since="2.4.0"),
    Variable("mysql-use_tcp_keepalive", BOOL, "true", since="2.0.7"),
    Variable("mysql-verbose_query_error", BOOL, "false"),
    Variable("mysql-wait_timeout", INT, "28800000", minimum=0, maximum=1728000000),
)

VARIABLES: dict[str, Variable] = {
    variable.name: variable for variable in (*_LISTED, *pgsql_variables(_LISTED))
}


def is_secret_variable(name: str) -> bool:
    """Return whether the value must never be shown, also for a variable that is not listed."""
    known = VARIABLES.get(name)
    if known is not None:
        return known.secret
    return names_a_secret(name)
