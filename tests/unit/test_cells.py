"""What ProxySQL makes of one cell."""

import pytest

from proxyctl.catalog import TABLES
from proxyctl.state.cells import as_read
from tests.support.build import layout


@pytest.mark.parametrize(
    ("table", "column", "value", "read"),
    [
        ("mysql_servers", "weight", "500", 500),
        ("mysql_servers", "weight", " 5x", 5),
        ("mysql_servers", "weight", 1.5, 1),
        ("mysql_servers", "max_connections", "abc", 0),
        ("mysql_servers", "max_connections", 3_000_000_000, -1_294_967_296),
        ("mysql_servers", "max_latency_ms", 10_000_000, 1_410_065),
        ("mysql_servers", "max_latency_ms", 4_294_967, 4_294_967),
        ("mysql_servers", "comment", "5x", "5x"),
        ("mysql_users", "max_connections", 3_000_000_000, 0),
        ("mysql_query_rules", "destination_hostgroup", -5, None),
        ("mysql_query_rules", "destination_hostgroup", None, None),
        ("mysql_query_rules", "timeout", 4_294_967_295, None),
        ("mysql_query_rules", "rule_id", -5, -5),
        ("mysql_query_rules", "digest", "12", "0x000000000000000C"),
        ("mysql_query_rules", "re_modifiers", None, ""),
        ("mysql_firewall_whitelist_rules", "digest", "12", "12"),
        ("mysql_replication_hostgroups", "reader_hostgroup", 3_000_000_000, 3_000_000_000),
        ("mysql_users", "default_schema", None, ""),
        ("mysql_query_rules", "schemaname", None, None),
    ],
)
def test_a_cell_is_read_as_proxysql_reads_it(table, column, value, read):
    assert as_read(TABLES[table], layout(table).column(column), value) == read
