"""A plugin of ProxySQL 4.0, played in a sandbox: its rows in the ordinary tables, and the ledger.

Source: what mysql_router writes, as its source of August 2026 says.
"""

from __future__ import annotations

from tests.support.servers.instances import Instance

PLUGIN = "mysql_router"
HOSTGROUPS = range(8000, 8008)
RULES = range(900_000, 900_005)
INTERFACE = "0.0.0.0:6446"
ROWS = 12
"""The rows that `publish` writes: a family, three servers, attributes, two users, five rules."""

_ROWS = (
    "INSERT INTO mysql_group_replication_hostgroups (writer_hostgroup, backup_writer_hostgroup,"
    " reader_hostgroup, offline_hostgroup, active, comment)"
    " VALUES (8000, 8001, 8002, 8003, 1, 'mysql_router:c1')",
    "INSERT INTO mysql_servers (hostgroup_id, hostname, comment) VALUES"
    " (8000, 'gr1', 'mysql_router:c1'), (8002, 'gr2', 'mysql_router:c1'),"
    " (8002, 'gr3', 'mysql_router:c1')",
    "INSERT INTO mysql_hostgroup_attributes (hostgroup_id, comment)"
    " VALUES (8000, 'mysql_router:c1')",
    "INSERT INTO mysql_users (username, password, default_hostgroup, comment) VALUES"
    " ('router_rw', 's3cret-of-app', 8000, 'mysql_router:c1'),"
    " ('router_ro', 's3cret-of-app', 8002, 'mysql_router:c1')",
    *(
        "INSERT INTO mysql_query_rules (rule_id, active, proxy_port, destination_hostgroup, apply,"
        f" attributes, comment) VALUES ({rule_id}, 1, {6446 + number}, {8000 + number}, 1,"
        " '{\"switch_to_fast_forward\":true}', 'mysql_router:c1')"
        for number, rule_id in enumerate(RULES)
    ),
)


def own(instance: Instance, kind: str, *keys: object, plugin: str = PLUGIN) -> None:
    """Enter objects of one type into the ledger, in main and on DISK."""
    for schema in ("main", "disk"):
        for key in keys:
            instance.execute(
                f"INSERT INTO {schema}.proxysql_plugin_owned_objects"
                f" VALUES ('{plugin}', '{kind}', '{key}', 1)"
            )


def publish(instance: Instance) -> None:
    """Write what a plugin owns into all three layers, and enter it into the ledger."""
    instance.execute(*_ROWS)
    instance.load("MYSQL SERVERS", "MYSQL USERS", "MYSQL QUERY RULES", saves=True)
    own(instance, "hostgroup", *HOSTGROUPS)
    own(instance, "mysql_user", "router_rw", "router_ro")
    own(instance, "mysql_query_rule", *RULES)
    own(instance, "mysql_interface", INTERFACE)
