"""Route queries without a server: the rules that a query hits, its final text, its destination.

A `Router` holds the rules of one instance, compiled once. `evaluate` answers fast; `explain` adds
why each rule did or did not match; `outcomes` returns every route that weighted flagOUTs allow.

    router = Router(layout, rows, digest_of=Digester(options).digest, users=frontends(...))
    router.evaluate(Request(b"SELECT 1", username="app")).destination_hostgroup

The evaluation follows ProxySQL 2.7 and 3.0, and is tested against both: rules by rule_id along
flagIN and flagOUT, fast routing, hints in the first comment, the user's default hostgroup.
`RoutingVariables.version` selects the behaviour of other releases.
"""

from __future__ import annotations

from proxyctl.routing.result import (
    ClientQuery,
    Digested,
    DigestOf,
    Explanation,
    FastRoutingUse,
    HostgroupOrigin,
    Loop,
    PossibleRoute,
    Reason,
    Route,
    Step,
)
from proxyctl.routing.router import Router
from proxyctl.routing.special import Special, Stage
from proxyctl.routing.tables import FastRouting, Frontend, RoutingVariables, frontends

__all__ = [
    "ClientQuery",
    "DigestOf",
    "Digested",
    "Explanation",
    "FastRouting",
    "FastRoutingUse",
    "Frontend",
    "HostgroupOrigin",
    "Loop",
    "PossibleRoute",
    "Reason",
    "Route",
    "Router",
    "RoutingVariables",
    "Special",
    "Stage",
    "Step",
    "frontends",
]
