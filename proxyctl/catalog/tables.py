"""Every configuration table by name, and the admin modules that LOAD and SAVE them.

The columns stand in `mysql_tables`, `pgsql_tables` and `other_tables`.
"""

from __future__ import annotations

from proxyctl.catalog.model import AdminModule, Column, Table
from proxyctl.catalog.mysql_tables import MYSQL_TABLES
from proxyctl.catalog.other_tables import OTHER_TABLES
from proxyctl.catalog.pgsql_tables import PGSQL_TABLES
from proxyctl.catalog.releases import OLDEST

_VARIABLE_COLUMNS = (
    Column("variable_name", "VARCHAR", notnull=True),
    Column("variable_value", "VARCHAR", notnull=True),
)

VARIABLE_TABLES: tuple[Table, ...] = tuple(
    Table(
        f"{prefix}_variables",
        admin_module=f"{prefix.upper()} VARIABLES",
        key=("variable_name",),
        columns=_VARIABLE_COLUMNS,
        since=since,
        prefix=f"{prefix}-",
    )
    for prefix, since in (("mysql", str(OLDEST)), ("pgsql", "3.0.0"), ("admin", str(OLDEST)))
)
"""global_variables, split by prefix as LOAD and SAVE split it."""

TABLES: dict[str, Table] = {
    table.name: table for table in (*MYSQL_TABLES, *PGSQL_TABLES, *OTHER_TABLES, *VARIABLE_TABLES)
}

NOT_MANAGED: dict[str, str] = {
    "coredump_filters": "it is never saved",
    "mysql_ldap_mapping": "it belongs to the LDAP plugin",
    "pgsql_ldap_mapping": "it belongs to the LDAP plugin",
    "clickhouse_users": "it belongs to the ClickHouse build",
    "global_variables": "write `variables:`, a mapping of names to values",
}
"""Tables that no file manages, and why not."""

_LOAD_ORDER = (
    "MYSQL VARIABLES",
    "PGSQL VARIABLES",
    "MYSQL SERVERS",
    "PGSQL SERVERS",
    "MYSQL QUERY RULES",
    "PGSQL QUERY RULES",
    "MYSQL FIREWALL",
    "PGSQL FIREWALL",
    "MYSQL USERS",
    "PGSQL USERS",
    "SCHEDULER",
    "RESTAPI",
    "PROXYSQL SERVERS",
    "ADMIN VARIABLES",
)

ADMIN_MODULES: dict[str, AdminModule] = {
    name: AdminModule(name, tuple(t for t in TABLES.values() if t.admin_module == name))
    for name in _LOAD_ORDER
}
