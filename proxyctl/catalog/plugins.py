"""The objects that plugins of ProxySQL 4.0 own in the ordinary tables, as data.

A plugin writes servers, users, rules and interfaces itself, and lists them in a ledger. Source:
include/ProxySQL_PluginConfig.h, lib/ProxySQL_PluginConfig.cpp and plugins/mysql_router of August
2026, read and not run: no release package has plugins yet.
"""

from __future__ import annotations

from enum import StrEnum

from proxyctl.catalog.model import Layout, Role, Table
from proxyctl.catalog.releases import NEWEST_KNOWN, Version, known_version, parse_version


class PluginObject(StrEnum):
    """What a plugin owns, as the ledger names it."""

    HOSTGROUP = "hostgroup"
    """A hostgroup, with its servers, its family and its attributes."""
    USER = "mysql_user"
    """A user, by name."""
    RULE = "mysql_query_rule"
    """A rule, by rule_id."""
    INTERFACE = "mysql_interface"
    """An entry of mysql-interfaces."""


LEDGER = "proxysql_plugin_owned_objects"
"""The table of the ledger. It is in main and on DISK, and has no runtime table."""

LEDGER_TABLES = {
    LEDGER: (
        "owner TEXT NOT NULL, object_type TEXT NOT NULL CHECK (object_type IN"
        " ('hostgroup','mysql_user','mysql_query_rule','mysql_interface')),"
        " object_key TEXT NOT NULL, generation INTEGER NOT NULL,"
        " PRIMARY KEY (owner, object_type, object_key)"
    ),
    "proxysql_plugin_config_generations": (
        "owner TEXT NOT NULL PRIMARY KEY, generation INTEGER NOT NULL"
    ),
}
"""The columns of the tables in which plugins keep what they own."""

RESERVED = {PluginObject.RULE: range(900_000, 901_000), PluginObject.HOSTGROUP: range(8_000, 9_000)}
"""The numbers that plugins take: mysql_router, the only known one, takes the first free ones."""


def has_plugins(version: Version) -> bool:
    """Return whether a release may have plugins that own rows: 4.0."""
    return version[:2] == (4, 0)


def simulated_version(text: str) -> Version:
    """Return the version of a sandbox: a known one, or the 4.0.N with the source of a known 3.0.N.

    Raises: ValueError for any other.
    """
    version = parse_version(text)
    if has_plugins(version) and version.stable <= NEWEST_KNOWN and text == str(version):
        return version
    return known_version(text)


def object_type(table: Table) -> PluginObject | None:
    """Return through what plugins own rows of a table; None if they own none there."""
    if table.admin_module == "MYSQL SERVERS":
        is_of_hostgroup = any(c.name == table.key[0] and c.hostgroup for c in table.columns)
        return PluginObject.HOSTGROUP if is_of_hostgroup else None
    if not table.name.startswith("mysql_"):
        return None
    by_role = {Role.USERS: PluginObject.USER, Role.RULES: PluginObject.RULE}
    return None if table.role is None else by_role.get(table.role)


def object_columns(layout: Layout) -> tuple[str, ...]:
    """Return the columns with which a row names what plugins own: all hostgroups of a family."""
    kind = object_type(layout.table)
    if kind is PluginObject.HOSTGROUP:
        return tuple(column.name for column in layout.columns if column.hostgroup)
    return layout.table.key[:1] if kind else ()
