"""Checks and their findings, and which checks a code or a name selects."""

from __future__ import annotations

import pkgutil
import re
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache
from importlib import import_module
from inspect import cleandoc
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from proxyctl.errors import ProxyctlError, counted
from proxyctl.lint import rules
from proxyctl.routing.criteria import Effect
from proxyctl.state.row import Key, Secret, Where

if TYPE_CHECKING:
    from proxyctl.lint.subject import LintSubject
    from proxyctl.routing.reach import Session

RULES = "mysql_query_rules"
UNUSED_IGNORE = "PX001"
"""The code of the check that is about lint's own settings."""

_LONGEST_TEXT = 60
_MOST_LISTED = 5


class Severity(StrEnum):
    """How bad a finding is: an error does harm or has no effect; a warning may be intended."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


SEVERITIES = {
    Effect.NEVER: Severity.ERROR,
    Effect.HARDLY_EVER: Severity.ERROR,
    Effect.EVERYTHING: Severity.ERROR,
    Effect.MISREAD: Severity.ERROR,
    Effect.DOUBTFUL: Severity.WARNING,
}
"""How bad a criterion is that does not work."""


class Case(NamedTuple):
    """One of the things that a finding about a row is about: a query, a table, a hostgroup.

    `session`: the one in which lint tried a query.
    """

    text: str
    session: Session | None = None


Cases = Set[Case] | Set[Key]


@dataclass(frozen=True)
class Finding:
    """One mistake, in a row or in one column of it.

    Shape: `table` by catalogue name (`mysql_variables` for a variable, whose key is its name).
    `column` None: the whole row. `also`: the other rows of the table with the same cause.
    `where`: the place, if the configuration does not know it. `severity` None: the check's.
    `is_superseded`: a graver finding already covers the row, so this one is not shown; an `ignore`
    of it still counts as used. The run fills in `code`. `cases`: what the finding is about, by row,
    also as keys of other rows; none for a row that is all that it is about. A change makes a
    finding worse that gets more.
    """

    table: str
    key: Key
    message: str
    column: str | None = None
    fix: str | None = None
    where: Where | None = None
    severity: Severity | None = None
    also: tuple[Key, ...] = ()
    is_superseded: bool = False
    code: str = ""
    cases: Mapping[Key, Cases] = field(default_factory=dict, compare=False, repr=False)

    @property
    def text(self) -> str:
        """The message with the other rows that it is about."""
        if not self.also:
            return self.message
        noun = _NOUNS.get(self.table.partition("_")[2])
        if noun is not None:
            return f"{self.message} (also {listed([key[0] for key in self.also], noun)})"
        return f"{self.message} (also {counted(len(self.also), 'more row')})"


Finder = Callable[["LintSubject"], Iterable[Finding]]


@dataclass(frozen=True)
class Check:
    """One check. `documentation` is the finder's docstring: the mistake, the reason, the fix.

    `tables`: the check runs only if one of these tables has rows (empty: always). `pgsql`: it also
    holds for the PostgreSQL side. `any_size`: it compiles no pattern, tries no query and takes a
    glance at large tables, so that a plan of any size runs it.
    """

    code: str
    name: str
    severity: Severity
    documentation: str
    find: Finder
    tables: Sequence[str] = ()
    pgsql: bool = False
    any_size: bool = False

    def findings(self, subject: LintSubject) -> Iterable[Finding]:
        """Return the check's findings in a configuration."""
        held = subject.configuration.tables
        has_rows = any(name in held and held[name].rows for name in self.tables)
        return self.find(subject) if has_rows or not self.tables else ()

    @property
    def summary(self) -> str:
        """The first sentence of the documentation: the mistake."""
        return self.text.split("\n\n")[0].replace("\n", " ")

    @property
    def text(self) -> str:
        """The documentation without its examples."""
        return self.documentation.split("```")[0].strip()


_CHECKS: dict[str, Check] = {}


def check(
    code: str,
    name: str,
    severity: Severity,
    *,
    tables: Sequence[str] = (),
    pgsql: bool = False,
    any_size: bool = False,
) -> Callable[[Finder], Finder]:
    """Return a decorator that registers a function from a subject to findings as a check.

    `tables`, `pgsql`, `any_size`: see Check. Raises: ValueError if the code or the name is taken.
    """

    def register(find: Finder) -> Finder:
        if code in _CHECKS or any(name == known.name for known in _CHECKS.values()):
            raise ValueError(f"duplicate check {code} {name}")
        documentation = cleandoc(find.__doc__ or "")
        options = tables, pgsql, any_size
        _CHECKS[code] = Check(code, name, severity, documentation, find, *options)
        return find

    return register


@cache
def all_checks() -> Mapping[str, Check]:
    """Return every check by code, sorted.

    Checks register themselves at import, so this imports every module of `rules`.
    """
    for module in pkgutil.iter_modules(rules.__path__):
        import_module(f"{rules.__name__}.{module.name}")
    if not _CHECKS:
        # pkgutil takes a folder that cannot be opened for an empty one.
        raise ProxyctlError(
            "the checks of lint cannot be read",
            fix="install proxyctl again; too many open files (ulimit -n) have the same effect",
        )
    return MappingProxyType(dict(sorted(_CHECKS.items())))


_CODE = re.compile(r"PX\d{3}", re.IGNORECASE | re.ASCII)


class UnknownCode(Exception):  # noqa: N818 - callers turn it into an error with the place
    """The text is no check's code, beginning of a code, or name."""

    def __init__(self, text: str) -> None:
        super().__init__(f"no such check: {text!r}")
        self.word = text.strip()

    def fix(self, near: Callable[[str, Sequence[str]], str | None]) -> str:
        """Return the fix. `near(word, words)` words a suggestion if one of `words` is similar."""
        codes = list(all_checks())
        if _CODE.fullmatch(self.word):
            unknown = self.word.upper()
            codes = [code for code in codes if sum(map(str.__ne__, code, unknown)) == 1]
            codes = sorted(codes, key=lambda code: abs(int(code[2:]) - int(unknown[2:])))[:1]
        suggestion = near(self.word, [*codes, *(check.name for check in all_checks().values())])
        return suggestion or "`proxyctl lint --list` shows all checks"


def codes_of(text: str) -> frozenset[str]:
    """Return the codes that a code, the beginning of one (`PX1`) or a name selects.

    Raises: UnknownCode.
    """
    wanted = text.strip()
    codes = {
        code
        for code, check in all_checks().items()
        if code.startswith(wanted.upper()) or check.name == wanted.lower()
    }
    if wanted == "" or not codes:
        raise UnknownCode(text)
    return frozenset(codes)


def chosen(select: Iterable[str], ignore: Iterable[str]) -> list[Check]:
    """Return the checks to run: the selected ones (all by default) without the ignored ones.

    Raises: UnknownCode.
    """
    checks = all_checks()
    wanted = frozenset().union(*map(codes_of, select)) or frozenset(checks)
    unwanted = frozenset().union(*map(codes_of, ignore))
    return [check for code, check in checks.items() if code in wanted - unwanted]


def quoted(text: str) -> str:
    """Return a text between backticks, cut if it is long; a secret is not shown."""
    if isinstance(text, Secret):
        return "(sensitive)"
    return f"`{text if len(text) <= _LONGEST_TEXT else text[:_LONGEST_TEXT] + '...'}`"


_NOUNS = {"query_rules": "rule", "users": "user"}
"""By table without its side: the noun for rows that are named by the first column of their key."""


def listed(names: Sequence[object], noun: str = "rule") -> str:
    """Return `rule 5`, or `rules 5, 7 and 12 more`."""
    if len(names) == 1:
        return f"{noun} {names[0]}"
    shown = ", ".join(map(str, names[:_MOST_LISTED]))
    hidden = len(names) - _MOST_LISTED
    return f"{noun}s {shown} and {hidden} more" if hidden > 0 else f"{noun}s {shown}"


def grouped(findings: Iterable[Finding]) -> Iterable[Finding]:
    """Merge findings with the same table, column, message and fix into one, with all their rows.

    One cause is one finding; the rows are the places to correct.
    """
    by_cause: dict[tuple[object, ...], list[Finding]] = {}
    for finding in findings:
        cause = (finding.table, finding.column, finding.message, finding.fix, finding.severity)
        by_cause.setdefault(cause, []).append(finding)
    for first, *repeated in by_cause.values():
        also = (*first.also, *(finding.key for finding in repeated))
        cases = dict(ChainMap(*(dict(finding.cases) for finding in (first, *repeated))))
        yield replace(first, also=also, cases=cases)


def cases_of(key: Key, things: Iterable[object]) -> dict[Key, Cases]:
    """Return the cases of a finding about one row."""
    return {key: {Case(str(thing)) for thing in things}}
