"""What is known about criteria that do not work, against the hits of rules on a real ProxySQL."""

from __future__ import annotations

import time

import pytest

from proxyctl.catalog import Value
from proxyctl.proxysql.configuration import ConfigTable, Configuration
from proxyctl.routing.criteria import Criteria, Effect
from proxyctl.routing.digest import digest
from proxyctl.routing.router import router_of
from tests.support.build import layout, row
from tests.support.routing.rig import Rig
from tests.support.routing.shapes import ADDRESSES, USERS, Case, Client, Sent

pytestmark = pytest.mark.real

RULES = "mysql_query_rules"
QUERIES = [b"SELECT 1", b"SELECT c FROM t1 WHERE id = 42 /* x */", b"START TRANSACTION READ ONLY"]
NUMBER = digest(QUERIES[0]).hexadecimal
APP = Client("app", "shop")


def criteria(rig: Rig) -> list[tuple[str, Value]]:
    """Columns with values that work, that never match, and that are dropped."""
    port = rig.ports[0]
    return [
        *(("username", name) for name in ("app", "App", "app%", "%", "app ", " app", "nobody")),
        *(("schemaname", name) for name in ("shop", "shop%", "%", "shop ", "`shop`")),
        *(
            ("client_addr", address)
            for address in (
                *("127.0.0.1", "127.0.0.%", "127.0.0.1%", "%", "localhost", "127.0.0.1 ", "*"),
                *("127.0.0.0/8", "127.0.0.1/32", "127.0.0.1,10.0.0.1", "127.0.0.01", "127.0.0"),
                *("_27.0.0.1", "::ffff:127.0.0.1", "FE80::1", "127.0.0.256", "%.1", "127.%.1"),
            )
        ),
        *(
            ("proxy_addr", address)
            for address in (ADDRESSES[0], "0.0.0.0", "%", f"{ADDRESSES[0]}:{port}", "localhost")
        ),
        *(("proxy_port", number) for number in (port, 0, 1)),
        *(
            ("digest", text)
            for text in (
                *(NUMBER, NUMBER.lower(), NUMBER[2:], NUMBER[:10], f"{NUMBER}0", f" {NUMBER}"),
                *("xyz", "%", "0x0", "-1", f"{NUMBER},0x1", str(int(NUMBER, 16))),
            )
        ),
        *(
            ("match_digest", pattern)
            for pattern in (
                *("^SELECT", r"id = \?", r"FROM t\d\b", "id *= *[0-9]+", r"\\bt1\\b", "\bt1\b"),
                *("^/* x */", r"/\* x \*/", "FROM  t1", "t1 $", "= '", r"^SELECT[\r\n]"),
                *("^START .* ONLY$", "^START .* TRANSACTION", "SELECT$ c"),
            )
        ),
        ("match_pattern", r"\\/\\*.*x.*\\*\\/"),
        ("match_pattern", r"/\*.*x.*\*/"),
    ]


def test_flaws_are_true(rig: Rig) -> None:
    values = criteria(rig)
    rules = [{"rule_id": number, name: value} for number, (name, value) in enumerate(values, 1)]
    rig.observe(Case(rules, [Sent(APP, query) for query in QUERIES]))
    interfaces = rig.server.instance.query("SELECT @@mysql-interfaces")[0][0]
    rows = [row(RULES, **rule) for rule in rules]
    users = [row("mysql_users", **user) for user in USERS]
    tables = {
        RULES: ConfigTable(
            layout(RULES), {(number,): cells for number, cells in enumerate(rows, 1)}
        ),
        "mysql_users": ConfigTable(
            layout("mysql_users"), {(n,): user for n, user in enumerate(users)}
        ),
    }
    held = Configuration(rig.version, tables, {"mysql-interfaces": str(interfaces)})
    router = router_of(held)
    by_id = {rule.rule_id: rule for rule in router.rules}
    known = Criteria(held, router)
    hits = all_hits(rig, len(QUERIES))
    wrong = {}
    for number, (name, value) in enumerate(values, 1):
        flaw = known.flaw({"re_modifiers": "CASELESS", name: value}, by_id.get(number), name)
        found = hits.get(number, 0)
        allowed = {
            None: range(1, 4),
            Effect.NEVER: range(1),
            Effect.HARDLY_EVER: range(1),
            Effect.EVERYTHING: range(3, 4),
            Effect.MISREAD: range(4),
            Effect.DOUBTFUL: range(4),
        }[flaw and flaw.effect]
        # A rule for the Unix socket is right, although this client is none.
        if found not in allowed and value != "localhost":
            wrong[name, value] = (flaw, found)
    assert wrong == {}


def all_hits(rig: Rig, most: int) -> dict[int, int]:
    """Return the hits of all rules, once ProxySQL has summed them."""
    deadline = time.monotonic() + 5
    while True:
        rows = rig.server.instance.query("SELECT rule_id, hits FROM stats_mysql_query_rules")
        hits = {int(rule or 0): int(number or 0) for rule, number in rows}
        if max(hits.values(), default=0) == most or time.monotonic() > deadline:
            return hits
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("fast_routing", "is_used"),
    [
        ({"username": "app", "schemaname": "shop"}, True),
        ({"username": "", "schemaname": "shop"}, True),
        ({"username": "app", "schemaname": ""}, False),
        ({"username": "app", "schemaname": "%"}, False),
        ({"username": "app", "schemaname": "shop "}, False),
        ({"username": "app", "schemaname": "`shop`"}, False),
        ({"username": "%", "schemaname": "shop"}, False),
        ({"username": "App", "schemaname": "shop"}, False),
    ],
)
@pytest.mark.parametrize("client", [APP, Client("app")])
def test_names_of_fast_routing_are_exact(
    rig: Rig, fast_routing: dict[str, Value], is_used: bool, client: Client
) -> None:
    route = {**fast_routing, "flagIN": 0, "destination_hostgroup": 4}
    keep_alive = {"rule_id": 1, "flagIN": 77}
    observed = rig.observe(Case([keep_alive], [Sent(client, b"SELECT 1")], fast_routing=[route]))
    is_in_schema = client.schemaname == "shop"
    assert (observed.seen[0].destination == 4) is (is_used and is_in_schema)
