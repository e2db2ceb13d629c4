"""A router of a few rules and three users: one has a schema, one bypasses the rules."""

from __future__ import annotations

from proxyctl.routing.digest import Digester
from proxyctl.routing.router import Router
from proxyctl.routing.tables import FastRouting, Frontend
from tests.support.build import layout, row

RULES = "mysql_query_rules"
FAST = "mysql_query_rules_fast_routing"
USERS = {"app": Frontend(1), "web": Frontend(2, "shop"), "dump": Frontend(3, fast_forward=True)}
DIGEST_OF = Digester().digest


def router(*rules, **given):
    numbered = [{"rule_id": number, **cells} for number, cells in enumerate(rules, 1)]
    given = {"digest_of": DIGEST_OF, "users": USERS, **given}
    return Router(layout(RULES), [row(RULES, **cells) for cells in numbered], **given)


def fast(*rows):
    names = ("username", "schemaname", "flagIN", "destination_hostgroup")
    return FastRouting(
        layout(FAST), [row(FAST, **dict(zip(names, values, strict=True))) for values in rows]
    )


def reasons(explanation):
    return [step.reason for step in explanation.steps]
