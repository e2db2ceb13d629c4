"""The tables that send traffic to a hostgroup, and the column of each that names it."""

DESTINATIONS = {
    "mysql_query_rules": "destination_hostgroup",
    "mysql_query_rules_fast_routing": "destination_hostgroup",
    "mysql_users": "default_hostgroup",
}
