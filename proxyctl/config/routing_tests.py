"""The `routing_tests` section, as plain data for the evaluator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from proxyctl.config.context import Context
from proxyctl.config.sections import Part, check_items
from proxyctl.state import Where

if TYPE_CHECKING:
    from proxyctl.config.models import RoutingTestModel


@dataclass(frozen=True)
class RoutingTest:
    """One query of one session, and what has to become of it.

    Shape: `expect` holds only the keys that the file names, hostgroups as numbers; None there means
    that nothing is expected (`rewritten: null`: the query is not rewritten).
    """

    query: str
    expect: Mapping[str, Any]
    where: Where
    name: str | None = None
    username: str | None = None
    schemaname: str | None = None
    client_addr: str | None = None
    proxy_addr: str | None = None
    proxy_port: int | None = None
    flagIN: int = 0  # noqa: N815 - the column's own name


def compile_routing_tests(parts: list[Part], context: Context) -> tuple[RoutingTest, ...]:
    """Return the tests of all files, in their order. Changes: context.mistakes."""
    tests: list[RoutingTest] = []
    for part in parts:
        for position, model in check_items(part, context).items():
            tests.append(_test(part, position, model, context))
    return tuple(tests)


def _test(part: Part, position: int, model: RoutingTestModel, context: Context) -> RoutingTest:
    expect: dict[str, Any] = model.expect.model_dump(exclude_unset=True)
    label = f"routing_tests[{position}].expect"
    if not expect:
        context.mistakes.add(part.where(position, "expect"), label, "nothing is expected")
    hostgroup = expect.get("hostgroup")
    if hostgroup is not None:
        where = part.where(position, "expect", "hostgroup")
        expect["hostgroup"] = context.hostgroup(hostgroup, where, f"{label}.hostgroup")
    return RoutingTest(
        query=model.query,
        expect=expect,
        where=part.where(position),
        name=model.name,
        username=model.username,
        schemaname=model.schemaname,
        client_addr=model.client_addr,
        proxy_addr=model.proxy_addr,
        proxy_port=model.proxy_port,
        flagIN=model.flagIN,
    )
