"""Whether nearly every query of a sample gets an answer from ProxySQL itself.

What `answers_for_all` cannot prove: many rules that block everything together, patterns whose
meaning is out of reach, rules for each user. The sample is fixed and small, so that ten thousand
rules are no matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import cycle
from typing import NamedTuple

from proxyctl.catalog import Layout
from proxyctl.configuration import Configuration, Held
from proxyctl.lint.answers_for_all import ANSWERS, listed, rows_that_answer
from proxyctl.lint.subject import RULES, USERS
from proxyctl.routing import Request, Route, Router, RoutingVariables, frontends
from proxyctl.routing.of_configuration import router_of
from proxyctl.routing.rule import Rule
from proxyctl.state import Rows

READS = (
    "SELECT c FROM t WHERE id=1",
    "SELECT * FROM orders WHERE customer_id=42 AND state='open' ORDER BY created_at DESC LIMIT 20",
    "select count(*) from `Customers`",
    "SELECT o.id, c.name FROM shop.orders o JOIN shop.customers c ON c.id=o.customer_id",
    "/* page 7 */ SELECT price FROM products WHERE sku IN ('a','b','c')",
    "SELECT c\nFROM t\nWHERE id=1\nFOR UPDATE",
    "WITH a AS (SELECT id FROM users) SELECT * FROM a",
    "(SELECT 1 FROM x1) UNION ALL (SELECT 2 FROM x2)",
    "SELECT DISTINCT city FROM addresses WHERE zip BETWEEN 10000 AND 19999",
    "  SELECT MAX(total) FROM invoices GROUP BY year HAVING MAX(total) > 99.5",
)
WRITES = (
    "INSERT INTO t (c) VALUES ('a')",
    "insert into events (kind, at) values ('click', now()), ('view', now())",
    "INSERT INTO archive.orders SELECT * FROM orders WHERE created_at < '2020-01-01'",
    "UPDATE users SET last_login=NOW(), logins=logins+1 WHERE id=7",
    "update `Stock` set amount=amount-1 where sku='x-1' and amount>0",
    "UPDATE t\nSET c='SELECT'\nWHERE id=1",
    "DELETE FROM sessions WHERE expires < 1700000000",
    "/* job 3 */ DELETE FROM queue WHERE id IN (1,2,3)",
    "REPLACE INTO settings (name, value) VALUES ('theme', 'dark')",
    "INSERT INTO counters (id, n) VALUES (1, 1) ON DUPLICATE KEY UPDATE n=n+1",
)
_ADDRESSES = ("10.1.2.3", "172.17.0.5", "192.168.7.8", "127.0.0.1")
_SCHEMA = "shop"
"""What a session uses that names no schema of its own: clients mostly name one."""
_MOST_USERS = 40
_ONE_IN = 10
"""Nearly all: of the reads, of the writes and of the users not more than one in so many passes."""


class _Session(NamedTuple):
    """Who asks. `username` None is anybody whom no rule names."""

    username: str | None
    schemaname: str


class _Blocked(NamedTuple):
    """Which rules answer, with which columns, and how many sessions."""

    rule_ids: tuple[int, ...]
    columns: tuple[str, ...]
    sessions: int


def names_sessions(configuration: Configuration) -> bool:
    """Return whether rules that answer ask for a user or a schema: then the users matter."""
    held = configuration.tables.get(RULES)
    if held is None:
        return False
    positions = [held.layout.index[name] for name in ("username", "schemaname")]
    answering = rows_that_answer(held.layout, held.rows).values()
    return any(row[position] for row in answering for position in positions)


def new_answer_to_samples(before: Configuration, after: Configuration) -> str | None:
    """Return what to say where nearly all is answered that was not before; None otherwise.

    Where `names_sessions` holds of `after`, both have to hold the users.
    """
    held = after.tables.get(RULES)
    answering = rows_that_answer(held.layout, held.rows) if held else None
    if held is None or not answering:
        return None
    sessions = _sessions(after)
    if not _rewrites(held):
        # Each by itself, wherever it stands: mostly that is not nearly all, and then the others,
        # which may be thousands, need not be compiled.
        alone = replace(held, rows=_at_the_entrance(held.layout, answering))
        first = router_of(replace(after, tables={**after.tables, RULES: alone}))
        if _blocked(first, sessions, after) is None:
            return None
    router = router_of(after)
    found = _blocked(router, sessions, after)
    if found is None:
        return None
    engine = RoutingVariables.from_values(before.all_variables()).engine
    shared = router.patterns if engine is router.variables.engine else None
    if _blocked(router_of(before, patterns=shared), sessions, before) is not None:
        return None
    rules = f"rule {found.rule_ids[0]} answers"
    if len(found.rule_ids) > 1:
        rules = f"rules {listed(found.rule_ids)} answer"
    whose = "" if sessions[0].username is None else _share_of(found.sessions, len(sessions))
    return (
        f"{rules} nearly every sample query{whose} with {' or '.join(found.columns)}: hardly any"
        " query would reach a server"
    )


def _share_of(part: int, whole: int) -> str:
    return " of every user" if part == whole else f" of {part} in {whole} users"


def _rewrites(held: Held) -> bool:
    """Return whether a rule makes another text of a query, which other rules then see."""
    position = held.layout.index["replace_pattern"]
    return any(row[position] is not None for row in held.rows.values())


def _at_the_entrance(layout: Layout, rows: Rows) -> Rows:
    """Return the rules as if no flag led to them or away."""
    cells = {layout.index["flagIN"]: 0, layout.index["flagOUT"]: None}
    return {
        key: tuple(cells.get(position, cell) for position, cell in enumerate(row))
        for key, row in rows.items()
    }


def _sessions(configuration: Configuration) -> list[_Session]:
    """Return who asks: users spread over all of them where rules look at that, else anybody."""
    held = configuration.tables.get(USERS)
    if held is None or not names_sessions(configuration):
        return [_Session(None, _SCHEMA)]
    users = frontends(held.layout, held.rows.values())
    names = sorted(users)
    step = max(1, len(names) / _MOST_USERS)
    chosen = [names[int(place * step)] for place in range(min(len(names), _MOST_USERS))]
    return [_Session(name, users[name].default_schema or _SCHEMA) for name in chosen]


def _blocked(
    router: Router, sessions: Sequence[_Session], configuration: Configuration
) -> _Blocked | None:
    """Return what answers nearly all queries of nearly all sessions; None if nothing does."""
    ports = _ports(configuration)
    rule_ids: set[int] = set()
    columns: set[str] = set()
    blocked, may_pass = 0, len(sessions) // _ONE_IN
    for session in sessions:
        found = _answered(router, session, ports)
        if found is None:
            may_pass -= 1
            if may_pass < 0:
                return None
            continue
        blocked += 1
        for route in found:
            rule_ids.update(route.matched_rules)
            columns.update(column for column in ANSWERS if column in route.settings)
    if not blocked:
        return None
    answering = {rule.rule_id for rule in router.rules if _answers(rule)}
    return _Blocked(tuple(sorted(rule_ids & answering)), tuple(sorted(columns)), blocked)


def _answers(rule: Rule) -> bool:
    return any(name in ANSWERS for name, _ in rule.sets)


def _answered(router: Router, session: _Session, ports: Sequence[int]) -> list[Route] | None:
    """Return the routes that are answers, if they are nearly all reads and nearly all writes."""
    found: list[Route] = []
    for queries in (READS, WRITES):
        may_pass = len(queries) // _ONE_IN
        places = zip(queries, cycle(_ADDRESSES), cycle(ports), strict=False)
        for query, address, port in places:
            route = router.evaluate(
                Request(
                    query.encode(),
                    session.username,
                    session.schemaname,
                    client_addr=address,
                    proxy_port=port,
                )
            )
            if any(column in route.settings for column in ANSWERS):
                found.append(route)
                continue
            may_pass -= 1
            if may_pass < 0:
                return None
    return found


def _ports(configuration: Configuration) -> list[int]:
    """Return where clients connect to."""
    interfaces = configuration.variable("mysql-interfaces") or ""
    ports = [entry.rpartition(":")[2] for entry in interfaces.split(";")]
    return [int(port) for port in ports if port.isdecimal()] or [6033]
