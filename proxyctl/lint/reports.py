"""What lint found before and after changes; instances that hold the same are linted once."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from threading import Lock
from typing import NamedTuple

from proxyctl.lint.check import UNUSED_IGNORE, Check, all_checks
from proxyctl.lint.policy import Policy
from proxyctl.lint.run import Ignore, LintReport, lint
from proxyctl.lint.subject import LintSubject
from proxyctl.proxysql.configuration import BeforeAfter, Configuration
from proxyctl.rows.row import sorted_keys

_MOST_KEPT = 16
"""The number of reports, and of subjects, that are kept."""


def checks_of_changes() -> list[Check]:
    """Return the checks of rows and variables."""
    return [check for code, check in all_checks().items() if code != UNUSED_IGNORE]


class ChangeReports(NamedTuple):
    """What lint found before and after a change."""

    before: LintReport
    """The report of the configuration before the change."""
    after: LintReport
    """The report of the configuration after the change."""
    subject: LintSubject
    """The configuration before the change, as lint sees it."""


class LintReports:
    """Lints changes under the policies and ignores of one project, and keeps the reports.

    Instances that are planned at the same time wait for the report of the first.
    """

    def __init__(self, policies: Sequence[Policy], ignores: Sequence[Ignore]) -> None:
        self._policies, self._ignores = policies, ignores
        self._subject = lru_cache(_MOST_KEPT)(self._make_subject)
        self._report = lru_cache(_MOST_KEPT)(self._make_report)
        self._guard = Lock()

    def of_change(self, change: BeforeAfter) -> ChangeReports:
        """Return the reports of a change. Raises: ValueError if no digest can be computed."""
        before, after = _LintInput.of(change.before), _LintInput.of(change.after)
        with self._guard:
            first, last = self._report(before, after), self._report(after, before)
            return ChangeReports(first, last, self._subject(before))

    def _make_subject(self, held: _LintInput) -> LintSubject:
        return LintSubject(held.configuration, policies=self._policies)

    def _make_report(self, held: _LintInput, other: _LintInput) -> LintReport:
        """Return the report of a configuration, tried in the sessions of the other one, too.

        Otherwise a session that only one of them tells apart could not be compared.
        """
        subject = self._subject(held)
        if held != other:
            others = self._subject(other)
            subject = LintSubject(held.configuration, policies=self._policies, other=others)
        return lint(subject, checks_of_changes(), self._ignores)


@dataclass(frozen=True)
class _LintInput:
    """A configuration to lint. Instances of a fleet that hold the same are equal."""

    content: Hashable
    configuration: Configuration = field(compare=False)

    @classmethod
    def of(cls, configuration: Configuration) -> _LintInput:
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
        return cls(content, replace(configuration, tables=ordered))
