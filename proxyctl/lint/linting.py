"""Runs checks over a configuration, leaves out what is ignored, and puts findings in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from proxyctl.lint.all_checks import UNUSED_IGNORE
from proxyctl.lint.finding import Check, Finding, Severity
from proxyctl.lint.subject import Subject
from proxyctl.state.row import Key, Where


@dataclass(frozen=True)
class Ignore:
    """Findings that are meant to be. `table` and `key` narrow it to one table, or to one row."""

    codes: frozenset[str]
    text: str
    where: Where
    table: str | None = None
    key: Key | None = None

    def takes(self, finding: Finding) -> bool:
        """Return whether it is about this finding."""
        if finding.code not in self.codes:
            return False
        if self.table is not None and self.table != finding.table:
            return False
        return self.key is None or _as_text(self.key) == _as_text(finding.key[: len(self.key)])


def _as_text(key: Key) -> tuple[str, ...]:
    return tuple(map(str, key))


@dataclass(frozen=True)
class Placed:
    """A finding with its check, and where its row stands in the files (None: in no file)."""

    finding: Finding
    check: Check
    where: Where | None

    @property
    def severity(self) -> Severity:
        """How bad it is."""
        return self.finding.severity or self.check.severity


@dataclass(frozen=True)
class Report:
    """What lint says about one configuration.

    Shape: `findings` by place; `ignored` counts those that the files ignore. `name` of an instance,
    empty for files. `checks` are those that ran.
    """

    findings: Sequence[Placed]
    checks: Sequence[Check]
    ignored: int = 0
    name: str = ""
    counts: Counter[Severity] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "counts", Counter(one.severity for one in self.findings))

    @property
    def has_errors(self) -> bool:
        """Whether anything found is an error."""
        return self.counts[Severity.ERROR] > 0


def lint(
    subject: Subject, checks: Sequence[Check], ignores: Sequence[Ignore] = (), *, name: str = ""
) -> Report:
    """Return what the checks find. Raises: ValueError as `Subject.router`."""
    used: set[int] = set()
    kept: list[Placed] = []
    ignored = 0
    place = subject.configuration.place
    for one in checks:
        for found in one.find(subject):
            finding = replace(found, code=one.code)
            taken = {number for number, ignore in enumerate(ignores) if ignore.takes(finding)}
            used |= taken
            if taken:
                ignored += 1
            else:
                where = finding.where or place(finding.table, finding.key, finding.column)
                kept.append(Placed(finding, one, where))
    ran = {one.code: one for one in checks}
    if UNUSED_IGNORE in ran:
        kept += _unused(
            [i for n, i in enumerate(ignores) if n not in used and i.codes <= ran.keys()],
            ran[UNUSED_IGNORE],
        )
    kept.sort(key=_order)
    return Report(kept, checks, ignored, name)


def _unused(ignores: Iterable[Ignore], by: Check) -> Iterable[Placed]:
    for ignore in ignores:
        finding = Finding(
            "lint", (), f"{ignore.text} ignores nothing", hint="remove it", code=by.code
        )
        yield Placed(finding, by, ignore.where)


_Order = tuple[str, int, int, str, tuple[tuple[int, int, str], ...], str, str]


def _order(one: Placed) -> _Order:
    """Return by what findings are sorted: their place, or else their row."""
    path, line, column = one.where[:3] if one.where else ("", 0, 0)
    key = tuple(
        (0, part, "") if isinstance(part, int) else (1, 0, str(part)) for part in one.finding.key
    )
    finding = one.finding
    return path, line, column, finding.table, key, finding.code, finding.message
