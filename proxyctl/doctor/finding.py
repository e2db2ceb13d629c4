"""What the doctor says: findings, and the checks that make them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from inspect import cleandoc
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from proxyctl.doctor.facts import Facts


class Severity(StrEnum):
    """How bad it is. An error does harm now; a warning will, or may be meant; the rest is news."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong: where, what, and the way out (a command, YAML, or what to look at).

    `code` and `severity` are filled in from the check.
    """

    where: str
    message: str
    way_out: str
    code: str = ""
    severity: Severity = Severity.INFO


Finder = Callable[["Facts"], Iterable[Finding]]


@dataclass(frozen=True)
class Check:
    """One check. `summary`: what it finds, in one sentence."""

    code: str
    severity: Severity
    summary: str
    find: Finder


CHECKS: dict[str, Check] = {}
"""By code, in the order of registration."""


def register(check: Check) -> None:
    """Add a check. Raises: ValueError for a code that is taken."""
    if check.code in CHECKS:
        raise ValueError(f"{check.code}: taken")
    CHECKS[check.code] = check


def check(code: str, severity: Severity) -> Callable[[Finder], Finder]:
    """Return a decorator that makes a check of a function from facts to findings.

    The first paragraph of its docstring becomes the summary.
    """

    def registered(find: Finder) -> Finder:
        summary = cleandoc(find.__doc__ or "").split("\n\n")[0].replace("\n", " ")
        register(Check(code, severity, summary, find))
        return find

    return registered
