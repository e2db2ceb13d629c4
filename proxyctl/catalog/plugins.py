"""The objects that plugins of ProxySQL 4.0 own in the ordinary tables, as data.

A plugin writes servers, users, rules and interfaces itself, and lists them in a ledger. Source:
include/ProxySQL_PluginConfig.h, lib/ProxySQL_PluginConfig.cpp and plugins/mysql_router of August
2026, read and not run: no release package has plugins yet.
"""

from __future__ import annotations

from proxyctl.catalog.releases import NEWEST_KNOWN, Version, known_version, parse_version

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
