"""One change that touches every admin module: the files before it, and the files after it."""

from __future__ import annotations

MODULES = (
    "MYSQL VARIABLES",
    "MYSQL SERVERS",
    "MYSQL QUERY RULES",
    "MYSQL FIREWALL",
    "MYSQL USERS",
    "SCHEDULER",
    "RESTAPI",
    "PROXYSQL SERVERS",
    "ADMIN VARIABLES",
)

BEFORE = """\
version: 1
variables:
  mysql-server_version: "8.0.36"
  mysql-max_connections: 3000
  mysql-threads: 3
  admin-cluster_mysql_query_rules_diffs_before_sync: 0
hostgroups:
  writer: {id: 10}
  reader: {id: 20, multiplex: false}
  archive: {id: 30}
mysql_servers:
  - {hostgroup_id: writer, hostname: db1, max_connections: 500}
  - {hostgroup_id: reader, hostname: db2, weight: 100}
  - {hostgroup_id: archive, hostname: db3}
mysql_users:
  - {username: app, password: {env: APP_PASSWORD}, default_hostgroup: writer}
  - {username: batch, password: {env: OTHER_PASSWORD}, default_hostgroup: archive}
mysql_query_rules:
  - {rule_id: 10, match_digest: '^SELECT.*FOR UPDATE', destination_hostgroup: writer, apply: true}
  - {rule_id: 20, match_digest: '^SELECT', destination_hostgroup: archive}
mysql_query_rules_fast_routing:
  - {username: app, schemaname: old, flagIN: 0, destination_hostgroup: 10, comment: ''}
mysql_firewall_whitelist_users:
  - {username: app, client_address: '', mode: DETECTING}
scheduler:
  - {id: 1, filename: /bin/true, interval_ms: 100000000, active: false}
restapi_routes:
  - {id: 1, timeout_ms: 1000, method: GET, uri: old, script: /bin/true, active: false}
proxysql_servers:
  - {hostname: 127.0.0.1, port: 1, comment: old}
"""

AFTER = """\
version: 1
variables:
  mysql-server_version: "8.4.0"
  mysql-max_connections: 4000
  mysql-threads: 5
  admin-cluster_mysql_query_rules_diffs_before_sync: 4
hostgroups:
  writer: {id: 10}
  reader: {id: 20, multiplex: true}
  archive: {id: 30}
mysql_servers:
  - {hostgroup_id: writer, hostname: db1, max_connections: 600}
  - {hostgroup_id: reader, hostname: db2, weight: 70}
  - {hostgroup_id: reader, hostname: db4, weight: 70}
mysql_users:
  - {username: app, password: {env: OTHER_PASSWORD}, default_hostgroup: writer}
  - {username: report, password: {env: OTHER_PASSWORD}, default_hostgroup: reader}
mysql_query_rules:
  - {rule_id: 10, match_digest: '^SELECT .*FOR UPDATE', destination_hostgroup: writer, apply: true}
  - {rule_id: 30, match_digest: '^SELECT', destination_hostgroup: reader}
mysql_query_rules_fast_routing:
  - {username: app, schemaname: new, flagIN: 0, destination_hostgroup: 20, comment: ''}
mysql_firewall_whitelist_users:
  - {username: app, client_address: '', mode: PROTECTING}
  - {username: report, client_address: '', mode: 'OFF'}
scheduler:
  - {id: 1, filename: /bin/false, interval_ms: 100000000, active: false}
  - {id: 2, filename: /bin/true, interval_ms: 100000000, active: false}
restapi_routes:
  - {id: 1, timeout_ms: 2000, method: GET, uri: new, script: /bin/true, active: false}
proxysql_servers:
  - {hostname: 127.0.0.1, port: 1, comment: new}
"""
