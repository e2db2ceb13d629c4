"""The statements of an apply as text, which a client can run without doing harm.

Secrets are masked. A statement with a mask in it would set `***` as the password, so an admin
module that has one is a comment from its first statement to its SAVE: the others by themselves
would leave MEMORY half written, for the next LOAD of anybody to publish.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from proxyctl.plan.plan import ModulePlan, Plan
from proxyctl.state.sql import MASK, Statement, for_clients
from proxyctl.text import printable


def plan_sql(plan: Plan) -> str:
    """Return the statements of an apply, in its order; modules with a secret are comments."""
    return "\n".join(_lines(plan)) + "\n"


def _lines(plan: Plan) -> Iterator[str]:
    for one in plan.refusals:
        yield f"-- apply would refuse: {printable(one.message)}"
        yield from (f"--   {printable(line)}" for line in one.below())
    yield f"-- {printable(plan.name)}: what apply would send, in order"
    modules = [module for module in plan.modules if module.does_something]
    if not modules:
        yield "-- nothing"
    scripts = [_Script(module) for module in modules]
    for script in scripts:
        yield from script.staging()
    later: list[_Script] = []
    for script in scripts:
        if script.module.images:
            yield script.step(script.module.module.load)
            later += [script] * (len(script.module.images) > 1)
        if script.module.name == "MYSQL USERS":
            yield from _second_loads(later)
            later = []
    yield from _second_loads(later)
    for script in scripts:
        yield from script.finishing()
    for script in scripts:
        if script.module.save and plan.saves:
            yield script.step(script.module.module.save)


def _second_loads(scripts: Iterable[_Script]) -> Iterator[str]:
    for script in scripts:
        yield "-- no rule routes to the removed servers any more"
        yield from script.written(script.module.transition(*script.module.images))
        yield script.step(script.module.module.load)


class _Script:
    """The statements of one admin module, as comments if one of them has a secret."""

    def __init__(self, module: ModulePlan) -> None:
        self.module = module
        self._staging = list(module.staging())
        images = module.images
        self._final = list(module.transition(images[-1], module.final)) if images else []
        self._has_secret = any(map(_is_masked, (*self._staging, *self._final)))

    def staging(self) -> Iterator[str]:
        """Yield what is written before the first LOAD."""
        if self._has_secret:
            yield (
                f"-- {self.module.name} is commented out: it would set a password or another"
                f" secret to the mask {MASK}"
            )
        yield from self.written(self._staging)

    def finishing(self) -> Iterator[str]:
        """Yield what is written after the last LOAD."""
        return self.written(self._final)

    def written(self, statements: Iterable[Statement]) -> Iterator[str]:
        """Yield statements."""
        return (self._line(for_clients(statement.masked)) for statement in statements)

    def step(self, command: str) -> str:
        """Return a LOAD or SAVE."""
        return self._line(command)

    def _line(self, text: str) -> str:
        return f"-- {text};" if self._has_secret else f"{text};"


def _is_masked(statement: Statement) -> bool:
    return statement.masked != statement.sql
