"""The rule that keeps fast routing alive, judged on the rules that the instance will hold. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from proxyctl.catalog import MAX_INT
from proxyctl.catalog.destinations import last_rule_in_the_way
from proxyctl.config.sections.routing import with_never_matching
from proxyctl.plan.instance_state import InstanceState
from proxyctl.rows.desired import DesiredTable
from proxyctl.rows.row import Layer


def kept_alive(
    tables: Mapping[str, DesiredTable], current: InstanceState
) -> dict[str, DesiredTable]:
    """Return the tables with the rule that fast routing needs behind the last rule of the files.

    The files may leave fast routing alone, or own a part of either table. No rule is added where
    the last rule is in no file: then lint tells what its owner has to do.
    """
    found = dict(tables)
    for name in ("mysql_query_rules", "pgsql_query_rules"):
        rules = tables.get(name)
        if rules is None or not _has_fast_routing(f"{name}_fast_routing", tables, current):
            continue
        left_alone = current.rows(name)[Layer.MEMORY]
        others = [row for key, row in left_alone.items() if not rules.owns(key)]
        last = last_rule_in_the_way(rules.layout, [*rules.rows.values(), *others])
        if (
            last is not None
            and (last,) in rules.rows
            and last < MAX_INT
            and rules.owns((last + 1,))
        ):
            found[name] = with_never_matching(rules, last + 1, last)
    return found


def _has_fast_routing(
    name: str, tables: Mapping[str, DesiredTable], current: InstanceState
) -> bool:
    """Return whether the instance will have rows of fast routing."""
    routes = tables.get(name)
    if routes is not None and routes.rows:
        return True
    if name not in current.tables:
        return False
    rows = current.rows(name)[Layer.MEMORY]
    return any(routes is None or not routes.owns(key) for key in rows)
