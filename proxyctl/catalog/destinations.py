"""The tables that send traffic to a hostgroup, and those whose servers stand there."""

DESTINATIONS = {
    "mysql_query_rules": "destination_hostgroup",
    "mysql_query_rules_fast_routing": "destination_hostgroup",
    "mysql_users": "default_hostgroup",
    "pgsql_query_rules": "destination_hostgroup",
    "pgsql_query_rules_fast_routing": "destination_hostgroup",
    "pgsql_users": "default_hostgroup",
}
"""The tables that send traffic to a hostgroup, and the column of each that names it."""

SERVERS = ("mysql_servers", "pgsql_servers")
"""A hostgroup of one is none of the other, even with the same number."""


def servers_of(table: str) -> str:
    """Return the table of servers whose hostgroups a table names."""
    return f"{table.partition('_')[0]}_servers"


def destinations_of(servers: str) -> dict[str, str]:
    """Return those of DESTINATIONS that send traffic to the hostgroups of a table of servers."""
    return {name: column for name, column in DESTINATIONS.items() if servers_of(name) == servers}
