"""What a check is, what it finds, and which checks a code or a name stands for."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from importlib import import_module
from inspect import cleandoc
from types import MappingProxyType
from typing import TYPE_CHECKING

from proxyctl.errors import counted
from proxyctl.lint import rules
from proxyctl.state.row import Key, Secret, Where

if TYPE_CHECKING:
    from proxyctl.lint.subject import Subject

RULES = "mysql_query_rules"
UNUSED_IGNORE = "PX001"
"""The code of the check that is about lint's own settings."""

_SHOWN = 60
_LISTED = 5


class Severity(StrEnum):
    """How bad it is. An error does harm or has no effect at all; a warning may be intended."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True)
class Finding:
    """One mistake, at a row or at one column of it.

    Shape: `table` by catalogue name (`mysql_variables` for a variable, whose key is its name).
    `column` None is the whole row. `also` are the other rows of the table with the same cause.
    `where` is its place where the configuration does not know it. `severity` None: as its check.
    `is_said`: a graver finding of the row says it already, so this one is not shown; an `ignore`
    of it is used all the same. `code` is filled in by the run.
    """

    table: str
    key: Key
    message: str
    column: str | None = None
    fix: str | None = None
    where: Where | None = None
    severity: Severity | None = None
    also: tuple[Key, ...] = ()
    is_said: bool = False
    code: str = ""

    @property
    def text(self) -> str:
        """The message, and the other rows that it is about."""
        if not self.also:
            return self.message
        if self.table.endswith("_query_rules"):
            return f"{self.message} (also {listed([key[0] for key in self.also])})"
        return f"{self.message} (also {counted(len(self.also), 'more row')})"


Finder = Callable[["Subject"], Iterable[Finding]]


@dataclass(frozen=True)
class Check:
    """One check. `documentation` is the finder's docstring: what it finds, why, the fix.

    `of`: tables without any row of which there is nothing to find; none where that depends.
    """

    code: str
    name: str
    severity: Severity
    documentation: str
    find: Finder
    of: Sequence[str] = ()

    def findings(self, subject: Subject) -> Iterable[Finding]:
        """Return what it finds in a configuration."""
        tables = subject.configuration.tables
        has_rows = any(name in tables and tables[name].rows for name in self.of)
        return self.find(subject) if has_rows or not self.of else ()

    @property
    def summary(self) -> str:
        """The first sentence of the documentation: what it finds."""
        return self.text.split("\n\n")[0].replace("\n", " ")

    @property
    def text(self) -> str:
        """The documentation without its examples."""
        return self.documentation.split("```")[0].strip()


_CHECKS: dict[str, Check] = {}


def check(
    code: str, name: str, severity: Severity, *, of: Sequence[str] = ()
) -> Callable[[Finder], Finder]:
    """Return a decorator that makes a check of a function from a subject to findings.

    `of`: see Check. Raises: ValueError for a code or a name that is taken.
    """

    def register(find: Finder) -> Finder:
        if code in _CHECKS or any(name == known.name for known in _CHECKS.values()):
            raise ValueError(f"{code} {name}: taken")
        _CHECKS[code] = Check(code, name, severity, cleandoc(find.__doc__ or ""), find, of)
        return find

    return register


@cache
def all_checks() -> Mapping[str, Check]:
    """Return every check by code, sorted.

    A check registers itself when its module is imported, so every module of `rules` is.
    """
    for module in pkgutil.iter_modules(rules.__path__):
        import_module(f"{rules.__name__}.{module.name}")
    return MappingProxyType(dict(sorted(_CHECKS.items())))


_CODE = re.compile(r"PX\d{3}", re.IGNORECASE | re.ASCII)


class UnknownCode(Exception):  # noqa: N818 - an answer; its caller knows where the code stands
    """Neither a code, nor the beginning of one, nor a name."""

    def __init__(self, text: str) -> None:
        super().__init__(f"no such check: {text!r}")
        self.word = text.strip()

    def fix(self, near: Callable[[str, Sequence[str]], str | None]) -> str:
        """Return the fix. `near` finds what may have been meant."""
        codes = list(all_checks())
        if _CODE.fullmatch(self.word):
            given = self.word.upper()
            codes = [one for one in codes if sum(map(str.__ne__, one, given)) == 1]
            codes = sorted(codes, key=lambda one: abs(int(one[2:]) - int(given[2:])))[:1]
        found = near(self.word, [*codes, *(one.name for one in all_checks().values())])
        return found or "`proxyctl lint --list` shows all checks"


def codes_of(text: str) -> frozenset[str]:
    """Return the codes that a code, the beginning of one (`PX1`) or a name stands for.

    Raises: UnknownCode.
    """
    wanted = text.strip()
    found = {
        code
        for code, check in all_checks().items()
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


def quoted(text: str) -> str:
    """Return a text of a row between backticks; a secret is not shown, a long one is cut."""
    if isinstance(text, Secret):
        return "(sensitive)"
    return f"`{text if len(text) <= _SHOWN else text[:_SHOWN] + '...'}`"


def listed(numbers: Sequence[object]) -> str:
    """Return `rule 5`, or `rules 5, 7 and 12 more`."""
    if len(numbers) == 1:
        return f"rule {numbers[0]}"
    shown = ", ".join(map(str, numbers[:_LISTED]))
    more = len(numbers) - _LISTED
    return f"rules {shown} and {more} more" if more > 0 else f"rules {shown}"


def grouped(findings: Iterable[Finding]) -> Iterable[Finding]:
    """Return findings with the same message, column and fix as one, with its rows.

    A cause is one finding: the rows are the places where it has to be mended.
    """
    found: dict[tuple[object, ...], list[Finding]] = {}
    for one in findings:
        alike = (one.table, one.column, one.message, one.fix, one.severity)
        found.setdefault(alike, []).append(one)
    for first, *rest in found.values():
        yield replace(first, also=(*first.also, *(one.key for one in rest)))
