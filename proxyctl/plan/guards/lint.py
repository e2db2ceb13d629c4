"""Guards: lint findings that a plan introduces. Pure.

A plan introduces what lint finds in the configuration after it and not in the one before. The guard
`lint` warns unless the files say `refuse`: then an introduced error refuses the plan.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from proxyctl.catalog import TABLES
from proxyctl.config.desired import Project
from proxyctl.errors import counted
from proxyctl.lint.check import UNUSED_IGNORE, Severity, all_checks
from proxyctl.lint.run import Placed, Report
from proxyctl.lint.run import lint as run
from proxyctl.lint.subject import Subject
from proxyctl.plan.guards import Danger
from proxyctl.state.configuration import BeforeAfter, Configuration
from proxyctl.state.row import LINT, Key, sorted_keys


@dataclass(frozen=True)
class LintResult:
    """What lint finds in a plan.

    Shape: `introduced` has errors and warnings; `known` are those that were there before.
    """

    introduced: tuple[Placed, ...] = ()
    known: tuple[Placed, ...] = ()

    @property
    def errors(self) -> tuple[Placed, ...]:
        """The errors that the plan introduces."""
        return tuple(one for one in self.introduced if one.severity is Severity.ERROR)

    @property
    def errors_in_files(self) -> tuple[Placed, ...]:
        """The errors about rows of the files that were there before."""
        return tuple(
            one
            for one in self.known
            if one.severity is Severity.ERROR
            and any(at.where is not None for at in (one, *one.others))
        )


def lint_change(change: BeforeAfter, project: Project) -> LintResult:
    """Return what lint finds after the change, without what the files ignore.

    Empty if the variables would end ProxySQL: no digest can be computed then.
    """
    after = _report(_Case.of(change.after, project))
    before = after if change.before is change.after else _report(_Case.of(change.before, project))
    if after is None or before is None:
        return LintResult()
    is_known = _Known(change, before.findings)
    findings = [one for one in after.findings if one.severity is not Severity.NOTE]
    known = tuple(filter(is_known, findings))
    return LintResult(tuple(one for one in findings if one not in known), known)


@dataclass(frozen=True)
class _Case:
    """A configuration to lint. Instances of a fleet that hold the same are the same case."""

    project: Project
    content: Hashable
    configuration: Configuration = field(compare=False)

    @classmethod
    def of(cls, configuration: Configuration, project: Project) -> _Case:
        tables = frozenset(
            (name, held.is_whole, frozenset(held.rows.values()))
            for name, held in configuration.tables.items()
        )
        variables = frozenset(configuration.variables.items())
        # ProxySQL keeps rows in no order, and a finding begins with its first row.
        ordered = {
            name: replace(held, rows={key: held.rows[key] for key in sorted_keys(held.rows)})
            for name, held in configuration.tables.items()
        }
        content = configuration.version, tables, variables
        return cls(project, content, replace(configuration, tables=ordered))


@lru_cache(maxsize=16)
def _report(case: _Case) -> Report | None:
    checks = [check for code, check in all_checks().items() if code != UNUSED_IGNORE]
    try:
        return run(Subject(case.configuration), checks, case.project.ignores)
    except ValueError:
        return None


class _Known:
    """Tells whether a finding was there before the plan.

    It was if lint found the same in each of its rows; and if a row changes, in the same words.
    """

    def __init__(self, change: BeforeAfter, findings: Sequence[Placed]) -> None:
        self._change = change
        self._rows = {row for placed in findings for row in _rows_of(placed)}
        self._messages = Counter((one.finding.code, one.finding.message) for one in findings)

    def __call__(self, placed: Placed) -> bool:
        rows = [*_rows_of(placed)]
        is_same = (placed.finding.code, placed.finding.message) in self._messages
        return all(row in self._rows for row in rows) and (
            is_same or not any(self._changes(table, key) for _, table, key in rows)
        )

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


def _rows_of(placed: Placed) -> Iterator[tuple[str, str, Key]]:
    for finding in (at.finding for at in (placed, *placed.others)):
        for key in (finding.key, *finding.also):
            yield finding.code, finding.table, key


def dangers(errors: Sequence[Placed]) -> Iterator[Danger]:
    """Yield one danger for all errors that the plan introduces."""
    if errors:
        listed = counted(len(errors), "error")
        pronouns = "it as its finding says" if len(errors) == 1 else "them as their findings say"
        yield Danger(LINT, f"lint finds {listed} in the changes", f"correct {pronouns}")
