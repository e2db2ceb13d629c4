"""The checks, and which of them a code or a name selects."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from inspect import cleandoc
from types import MappingProxyType

from proxyctl.errors import ProxyctlError, UsageError
from proxyctl.lint import rules
from proxyctl.lint.finding import Finding, Severity
from proxyctl.lint.subject import LintSubject

UNUSED_IGNORE = "PX001"
"""The code of the check that is about lint's own settings."""

_LINK = re.compile(r"\[([^\]]+)\]\((?:\.\./)+([^)#]+)[^)]*\)")
"""A link to a page of the documentation."""

Finder = Callable[[LintSubject], Iterable[Finding]]


@dataclass(frozen=True)
class Check:
    """One check."""

    code: str
    """The code, such as PX101."""
    name: str
    """The name in words with hyphens."""
    severity: Severity
    """How bad a finding is, unless the finding says otherwise."""
    documentation: str
    """The finder's docstring: the mistake, the reason, the fix."""
    find: Finder
    """Returns the findings in a subject."""
    pgsql: bool = False
    """Whether the check also holds for the PostgreSQL side."""
    any_size: bool = False
    """Whether the check compiles no pattern, tries no query and takes a glance at large tables, so
    that a plan of any size runs it."""

    @property
    def summary(self) -> str:
        """The first sentence of the documentation: the mistake."""
        return self.text.split("\n\n")[0].replace("\n", " ")

    @property
    def text(self) -> str:
        """The documentation without its examples."""
        return self.unlinked.split("```")[0].strip()

    @property
    def unlinked(self) -> str:
        """The documentation outside its page: links are words, and name their pages."""
        return _LINK.sub(r"\1 (docs/\2)", self.documentation)


_CHECKS: dict[str, Check] = {}


def check(
    code: str, name: str, severity: Severity, *, pgsql: bool = False, any_size: bool = False
) -> Callable[[Finder], Finder]:
    """Return a decorator that registers a function from a subject to findings as a check.

    `pgsql`, `any_size`: see Check. Raises: ValueError if the code or the name is taken.
    """

    def register(find: Finder) -> Finder:
        if code in _CHECKS or any(name == known.name for known in _CHECKS.values()):
            raise ValueError(f"duplicate check {code} {name}")
        documentation = cleandoc(find.__doc__ or "")
        _CHECKS[code] = Check(code, name, severity, documentation, find, pgsql, any_size)
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
            "lint's checks cannot be read",
            fix="install proxyctl again, or raise the limit of open files (ulimit -n)",
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
        return suggestion or "choose from the checks that `proxyctl lint --list` shows"


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

    Raises: UnknownCode; UsageError if none is left.
    """
    checks = all_checks()
    wanted = frozenset().union(*map(codes_of, select)) or frozenset(checks)
    unwanted = frozenset().union(*map(codes_of, ignore))
    left = [check for code, check in checks.items() if code in wanted - unwanted]
    if not left:
        raise UsageError("no check is left to run", fix="ignore fewer of the selected checks")
    return left
