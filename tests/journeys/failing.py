"""What goes wrong at a statement of an apply, on the sandbox."""

from __future__ import annotations

from collections.abc import Callable

from proxyctl.sandbox import AdminError, CutConnectionError
from tests.journeys.story import FILES

CHANGED = (
    FILES.replace("^SELECT.*FOR", "^SELECT .*FOR")
    .replace("weight: 100", "weight: 70")
    .replace("8.0.36", "8.4.0")
    .replace("{env: APP_PASSWORD}", "{env: OTHER_PASSWORD}")
)


class Once:
    """A hook that acts at one statement, the first time only."""

    def __init__(self, start: str, act: Callable[[], None]) -> None:
        self.start = start
        self.act = act
        self.happened = False

    def __call__(self, sql: str) -> None:
        if sql.startswith(self.start) and not self.happened:
            self.happened = True
            self.act()


def cut() -> None:
    raise CutConnectionError


def fail() -> None:
    raise AdminError("the disk is full", code=1045)


class InTurn:
    """Hooks that act one after the other, each at its statement, once."""

    def __init__(self, *hooks: Once) -> None:
        self.hooks = hooks

    def __call__(self, sql: str) -> None:
        waiting = next((hook for hook in self.hooks if not hook.happened), None)
        if waiting is not None:
            waiting(sql)
