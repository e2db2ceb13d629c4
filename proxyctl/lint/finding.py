"""What lint says: findings, and the checks that make them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from inspect import cleandoc
from typing import TYPE_CHECKING

from proxyctl.state.row import Key, Where

if TYPE_CHECKING:
    from proxyctl.lint.subject import Subject


class Severity(StrEnum):
    """How bad it is. An error does harm or nothing at all; a warning may be meant."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, at a row or at one column of it.

    Shape: `table` by catalogue name (`mysql_variables` for a variable, whose key is its name).
    `column` None is the whole row. `where` is its place where the configuration does not know it.
    `severity` None: as its check. `code` is filled in by the check.
    """

    table: str
    key: Key
    message: str
    column: str | None = None
    hint: str | None = None
    where: Where | None = None
    severity: Severity | None = None
    code: str = ""


Finder = Callable[["Subject"], Iterable[Finding]]


@dataclass(frozen=True)
class Check:
    """One check. `documentation` is the finder's docstring: what, why, and the way out."""

    code: str
    name: str
    severity: Severity
    documentation: str
    find: Finder

    @property
    def summary(self) -> str:
        """The first sentence of the documentation: what it finds."""
        return self.documentation.strip().split("\n\n")[0].replace("\n", " ")


CHECKS: dict[str, Check] = {}
"""By code."""


def check(code: str, name: str, severity: Severity) -> Callable[[Finder], Finder]:
    """Return a decorator that makes a check of a function from a subject to findings.

    Raises: ValueError for a code or a name that is taken.
    """

    def register(find: Finder) -> Finder:
        if code in CHECKS or any(name == known.name for known in CHECKS.values()):
            raise ValueError(f"{code} {name}: taken")
        CHECKS[code] = Check(code, name, severity, cleandoc(find.__doc__ or ""), find)
        return find

    return register
