"""The names and the SQL in which the MySQL side and the PostgreSQL side of ProxySQL differ.

Both sides share the query processor: rules, flags, fast routing, patterns and hints. Source:
ProxySQL 3.0.3, run.
"""

from __future__ import annotations

from dataclasses import dataclass

from proxyctl.proxysql.topology import FAMILY_TABLES, PGSQL_FAMILY_TABLES
from proxyctl.routing.probes import MYSQL_SAMPLES, PGSQL_SAMPLES, Samples


@dataclass(frozen=True, eq=False)
class Dialect:
    """One side of a configuration: MYSQL or PGSQL."""

    protocol: str
    """The first word of its tables and variables."""
    schema: str
    """The word of messages for a schema."""
    schema_column: str
    """The column with the name of a schema."""
    family_tables: tuple[str, ...]
    quote: bytes
    """The quote around a name in SQL."""
    connect_error: str
    """The error for a query that waited in vain for a connection."""
    samples: Samples

    def table(self, name: str) -> str:
        """Return the full name of a table: `mysql_users` for `users`."""
        return f"{self.protocol}_{name}"

    def variable(self, name: str) -> str:
        """Return the full name of a variable: `mysql-interfaces` for `interfaces`."""
        return f"{self.protocol}-{name}"

    @property
    def rules(self) -> str:
        """The table of query rules."""
        return self.table("query_rules")

    @property
    def fast_routing(self) -> str:
        """The table of fast routing."""
        return self.table("query_rules_fast_routing")

    @property
    def users(self) -> str:
        """The table of users."""
        return self.table("users")

    @property
    def servers(self) -> str:
        """The table of servers."""
        return self.table("servers")

    @property
    def variables(self) -> str:
        """The table of variables."""
        return self.table("variables")

    @property
    def firewall_tables(self) -> tuple[str, str]:
        """The tables of the firewall whitelist: users and rules."""
        return self.table("firewall_whitelist_users"), self.table("firewall_whitelist_rules")

    @property
    def routing_tables(self) -> tuple[str, ...]:
        """The tables of an instance that a router needs."""
        return self.rules, self.fast_routing, self.users, self.variables

    @property
    def serving_tables(self) -> tuple[str, ...]:
        """The tables that decide where a query goes, and which servers answer there."""
        return *self.routing_tables, self.servers, *self.family_tables

    @property
    def explained_tables(self) -> tuple[str, ...]:
        """The tables that the answers of `explain` depend on."""
        return *self.serving_tables, *self.firewall_tables


MYSQL = Dialect(
    protocol="mysql",
    schema="schema",
    schema_column="schemaname",
    family_tables=FAMILY_TABLES,
    quote=b"`",
    connect_error="error 9001",
    samples=MYSQL_SAMPLES,
)
PGSQL = Dialect(
    protocol="pgsql",
    schema="database",
    schema_column="database",
    family_tables=PGSQL_FAMILY_TABLES,
    quote=b'"',
    connect_error="SQLSTATE 08001",
    samples=PGSQL_SAMPLES,
)
