"""`routing_tests`, and the rule that keeps fast routing alive after a last rule with apply 1.

Source: ProxySQL 2.7.1, run: fast routing is dead after such a rule, and alive after one more rule
that never matches.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from proxyctl.catalog import MAX_INT
from proxyctl.catalog.destinations import dead_text, last_rule_in_the_way
from proxyctl.config.context import Compilation, FileSection
from proxyctl.config.mistakes import Mistakes
from proxyctl.config.rows import RowPlaces, default_row
from proxyctl.config.validation import check_items
from proxyctl.proxysql.cells import normal_digest
from proxyctl.routing.query import ClientQuery
from proxyctl.routing.routing_test import RoutingTest
from proxyctl.rows.desired import DesiredTable
from proxyctl.rows.row import Key

if TYPE_CHECKING:
    from proxyctl.config.models import RoutingTestModel

SECTION = "keep_fast_routing_alive"
ORIGIN = "added for fast routing"
COMMENT = "proxyctl: keeps fast routing alive, matches nothing"
NEVER = MAX_INT
"""A flagIN that no rule leads to."""


def keep_alive(tables: dict[str, DesiredTable], context: Compilation, *, is_wanted: bool) -> None:
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
    """Return the rules with one more rule, which never matches, after rule `last`.

    Changes: mistakes, if the files leave no id for the rule.
    """
    rule_id = max(cast(int, key[0]) for key in rules.rows) + 1
    key: Key = (rule_id,)
    if rule_id > MAX_INT or not rules.owns(key):
        limit = rules.scope.text if rules.scope else f"rule_id up to {MAX_INT}"
        mistakes.add(
            rules.where[last,],
            rules.layout.name,
            f"rule {last} is the last one and has apply 1, so fast routing needs one more rule"
            f" after it; {rule_id} is outside {limit}",
            f"leave one id free at the end of the range, or write {SECTION}: false",
        )
        return rules
    return with_never_matching(rules, rule_id, last)


def with_never_matching(rules: DesiredTable, rule_id: int, last: int) -> DesiredTable:
    """Return the rules with one more rule, which never matches, at the place of rule `last`."""
    places, key = cast(RowPlaces, rules.where).places, (rule_id,)
    index = rules.layout.index
    values: list[Any] = default_row(rules.layout)
    values[index["rule_id"]] = rule_id
    values[index["flagIN"]] = NEVER
    values[index["comment"]] = COMMENT
    where = RowPlaces({**places, key: places[last,]._replace(origin=ORIGIN)})
    origins = rules.origins | {ORIGIN}
    return replace(rules, rows={**rules.rows, key: tuple(values)}, where=where, origins=origins)


# Tests --------------------------------------------------------------------------------------------


def compile_routing_tests(
    parts: list[FileSection], context: Compilation
) -> tuple[RoutingTest, ...]:
    """Return the routing tests of all files, in order. Changes: context.mistakes."""
    tests: list[RoutingTest] = []
    for part in parts:
        for position, model in check_items(part, context).items():
            tests.append(_test(part, position, model, context))
    return tuple(tests)


def _test(
    part: FileSection, position: int, model: RoutingTestModel, context: Compilation
) -> RoutingTest:
    expect: dict[str, Any] = model.expect.model_dump(exclude_unset=True)
    if not expect:
        context.note(part, (position, "expect"), "the test expects nothing")
    digest = expect.get("digest")
    if digest is not None and normal_digest(digest) is None:
        fix = "write it as stats_mysql_query_digest shows it: '0x1E092DAEFFBBF262'"
        context.note(part, (position, "expect", "digest"), "not a digest", fix)
    session = model.model_dump(exclude={"query", "name", "expect"})
    request = ClientQuery(model.query.encode("utf-8", "surrogateescape"), **session)
    return RoutingTest(model.query, request, expect, part.where(position), model.name)
