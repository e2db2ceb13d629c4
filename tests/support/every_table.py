"""Files that use every table of a ProxySQL version, with the columns that it has."""

from __future__ import annotations

from proxyctl.catalog import TABLES, Table, Version, layout_of, parse_version

_HEAD = """\
version: 1
variables:
  mysql-server_version: "8.0.36"
  mysql-max_connections: 4096
  admin-refresh_interval: 2500
hostgroups:
  writer: {id: 10}
  reader: {id: 20}
"""

_ROWS: dict[str, tuple[str, ...]] = {
    "mysql_servers": (
        "hostgroup_id: writer, hostname: db1, max_connections: 500",
        "hostgroup_id: reader, hostname: db2, weight: 100",
        "hostgroup_id: 60, hostname: db3, port: 3307, use_ssl: true",
    ),
    "mysql_replication_hostgroups": (
        "writer_hostgroup: writer, reader_hostgroup: reader, check_type: super_read_only",
    ),
    "mysql_group_replication_hostgroups": (
        "writer_hostgroup: 30, backup_writer_hostgroup: 31, reader_hostgroup: 32,"
        " offline_hostgroup: 33, max_writers: 2",
    ),
    "mysql_galera_hostgroups": (
        "writer_hostgroup: 40, backup_writer_hostgroup: 41, reader_hostgroup: 42,"
        " offline_hostgroup: 43, writer_is_also_reader: 2",
    ),
    "mysql_aws_aurora_hostgroups": (
        "writer_hostgroup: 50, reader_hostgroup: 51, domain_name: .example.com,"
        " endpoint_address: aurora.example.com, add_lag_ms: 40",
    ),
    "mysql_aws_rds_bgd_hostgroups": (
        "writer_hostgroup: 54, reader_hostgroup: 55, green_writer_hostgroup: 56,"
        " green_reader_hostgroup: 57",
    ),
    "mysql_hostgroup_attributes": (
        "hostgroup_id: reader, multiplex: false, servers_defaults: {weight: 7},"
        " hostgroup_settings: {handle_warnings: 1}",
    ),
    "mysql_servers_ssl_params": ("hostname: db3, port: 3307, ssl_ca: /etc/ca.pem",),
    "mysql_users": (
        "username: app, password: {env: APP_PASSWORD}, default_hostgroup: writer,"
        " attributes: {colour: red}",
        "username: batch, password: {env: OTHER_PASSWORD}, active: false",
    ),
    "mysql_query_rules": (
        "rule_id: 10, match_digest: '^SELECT.*FOR UPDATE', destination_hostgroup: writer,"
        " apply: true",
        "rule_id: 20, match_digest: '^SELECT', destination_hostgroup: reader, attributes: {a: 1}",
    ),
    "mysql_query_rules_fast_routing": (
        "username: app, schemaname: shop, destination_hostgroup: 60, comment: ''",
    ),
    "mysql_firewall_whitelist_users": (
        "username: app, client_address: '', mode: DETECTING, comment: ''",
    ),
    "mysql_firewall_whitelist_rules": (
        "username: app, client_address: '', schemaname: shop, digest: '0x1', comment: ''",
    ),
    "mysql_firewall_whitelist_sqli_fingerprints": ("fingerprint: s&1o1",),
    "scheduler": ("id: 1, interval_ms: 60000, filename: /bin/true, active: false",),
    "restapi_routes": (
        "id: 1, active: false, timeout_ms: 1000, interval_ms: 1000, method: GET, uri: u,"
        " script: /bin/true",
    ),
    "proxysql_servers": (),
    "pgsql_servers": ("hostgroup_id: 70, hostname: pg1",),
    "pgsql_replication_hostgroups": ("writer_hostgroup: 70, reader_hostgroup: 71",),
    "pgsql_hostgroup_attributes": ("hostgroup_id: 71, multiplex: false",),
    "pgsql_servers_ssl_params": ("hostname: pg1, username: app, ssl_ca: /etc/ca.pem",),
    "pgsql_users": ("username: app, password: {env: APP_PASSWORD}, default_hostgroup: 70",),
    "pgsql_query_rules": ("rule_id: 10, match_digest: '^SELECT', destination_hostgroup: 71",),
    "pgsql_query_rules_fast_routing": (
        "username: app, database: shop, destination_hostgroup: 70, comment: ''",
    ),
    "pgsql_firewall_whitelist_users": (
        "username: app, client_address: '', mode: DETECTING, comment: ''",
    ),
    "pgsql_firewall_whitelist_rules": (
        "username: app, client_address: '', database: shop, digest: '0x1', comment: ''",
    ),
    "pgsql_firewall_whitelist_sqli_fingerprints": ("fingerprint: s&1o1",),
}
"""The rows of every table, with the columns of all versions."""


def tables_of(version: Version) -> list[Table]:
    """Return the tables of a version that files have a section for."""
    return [t for t in TABLES.values() if t.prefix is None and t.exists_in(version)]


def whole_files(version: Version) -> str:
    """Return files with rows for every table of a version, in the columns that it has."""
    parts = [_HEAD]
    for table in tables_of(version):
        rows = [f"  - {{{_fitting(row, table, version)}}}\n" for row in _ROWS[table.name]]
        parts += [f"{table.name}:\n", *rows] if rows else [f"{table.name}: []\n"]
    return "".join(parts)


def _fitting(row: str, table: Table, version: Version) -> str:
    """Return a row without the columns that this version lacks."""
    names = layout_of(table, version).index
    cells = row.split(", ")
    return ", ".join(cell for cell in cells if cell.split(":")[0] in names)


def changing_versions() -> list[Version]:
    """Return the versions whose tables, columns or checks differ from the version before."""
    found = {
        parse_version(since)
        for table in TABLES.values()
        for since in (table.since, *(column.since for column in table.columns))
    }
    return sorted(found)
