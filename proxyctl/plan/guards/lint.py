"""Guards: lint findings that a plan introduces. Pure.

A plan introduces what lint finds in the configuration after it and not in the one before. The guard
`lint` warns unless the files say `refuse`: then an introduced error refuses the plan.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from proxyctl.catalog import TABLES
from proxyctl.config.project import Project
from proxyctl.lint.check import Check, all_checks
from proxyctl.lint.finding import Case, Finding, Severity
from proxyctl.lint.policy import BROKEN_POLICY
from proxyctl.lint.reports import checks_of_changes
from proxyctl.lint.run import LintReport, LocatedFinding
from proxyctl.lint.run import lint as run
from proxyctl.lint.subject import LintSubject
from proxyctl.plan.guards import Danger
from proxyctl.plan.plan import LintErrors
from proxyctl.proxysql.configuration import BeforeAfter, Configuration
from proxyctl.rows.desired import LINT
from proxyctl.rows.row import Key
from proxyctl.text import counted


@dataclass(frozen=True)
class LintResult:
    """What lint finds in a plan."""

    counts: LintErrors
    """The number of errors before and after the change."""
    introduced: tuple[LocatedFinding, ...] = ()
    """The errors and warnings that the plan introduces."""
    known: tuple[LocatedFinding, ...] = ()
    """The errors and warnings that were there before."""
    skipped: tuple[str, ...] = ()
    """The codes of the checks that did not run."""

    @property
    def errors(self) -> tuple[LocatedFinding, ...]:
        """The errors that the plan introduces, except for policies, which have their own guard."""
        return tuple(
            located
            for located in self.introduced
            if located.severity is Severity.ERROR and located.finding.code != BROKEN_POLICY
        )

    @property
    def errors_in_files(self) -> tuple[LocatedFinding, ...]:
        """The errors about rows of the files that were there before."""
        return tuple(
            located
            for located in self.known
            if located.severity is Severity.ERROR
            and any(at.where is not None for at in (located, *located.others))
        )


def lint_change(
    change: BeforeAfter, project: Project, *, is_large: bool = False, only_policies: bool = False
) -> LintResult:
    """Return what lint finds after the change, without what the files ignore.

    `is_large`: only checks for any size run. `only_policies`: only that of policies runs, as where
    the variables would end ProxySQL: no digest can be computed then.
    """
    skipped: tuple[str, ...] = ()
    if is_large or only_policies:
        checks = [all_checks()[BROKEN_POLICY]]
        if not only_policies:
            checks = [check for check in checks_of_changes() if check.any_size]
            skipped = tuple(check.code for check in checks_of_changes() if not check.any_size)
        after = _glance(change.after, project, checks)
        before = after if change.before is change.after else _glance(change.before, project, checks)
        subject = LintSubject(change.before)
    else:
        try:
            before, after, subject = project.lint_reports.of_change(change)
        except ValueError:
            return lint_change(change, project, only_policies=True)
    is_known = _Known(change, subject, before.findings)
    findings = [finding for finding in after.findings if finding.severity is not Severity.NOTE]
    by_verdict: dict[bool, list[LocatedFinding]] = {False: [], True: []}
    for finding in findings:
        by_verdict[is_known(finding)].append(finding)
    counts = LintErrors(before.counts[Severity.ERROR], after.counts[Severity.ERROR])
    return LintResult(counts, tuple(by_verdict[False]), tuple(by_verdict[True]), skipped)


def _glance(configuration: Configuration, project: Project, checks: Sequence[Check]) -> LintReport:
    """Return the report of checks for any size. The rows are in no order."""
    return run(LintSubject(configuration, policies=project.policies), checks, project.ignores)


class _Known:
    """Tells whether a finding was there before the plan.

    It was if lint found the same in each of its rows, no less grave, with all its cases. A row that
    changes needs the same words where its finding has no cases.
    """

    def __init__(
        self, change: BeforeAfter, before: LintSubject, findings: Sequence[LocatedFinding]
    ) -> None:
        self._change = change
        self._before = before
        self._severities: dict[_FindingKey, set[Severity]] = defaultdict(set)
        self._cases: dict[_FindingKey, set[Case | Key]] = defaultdict(set)
        self._messages: dict[_FindingKey, set[str]] = defaultdict(set)
        for located, key in _rows_of(findings):
            finding = located.finding
            row = _key_of(finding, key)
            self._severities[row].add(located.severity)
            self._cases[row] |= finding.cases.get(key, set())
            self._messages[row].add(finding.message)

    def __call__(self, located: LocatedFinding) -> bool:
        return all(self._is_known(finding, key) for finding, key in _rows_of([located]))

    def _is_known(self, located: LocatedFinding, key: Key) -> bool:
        finding = located.finding
        row, gravest_first = _key_of(finding, key), [*Severity]
        as_grave = gravest_first[: gravest_first.index(located.severity) + 1]
        if self._severities[row].isdisjoint(as_grave):
            return False
        if cases := finding.cases.get(key):
            return not any(self._is_new(case, row) for case in cases - self._cases[row])
        return finding.message in self._messages[row] or not self._changes(finding.table, key)

    def _is_new(self, case: Case | Key, row: _FindingKey) -> bool:
        """Return whether a case is new. A session that nobody had before is no new case."""
        side = self._before.pgsql_side if row[1].startswith("pgsql_") else self._before
        if not isinstance(case, Case) or case.session is None:
            return True
        if side is None or side.is_possible(case.session):
            return True
        return all(known[0] != case.text for known in self._cases[row])

    def _changes(self, table: str, key: Key) -> bool:
        before, after = self._change.before, self._change.after
        if table in TABLES and TABLES[table].prefix is not None:
            name = str(key[0])
            return before.variables.get(name) != after.variables.get(name)
        first, second = (
            side.tables[table].rows.get(key) if table in side.tables else None
            for side in (before, after)
        )
        return first != second


_FindingKey = tuple[str, str, Key, str | None]
"""Code, table, key and column of a finding in one row."""


def _key_of(finding: Finding, key: Key) -> _FindingKey:
    return finding.code, finding.table, key, finding.column


def _rows_of(findings: Iterable[LocatedFinding]) -> Iterator[tuple[LocatedFinding, Key]]:
    """Yield each row of the findings, with its own finding."""
    for first in findings:
        for located in (first, *first.others):
            for key in (located.finding.key, *located.finding.also):
                yield located, key


def dangers(errors: Sequence[LocatedFinding]) -> Iterator[Danger]:
    """Yield one danger for all errors that the plan introduces."""
    if errors:
        listed = counted(len(errors), "error")
        pronouns = "it as its finding says" if len(errors) == 1 else "them as their findings say"
        yield Danger(LINT, f"lint finds {listed} in the changes", f"correct {pronouns}")
