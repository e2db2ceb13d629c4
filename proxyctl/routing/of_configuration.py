"""The router of a configuration, and which part of a configuration it depends on."""

from __future__ import annotations

from proxyctl.catalog import TABLES, layout_of
from proxyctl.errors import ProxyctlError
from proxyctl.routing.digest import Digester, DigestOptions
from proxyctl.routing.patterns import Patterns
from proxyctl.routing.router import Router
from proxyctl.routing.tables import FastRouting, frontends
from proxyctl.routing.variables import RoutingVariables
from proxyctl.state.configuration import Configuration

_RULES, _FAST, _USERS = "mysql_query_rules", "mysql_query_rules_fast_routing", "mysql_users"
ROUTING_TABLES = (_RULES, _FAST, _USERS, "mysql_variables")
"""What to read of an instance for a router."""


def digester_of(configuration: Configuration) -> Digester:
    """Return what makes digests under the variables in force.

    Raises: ProxyctlError for variables that ProxySQL refuses, or under which it ends.
    """
    try:
        return Digester(DigestOptions.from_variables(configuration.all_variables()))
    except ValueError as error:
        raise ProxyctlError(str(error)) from error


def router_of(configuration: Configuration, *, patterns: Patterns | None = None) -> Router:
    """Return the router that ProxySQL would be with this configuration loaded.

    `patterns`: those of another router, to be shared. Raises: as `digester_of`.
    """
    variables = configuration.all_variables()
    rules = configuration.tables.get(_RULES)
    fast = configuration.tables.get(_FAST)
    users = configuration.tables.get(_USERS)
    layout = rules.layout if rules else layout_of(TABLES[_RULES], configuration.version)
    return Router(
        layout,
        configuration.rows(_RULES),
        digest_of=digester_of(configuration).digest,
        variables=RoutingVariables.from_values(variables),
        fast_routing=FastRouting(fast.layout, fast.rows.values()) if fast else None,
        users=frontends(users.layout, users.rows.values()) if users else None,
        patterns=patterns,
    )
