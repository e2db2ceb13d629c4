"""The rule that keeps fast routing alive where the last one of the files has apply=1.

Source: ProxySQL 2.7.1, run: dead with such a last rule, alive with one more that never matches.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from proxyctl.catalog import MAX_INT
from proxyctl.catalog.destinations import dead_text, last_rule_in_the_way
from proxyctl.config.context import Context
from proxyctl.config.mistakes import Mistakes
from proxyctl.config.rows import RowPlaces, default_row
from proxyctl.errors import InternalError
from proxyctl.state.row import DesiredTable, Key

SECTION = "keep_fast_routing_alive"
ORIGIN = "added for fast routing"
COMMENT = "proxyctl: keeps fast routing alive, matches nothing"
NEVER = MAX_INT
"""A flagIN that no rule leads to."""


def keep_alive(tables: dict[str, DesiredTable], context: Context, *, is_wanted: bool) -> None:
    """Add the rule that fast routing needs, or warn that it is dead. Changes: tables, context."""
    for name in ("mysql_query_rules", "pgsql_query_rules"):
        rules, routing = tables.get(name), tables.get(f"{name}_fast_routing")
        if rules is None or routing is None or not routing.rows:
            continue
        last = last_rule_in_the_way(rules.layout, rules.rows.values())
        if last is not None and is_wanted:
            tables[name] = _with_last_rule(rules, last, context.mistakes)
        elif last is not None:
            context.warnings.append(dead_text(routing.layout.name, last))


def _with_last_rule(rules: DesiredTable, last: int, mistakes: Mistakes) -> DesiredTable:
    """Return the table of rules with one more rule behind rule `last`, which never matches.

    Changes: mistakes, where the files leave no room for it.
    """
    if not isinstance(rules.where, RowPlaces):
        raise InternalError("a table of rules without the places of its rows")
    index = rules.layout.index
    rule_id = max(map(_rule_id, rules.rows)) + 1
    place = rules.where.places[last,]._replace(origin=ORIGIN)
    key: Key = (rule_id,)
    if rule_id > MAX_INT or not rules.owns(key):
        limit = rules.scope.text if rules.scope else f"rule_id up to {MAX_INT}"
        mistakes.add(
            place.where(),
            rules.layout.name,
            f"rule {last} is the last one and has apply 1, so fast routing needs one more rule"
            f" after it; {rule_id} is outside {limit}",
            f"leave one id free at the end of the range, or write {SECTION}: false",
        )
        return rules
    values: list[Any] = default_row(rules.layout)
    values[index["rule_id"]] = rule_id
    values[index["flagIN"]] = NEVER
    values[index["comment"]] = COMMENT
    places = RowPlaces({**rules.where.places, key: place})
    origins = rules.origins | {ORIGIN}
    return replace(rules, rows={**rules.rows, key: tuple(values)}, where=places, origins=origins)


def _rule_id(key: Key) -> int:
    return cast(int, key[0])
