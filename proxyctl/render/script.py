"""The statements of an apply as a script that a client can run without harm.

Secrets are masked. A masked statement would set `***` as the password, so all statements of an
admin module with a secret are comments: running only the others would leave MEMORY half written,
and anybody's next LOAD would publish that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from proxyctl.plan.plan import ModulePlan, Plan
from proxyctl.rows.sql import MASK, Statement, for_clients
from proxyctl.text import printable


def plan_sql(plan: Plan) -> str:
    """Return the statements of an apply in order; admin modules with a secret as comments."""
    return "\n".join(_lines(plan)) + "\n"


def _lines(plan: Plan) -> Iterator[str]:
    for refusal in plan.refusals:
        yield f"-- apply would refuse: {printable(refusal.message)}"
        yield from (f"--   {printable(line)}" for line in refusal.below())
    yield f"-- {printable(plan.name)}: what apply would send, in order"
    modules = [module for module in plan.modules if module.does_something]
    if not modules:
        yield "-- nothing"
    scripts = [_Script(module) for module in modules]
    for script in scripts:
        yield from script.staging()
    loaded_twice: list[_Script] = []
    for script in scripts:
        if script.module.images:
            yield script.step(script.module.module.load)
            loaded_twice += [script] * (len(script.module.images) > 1)
        if script.module.name == "MYSQL USERS":
            yield from _second_loads(loaded_twice)
            loaded_twice = []
    yield from _second_loads(loaded_twice)
    for script in scripts:
        yield from script.finishing()
    for script in scripts:
        if script.module.save and plan.saves:
            yield script.step(script.module.module.save)


def _second_loads(scripts: Iterable[_Script]) -> Iterator[str]:
    for script in scripts:
        yield "-- no rule routes to the removed servers any more"
        yield from script.lines(script.module.transition(*script.module.images))
        yield script.step(script.module.module.load)


class _Script:
    """The statements of one admin module, as comments if any has a secret."""

    def __init__(self, module: ModulePlan) -> None:
        self.module = module
        self._staging = list(module.staging())
        images = module.images
        self._final = list(module.transition(images[-1], module.final)) if images else []
        self._has_secret = any(map(_is_masked, (*self._staging, *self._final)))

    def staging(self) -> Iterator[str]:
        """Yield the statements before the first LOAD."""
        if self._has_secret:
            yield (
                f"-- {self.module.name} is commented out: it would set a password or another"
                f" secret to the mask {MASK}"
            )
        yield from self.lines(self._staging)

    def finishing(self) -> Iterator[str]:
        """Yield the statements after the last LOAD."""
        return self.lines(self._final)

    def lines(self, statements: Iterable[Statement]) -> Iterator[str]:
        """Yield statements as lines."""
        return (self._line(for_clients(statement.masked)) for statement in statements)

    def step(self, command: str) -> str:
        """Return a LOAD or SAVE as a line."""
        return self._line(command)

    def _line(self, text: str) -> str:
        return f"-- {text};" if self._has_secret else f"{text};"


def _is_masked(statement: Statement) -> bool:
    return statement.masked != statement.sql
