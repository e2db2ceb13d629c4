"""How ProxySQL reads each section of a proxysql.cnf: the facts that reader and writer share.

Every entry becomes one INSERT OR REPLACE. ProxySQL pastes text into it between quotes, and for most
columns does not double a quote inside: the entry is then lost silently.
Source: ProxySQL 2.7.1, run with each section; lib/ProxySQL_Config.cpp of it and of 3.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from proxyctl.catalog import Column, Value, Version
from proxyctl.catalog.releases import CNF_HAS_HOSTGROUP_ATTRIBUTES, OLDEST


@dataclass(frozen=True)
class CnfSection:
    """One section."""

    name: str
    """The name of the section in the file."""
    mandatory: tuple[str, ...]
    """The columns without which an entry is skipped."""
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The names in the file for a column that has several, the preferred first."""
    unread: frozenset[str] = frozenset()
    """The columns that ProxySQL never reads from the file."""
    defaults: Mapping[str, Value] = field(default_factory=dict)
    """The values of columns whose default differs from the table's."""
    doubled: frozenset[str] = frozenset({"comment"})
    """The columns in which ProxySQL doubles quotes itself."""
    quote: str = "'"
    """The quote around pasted text."""
    single: frozenset[str] = frozenset()
    """The columns that have a single quote instead."""
    since: Version = OLDEST
    """The first release that reads the section."""

    @property
    def table(self) -> str:
        """The name of the table."""
        return "restapi_routes" if self.name == "restapi" else self.name

    def keys_of(self, column: str) -> tuple[str, ...]:
        """Return the keys that may hold a column in the file."""
        return self.keys.get(column, (column,))

    def default_of(self, column: Column) -> Value:
        """Return the value of a column that the file does not set."""
        return self.defaults.get(column.name, column.default)

    def quote_of(self, column: str) -> str | None:
        """Return the quote that this column cannot hold; None if it can hold any text."""
        if column in self.doubled:
            return None
        return "'" if column in self.single else self.quote


_FAMILY = ("writer_hostgroup", "backup_writer_hostgroup", "reader_hostgroup", "offline_hostgroup")

_ADDRESS = ("address", "hostname")

_SECTIONS = (
    CnfSection(
        "mysql_servers",
        ("hostgroup_id", "hostname"),
        keys={"hostgroup_id": ("hostgroup", "hostgroup_id"), "hostname": _ADDRESS},
        quote='"',
    ),
    CnfSection("mysql_servers_ssl_params", ("hostname",)),
    CnfSection("pgsql_servers_ssl_params", ("hostname",)),
    CnfSection("mysql_replication_hostgroups", ("writer_hostgroup", "reader_hostgroup")),
    *(
        CnfSection(name, _FAMILY, unread=frozenset({"active"}), defaults={"comment": ""})
        for name in ("mysql_group_replication_hostgroups", "mysql_galera_hostgroups")
    ),
    CnfSection(
        "mysql_aws_aurora_hostgroups",
        ("writer_hostgroup", "reader_hostgroup"),
        unread=frozenset({"active"}),
        defaults={"comment": "", "domain_name": "", "check_timeout_ms": 1000},
        doubled=frozenset({"comment", "domain_name"}),
    ),
    CnfSection(
        "mysql_hostgroup_attributes",
        ("hostgroup_id",),
        doubled=frozenset(
            (
                *("init_connect", "ignore_session_variables", "hostgroup_settings"),
                *("servers_defaults", "comment"),
            )
        ),
        since=CNF_HAS_HOSTGROUP_ATTRIBUTES,
    ),
    CnfSection(
        "mysql_users",
        ("username",),
        unread=frozenset({"backend", "frontend"}),
        defaults={"password": "", "default_schema": ""},
    ),
    CnfSection(
        "mysql_query_rules",
        ("rule_id",),
        defaults={"active": 1},
        doubled=frozenset(),
        quote='"',
        single=frozenset({"attributes", "comment"}),
    ),
    CnfSection("scheduler", ("id", "filename"), defaults={"interval_ms": 0}, doubled=frozenset()),
    CnfSection(
        "restapi",
        ("id", "method", "uri", "script"),
        keys={"timeout_ms": ("interval_ms", "timeout_ms")},
        defaults={"timeout_ms": 0},
        doubled=frozenset(),
    ),
    CnfSection("proxysql_servers", ("hostname", "port"), keys={"hostname": _ADDRESS}, quote='"'),
)

_OF_PGSQL = ("mysql_servers", "mysql_replication_hostgroups", "mysql_users", "mysql_query_rules")

SECTIONS: dict[str, CnfSection] = {
    **{section.name: section for section in _SECTIONS},
    # Since 3.0: ProxySQL reads each section like its MySQL twin.
    **{
        (name := section.name.replace("mysql_", "pgsql_")): replace(section, name=name)
        for section in _SECTIONS
        if section.name in _OF_PGSQL
    },
}
"""By the section's name, in the order of a written file."""

SECTION_OF_TABLE = {section.table: section for section in SECTIONS.values()}

VARIABLE_SECTIONS = {
    "admin_variables": "admin-",
    "mysql_variables": "mysql-",
    "pgsql_variables": "pgsql-",
}

STARTUP_KEYS = frozenset(
    {
        "cluster_sync_interfaces",
        "datadir",
        "errorlog",
        "execute_on_exit_failure",
        "ldap_auth_plugin",
        "pidfile",
        "restart_on_missing_heartbeats",
        "sqlite3_plugin",
        "uuid",
        "web_interface_plugin",
    }
)
"""Top-level keys that ProxySQL reads at every start: no table holds them, so they stay there."""

SINGLE_CHECK_TYPES = frozenset({"read_only", "innodb_read_only", "super_read_only"})

WORDS = {
    "status": (frozenset({"online", "shunned", "offline_soft", "offline_hard"}), "ONLINE"),
    "check_type": (SINGLE_CHECK_TYPES, "read_only"),
}
"""By column, the words in lower case that ProxySQL takes, and the value of any other word, such as
a combined check type."""
