"""Numbers that end ProxySQL as soon as RUNTIME is read or loaded: looked for in MEMORY before.

RUNTIME holds 32 bits of a number. One that is negative there breaks a CHECK of the table that has
to show it, and ProxySQL aborts. Nobody can ask RUNTIME whether it holds one; MEMORY tells, unless
its row was deleted after the LOAD. Source: ProxySQL 2.7.1, run.
"""

from __future__ import annotations

from collections.abc import Mapping

from proxyctl.admin.client import AdminClient
from proxyctl.catalog import ADMIN_MODULES, Table
from proxyctl.errors import InstanceError
from proxyctl.sql import literal, quoted_name

_SIGN = 1 << 31

_GROUPS = ("writer_hostgroup", "backup_writer_hostgroup", "reader_hostgroup", "offline_hostgroup")
LETHAL: Mapping[str, tuple[str, ...]] = {
    "mysql_servers": ("hostgroup_id", "max_connections"),
    "mysql_query_rules_fast_routing": ("destination_hostgroup",),
    "mysql_galera_hostgroups": (*_GROUPS, "max_writers", "max_transactions_behind"),
    "mysql_group_replication_hostgroups": (*_GROUPS, "max_writers", "max_transactions_behind"),
    "mysql_aws_aurora_hostgroups": ("writer_hostgroup", "reader_hostgroup"),
    "proxysql_servers": ("weight",),
}
"""Columns that have such a CHECK, by table."""


_WAYS_OUT = {
    "PROXYSQL SERVERS": "correct the row in MEMORY, SAVE {module} TO DISK and restart ProxySQL: a"
    " LOAD would end it too"
}
_WAY_OUT = "correct the row in MEMORY, then LOAD {module} TO RUNTIME"


def refuse_lethal_numbers(client: AdminClient, module: str) -> None:
    """Ask MEMORY of an admin module, before RUNTIME of one of its tables is asked for.

    ProxySQL fills several tables of a module when one of them is named.

    Raises: InstanceError that names a row.
    """
    tables = [
        table
        for table in ADMIN_MODULES[module].tables
        if table.name in LETHAL and table.exists_in(client.version)
    ]
    if not tables:
        return
    found = client.query(" UNION ALL ".join(map(_select, tables)) + " LIMIT 1")
    if found:
        name, key = found[0]
        raise InstanceError(
            f"{client.address}: {name} {key} has a number that ProxySQL takes for a negative one."
            " If it is at RUNTIME, ProxySQL ends as soon as that is read",
            hint=_WAYS_OUT.get(module, _WAY_OUT).format(module=module),
        )


def _select(table: Table) -> str:
    key = " || ':' || ".join(map(quoted_name, table.key))
    conditions = " OR ".join(f"{quoted_name(name)} & {_SIGN}" for name in LETHAL[table.name])
    return f"SELECT {literal(table.name)}, {key} FROM main.{table.name} WHERE {conditions}"
