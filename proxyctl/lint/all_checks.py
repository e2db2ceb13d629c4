"""All checks, and which of them a code, the beginning of one, or a name stands for."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from types import MappingProxyType

from proxyctl.lint import rules
from proxyctl.lint.finding import CHECKS, Check

UNUSED_IGNORE = "PX001"
"""The code of what lint says about its own settings."""


@cache
def all_checks() -> Mapping[str, Check]:
    """Return every check by code, sorted.

    A check registers itself when its module is imported, so every module of `rules` is.
    """
    for module in pkgutil.iter_modules(rules.__path__):
        import_module(f"{rules.__name__}.{module.name}")
    return MappingProxyType(dict(sorted(CHECKS.items())))


class UnknownCode(Exception):  # noqa: N818 - an answer; its caller knows where the code stands
    """Neither a code, nor the beginning of one, nor a name."""

    def __init__(self, text: str) -> None:
        super().__init__(f"no check is called {text!r}")
        self.word = text.strip()

    def hint(self, near: Callable[[str, Sequence[str]], str | None]) -> str:
        """Return the way out. `near` finds what may have been meant."""
        words = [word for code, one in all_checks().items() for word in (code, one.name)]
        return near(self.word, words) or "`proxyctl lint --list` shows all"


def codes_of(text: str) -> frozenset[str]:
    """Return the codes that a code, the beginning of one (`PX1`) or a name stands for.

    Raises: UnknownCode.
    """
    checks = all_checks()
    wanted = text.strip()
    found = {
        code
        for code, check in checks.items()
        if code.startswith(wanted.upper()) or check.name == wanted.lower()
    }
    if wanted == "" or not found:
        raise UnknownCode(text)
    return frozenset(found)


def chosen(select: Iterable[str], ignore: Iterable[str]) -> list[Check]:
    """Return the checks that run: those selected (all if none is), without the ignored ones.

    Raises: UnknownCode.
    """
    checks = all_checks()
    wanted = frozenset().union(*map(codes_of, select)) or frozenset(checks)
    unwanted = frozenset().union(*map(codes_of, ignore))
    return [check for code, check in checks.items() if code in wanted - unwanted]
