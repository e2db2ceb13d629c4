"""Routing without a server: which rules a query hits, what it becomes, where it goes.

A `Router` holds the rules of one instance, compiled once. `evaluate` answers fast; `explain` says
also why each rule did or did not match; `outcomes` follows every way that chance can take.

    router = Router(layout, rows, digest_of=Digester(options).digest, users=frontends(...))
    router.evaluate(Request(b"SELECT 1", username="app")).destination_hostgroup

The order of everything is that of ProxySQL 2.7 and 3.0 and proven on the real ones: rules by
rule_id along flagIN and flagOUT, fast routing, hints in the first comment, the user's default
hostgroup. What a release does otherwise hangs on `RoutingVariables.version`.
"""

from __future__ import annotations

from proxyctl.routing.route import (
    Digested,
    DigestOf,
    Explanation,
    FastRoutingUse,
    Loop,
    Outcome,
    Reason,
    Request,
    Route,
    Source,
    Step,
)
from proxyctl.routing.router import Router
from proxyctl.routing.special import Special, Stage
from proxyctl.routing.tables import FastRouting, Frontend, RoutingVariables, frontends

__all__ = [
    "DigestOf",
    "Digested",
    "Explanation",
    "FastRouting",
    "FastRoutingUse",
    "Frontend",
    "Loop",
    "Outcome",
    "Reason",
    "Request",
    "Route",
    "Router",
    "RoutingVariables",
    "Source",
    "Special",
    "Stage",
    "Step",
    "frontends",
]
