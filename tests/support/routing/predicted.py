"""The evaluator's answers for a routing case, in the shape of a real ProxySQL's."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

from proxyctl.catalog import REFERENCE, Version
from proxyctl.routing.digest import Digest, Digester, DigestOptions
from proxyctl.routing.query import ClientQuery
from proxyctl.routing.result import Explanation, HostgroupOrigin, Route
from proxyctl.routing.router import Router
from proxyctl.routing.special import Stage
from proxyctl.routing.tables import FastRouting, RoutingVariables, frontends
from tests.support.build import layout, row
from tests.support.routing.shapes import (
    ADDRESSES,
    FAST,
    HOSTGROUPS,
    RULES,
    SETTINGS,
    UNCERTAIN,
    USERS,
    VARIABLES,
    Case,
    Client,
    Digested,
    Observed,
    Seen,
)


def router_of(case: Case, version: Version = REFERENCE) -> Router:
    """Return the evaluator for a case."""
    values = VARIABLES | case.variables
    users = [row("mysql_users", **user) for user in USERS]
    return Router(
        layout(RULES),
        [row(RULES, **cells) for cells in case.rules],
        digest_of=Digester(DigestOptions.from_variables(values, version)).digest,
        variables=RoutingVariables.from_values(values, version),
        fast_routing=FastRouting(layout(FAST), [row(FAST, **cells) for cells in case.fast_routing]),
        users=frontends(layout("mysql_users"), users),
    )


def predict(case: Case, ports: list[int], version: Version = REFERENCE) -> Observed:
    """Return the evaluator's answers for a case."""
    router = router_of(case, version)
    flags: dict[Client, int] = {}
    schemas: dict[Client, str] = {}
    seen: list[Seen] = []
    hits: Counter[int] = Counter()
    digests: Counter[Digested] = Counter()
    for client, query in case.queries:
        request = ClientQuery(
            query,
            client.username,
            schemas.get(client, client.schemaname or ""),
            client.client_addr,
            ADDRESSES[client.interface],
            ports[client.interface],
            flags.get(client, 0),
        )
        route = router.evaluate(request)
        explained = router.explain(request)
        assert replace(explained.route, undecided=route.undecided) == route
        if route.next_flag is not None:
            flags[client] = route.next_flag
        if found := re.search(rb"USE (\w+)$", query):
            schemas[client] = found[1].decode()
        hits.update(route.matched_rules)
        if route.loop is not None:
            hits.update(route.loop.rule_ids * route.loop.turns)
        seen.append(_seen(explained, query))
        if route.final_digest is not None:
            digests[_digested(client, schemas.get(client, client.schemaname), route)] += 1
    return Observed(seen, dict(hits), digests)


def _digested(client: Client, schemaname: str | None, route: Route) -> Digested:
    user = next(user for user in USERS if user["username"] == client.username)
    schemaname = schemaname or str(user.get("default_schema") or "information_schema")
    hostgroup = user["default_hostgroup"]
    if not route.is_answered:
        hostgroup = route.destination_hostgroup
    final = route.final_digest
    assert isinstance(final, Digest)
    number = final.hexadecimal if final.certain else UNCERTAIN
    return Digested(int(str(hostgroup)), schemaname, client.username, number)


def _seen(explained: Explanation, query: bytes) -> Seen:
    route = explained.route
    special = route.special
    if special is not None and special.stage is Stage.BEFORE_RULES:
        return Seen(None, None, "OWN", None, ())
    settings = tuple(
        (name, int(route.settings[name])) for name in SETTINGS if name in route.settings
    )
    chosen = (
        route.destination_hostgroup
        if route.source is not HostgroupOrigin.DEFAULT_HOSTGROUP
        else None
    )
    if special is not None and special.goes_home:
        # The session shows the hostgroups of rules and hints, although it did not follow them.
        destinations = [step.sets.get("destination_hostgroup") for step in explained.steps]
        destinations.append(explained.hints.get("destination_hostgroup"))
        chosen = next(
            (int(destination) for destination in reversed(destinations) if destination is not None),
            None,
        )
    answer = _answer(route)
    if answer is not None:
        return Seen(None, None, answer, chosen, settings)
    hostgroup = route.destination_hostgroup
    if hostgroup not in HOSTGROUPS:
        lost = f"ERR Max connect timeout reached while reaching hostgroup {hostgroup}"
        return Seen(None, None, lost, chosen, settings)
    text = query if route.rewritten_query is None else route.rewritten_query
    return Seen(hostgroup, text, None, chosen, settings)


def _answer(route: Route) -> str | None:
    special, settings = route.special, route.settings
    if special is not None and special.stage is Stage.BEFORE_MESSAGES:
        return "OWN"
    if "OK_msg" in settings:
        return f"OK {settings['OK_msg']}" if settings["OK_msg"] else "OWN"
    if "error_msg" in settings:
        return f"ERR {settings['error_msg']}"
    return "OWN" if route.is_answered else None
