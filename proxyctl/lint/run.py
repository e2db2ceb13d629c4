"""Run checks over a configuration, drop ignored findings, and sort the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from proxyctl.lint.check import UNUSED_IGNORE, Check
from proxyctl.lint.finding import Finding, Severity
from proxyctl.lint.subject import LintSubject
from proxyctl.rows.row import Key, Where


@dataclass(frozen=True)
class Ignore:
    """An entry of `lint: ignore:`."""

    codes: frozenset[str]
    """The codes of the ignored checks."""
    text: str
    """The entry as the file writes it."""
    where: Where
    """The place of the entry in the files."""
    table: str | None = None
    """The only table that the entry is about; None: all tables."""
    key: Key | None = None
    """The key of the only row that the entry is about; None: all rows."""

    def matches(self, finding: Finding, key: Key) -> bool:
        """Return whether the entry covers this row of a finding."""
        if finding.code not in self.codes or self.table not in (None, finding.table):
            return False
        return self.key is None or _as_text(self.key) == _as_text(key[: len(self.key)])


def _as_text(key: Key) -> tuple[str, ...]:
    return tuple(map(str, key))


@dataclass(frozen=True)
class LocatedFinding:
    """A finding with its check and its place in the files."""

    finding: Finding
    """The mistake."""
    check: Check
    """The check that found it."""
    where: Where | None
    """The place of the row or column in the files; None: in no file."""
    others: tuple[LocatedFinding, ...] = ()
    """The findings in other tables with the same cause."""
    owner: str = ""
    """` (in no file)` if the files are known and lack the row."""

    @property
    def severity(self) -> Severity:
        """How bad the finding is."""
        return self.finding.severity or self.check.severity


@dataclass(frozen=True)
class LintReport:
    """The findings in one configuration."""

    findings: Sequence[LocatedFinding]
    """The findings, sorted by place."""
    checks: Sequence[Check]
    """The checks that ran."""
    ignored: int = 0
    """The number of findings that the files ignore."""
    name: str = ""
    """The name of the instance, or its address; empty for files."""
    counts: Counter[Severity] = field(init=False)
    """The number of findings by severity."""

    def __post_init__(self) -> None:
        counts = Counter(finding.severity for finding in self.findings)
        object.__setattr__(self, "counts", counts)

    @property
    def has_errors(self) -> bool:
        """Whether any finding is an error."""
        return self.counts[Severity.ERROR] > 0


def lint(
    subject: LintSubject, checks: Sequence[Check], ignores: Sequence[Ignore] = (), *, name: str = ""
) -> LintReport:
    """Return the report of the checks. Raises: ProxyctlError as `LintSubject.router`."""
    used: set[int] = set()
    kept: list[LocatedFinding] = []
    ignored = 0
    place = subject.configuration.place
    for check, finding in _all_findings(subject, checks):
        left = _without_ignored(replace(finding, code=check.code), ignores, used)
        if finding.is_superseded:
            continue
        if left is None:
            ignored += 1
            continue
        where = left.where or place(left.table, left.key, left.column)
        owner = "" if where else subject.configuration.owner(left.table, left.key)
        kept.append(LocatedFinding(left, check, where, owner=owner))
    ran = {check.code: check for check in checks}
    if UNUSED_IGNORE in ran:
        unused = [ignore for number, ignore in enumerate(ignores) if number not in used]
        judged = (ignore for ignore in unused if ignore.codes <= ran.keys())
        kept += _unused_findings(judged, ran[UNUSED_IGNORE])
    kept.sort(key=_order)
    return LintReport(_joined(kept), checks, ignored, name)


def _all_findings(subject: LintSubject, checks: Iterable[Check]) -> Iterator[tuple[Check, Finding]]:
    """Yield the findings of each check on the MySQL side, and on the PostgreSQL side."""
    for check in checks:
        yield from ((check, finding) for finding in check.find(subject))
    if (pgsql := subject.pgsql_side) is not None:
        for check in checks:
            if check.pgsql:
                yield from ((check, finding) for finding in check.find(pgsql))


def _joined(findings: Iterable[LocatedFinding]) -> list[LocatedFinding]:
    """Merge findings with one cause in several tables into one, at the first place."""
    by_cause: dict[object, LocatedFinding] = {}
    for number, located in enumerate(findings):
        finding = located.finding
        cause = (finding.code, finding.message, finding.fix, located.severity)
        first = by_cause.get(cause)
        if first is None:
            by_cause[cause] = located
        elif finding.table in {other.finding.table for other in (first, *first.others)}:
            by_cause[number] = located
        else:
            by_cause[cause] = replace(first, others=(*first.others, located))
    return list(by_cause.values())


def _without_ignored(finding: Finding, ignores: Sequence[Ignore], used: set[int]) -> Finding | None:
    """Return the finding without its ignored rows; None if no row is left. Changes: used."""
    if not ignores:
        return finding
    left: list[Key] = []
    for key in (finding.key, *finding.also):
        matching = {n for n, ignore in enumerate(ignores) if ignore.matches(finding, key)}
        used |= matching
        if not matching:
            left.append(key)
    return replace(finding, key=left[0], also=tuple(left[1:])) if left else None


def _unused_findings(ignores: Iterable[Ignore], check: Check) -> Iterator[LocatedFinding]:
    for ignore in ignores:
        message = f"{ignore.text} ignores nothing"
        finding = Finding("lint", (), message, fix="remove it", code=check.code)
        yield LocatedFinding(finding, check, ignore.where)


_Order = tuple[str, int, int, str, tuple[tuple[int, int, str], ...], str, str]


def _order(located: LocatedFinding) -> _Order:
    """Return the sort key of a finding: its place, then its row."""
    path, line, column = located.where[:3] if located.where else ("", 0, 0)
    finding = located.finding
    key = tuple(
        (0, part, "") if isinstance(part, int) else (1, 0, str(part)) for part in finding.key
    )
    return path, line, column, finding.table, key, finding.code, finding.message
