"""The `routing_tests` section, as plain data for the evaluator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from proxyctl.config.context import Context, Part
from proxyctl.config.validation import check_items
from proxyctl.routing import Request
from proxyctl.routing.tests import RoutingTest
from proxyctl.state.cells import normal_digest

if TYPE_CHECKING:
    from proxyctl.config.models import RoutingTestModel


def compile_routing_tests(parts: list[Part], context: Context) -> tuple[RoutingTest, ...]:
    """Return the tests of all files, in their order. Changes: context.mistakes."""
    tests: list[RoutingTest] = []
    for part in parts:
        for position, model in check_items(part, context).items():
            tests.append(_test(part, position, model, context))
    return tuple(tests)


def _test(part: Part, position: int, model: RoutingTestModel, context: Context) -> RoutingTest:
    expect: dict[str, Any] = model.expect.model_dump(exclude_unset=True)
    if not expect:
        context.note(part, (position, "expect"), "the test expects nothing")
    digest = expect.get("digest")
    if digest is not None and normal_digest(digest) is None:
        fix = "as stats_mysql_query_digest shows it: '0x1E092DAEFFBBF262'"
        context.note(part, (position, "expect", "digest"), "not a digest", fix)
    session = model.model_dump(exclude={"query", "name", "expect"})
    request = Request(model.query.encode("utf-8", "surrogateescape"), **session)
    return RoutingTest(model.query, request, expect, part.where(position), model.name)
