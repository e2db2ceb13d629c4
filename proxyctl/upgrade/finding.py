"""Findings of an upgrade: their codes as data, and the results for an instance or a fleet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from proxyctl.catalog import Version
from proxyctl.errors import ExitCode
from proxyctl.fleet.failed import Failed, worst
from proxyctl.rows.row import Where


class Moment(StrEnum):
    """When to act on a finding."""

    BEFORE = "before"
    AFTER = "after"
    NEVER = "never"
    """There is nothing to do: the finding is worth knowing."""


class UpgradeCode(NamedTuple):
    """A kind of finding."""

    moment: Moment
    """When to act on it."""
    needs_decision: bool
    """Whether somebody must decide something."""
    summary: str
    """One sentence for the documentation."""


_B, _A, _N = Moment

CODES = {
    "downgrade": UpgradeCode(_B, True, "The release is older than the current one."),
    "not-saved": UpgradeCode(
        _B, True, "RUNTIME is not saved to DISK, and an upgrade restarts ProxySQL."
    ),
    "not-loaded": UpgradeCode(
        _B, True, "DISK is not loaded to RUNTIME: the restart of the upgrade will publish it."
    ),
    "cluster-stops-syncing": UpgradeCode(
        _B, True, "Members of a ProxySQL Cluster with different versions do not sync."
    ),
    "listener-opens": UpgradeCode(
        _B, True, "ProxySQL listens on an additional address by default."
    ),
    "variable-gone": UpgradeCode(_B, True, "The release lacks a variable that is set."),
    "variable-refused": UpgradeCode(_B, True, "The value of a variable is invalid in the release."),
    "default-changed": UpgradeCode(
        _B, True, "A variable that is not set has a different default in the release."
    ),
    "table-gone": UpgradeCode(_B, True, "The release lacks a table that has rows."),
    "column-gone": UpgradeCode(_B, True, "The release lacks a column that rows use."),
    "value-refused": UpgradeCode(_B, True, "The release refuses or ignores the value of a column."),
    "files-refused": UpgradeCode(
        _B, True, "The files, checked for the release, have a mistake that they do not have now."
    ),
    "routing-not-compared": UpgradeCode(
        _B, True, "A digest variable is invalid in one of the releases, so no queries were routed."
    ),
    "fast-routing-starts": UpgradeCode(
        _B, True, "Fast routing that ProxySQL skips after a last rule with apply 1 starts working."
    ),
    "fast-routing-stops": UpgradeCode(
        _B, True, "Fast routing after a last rule with apply 1 stops working."
    ),
    "pattern-changes": UpgradeCode(
        _B,
        True,
        "A pattern compiles in only one of the two regex engines, or may match differently.",
    ),
    "subnet-changes": UpgradeCode(
        _B, True, "A client_addr with a subnet matches in only one of the two releases."
    ),
    "digest-may-change": UpgradeCode(
        _B, True, "A row matches by the hash of a digest, and the hashes of some queries change."
    ),
    "password-rounds": UpgradeCode(
        _B,
        True,
        "A caching_sha2_password hash has a round count that the releases read differently.",
    ),
    "blue-green-discovery": UpgradeCode(
        _B, True, "ProxySQL adds Amazon RDS servers by itself during a blue/green switch."
    ),
    "lint": UpgradeCode(
        _B, True, "lint finds a mistake under the release that it does not find now."
    ),
    "routing-test-fails": UpgradeCode(
        _B, True, "A routing test passes now but fails under the release."
    ),
    "routing-changes": UpgradeCode(
        _B, True, "Digests that the instance has seen are routed differently under the release."
    ),
    "restart-applies": UpgradeCode(_N, False, "A variable on DISK takes effect on restart."),
    "keep-alive-rule": UpgradeCode(
        _A, False, "The rule that keeps fast routing alive is no longer needed."
    ),
    "digests-count-anew": UpgradeCode(
        _A, False, "Some queries get a different digest and are counted as new."
    ),
    "acts-by-itself": UpgradeCode(_A, False, "A new variable takes effect although it is not set."),
    "statistics-change": UpgradeCode(_A, False, "Statistics have different names or count more."),
    "known-defect": UpgradeCode(_A, False, "A defect of the release that may matter."),
    "security-fixes-missing": UpgradeCode(
        _A, False, "A later release fixes vulnerabilities that the release has."
    ),
    "security-fixes": UpgradeCode(_N, False, "The release fixes vulnerabilities."),
    "security-fixes-lost": UpgradeCode(
        _B, True, "The release has vulnerabilities that the current one does not have."
    ),
    "new-in-release": UpgradeCode(_N, False, "The release adds variables and tables."),
    "not-proven": UpgradeCode(_N, False, "proxyctl has never been run on the release."),
}
"""All kinds of findings, in the order in which to act on them. Codes are stable."""


class Reliance(NamedTuple):
    """A part of the configuration that a change concerns."""

    text: str
    """The row, the variable with its value, or the digest."""
    where: Where | None = None
    """Its place in the files; None: in no file."""

    def __str__(self) -> str:
        return self.text if self.where is None else f"{self.text} ({self.where})"


@dataclass(frozen=True)
class UpgradeFinding:
    """One finding."""

    code: str
    """The kind of finding, a key of CODES."""
    subject: str
    """What it is about: a variable, a table, an admin module."""
    message: str
    """What changes, in one sentence."""
    fix: str = ""
    """What to do; '' if there is nothing to do."""
    relies_on: tuple[Reliance, ...] = ()
    """The rows and variables of the configuration that are concerned."""

    @property
    def kind(self) -> UpgradeCode:
        """What its code says."""
        return CODES[self.code]


@dataclass(frozen=True)
class UpgradeReport:
    """What an upgrade changes for one instance, or for files."""

    name: str
    """The name of the instance in the files, or its address; '' for files."""
    address: str
    """The address of the admin interface; '' for files."""
    version: str
    """The present version: as the instance reports it, or as the files name it."""
    to: Version
    """The release to upgrade to."""
    findings: tuple[UpgradeFinding, ...]
    """The findings, in the order in which to act on them."""
    is_there: bool = field(default=False)
    """Whether the instance runs the release already, or the files are for it."""

    @property
    def decisions(self) -> int:
        """The number of findings that need a decision."""
        return sum(finding.kind.needs_decision for finding in self.findings)

    @property
    def exit_code(self) -> ExitCode:
        """2 if anything needs a decision, otherwise 0."""
        return ExitCode.DIFFERENCES if self.decisions else ExitCode.DONE


@dataclass(frozen=True)
class UpgradeOfFleet:
    """The reports of all instances, in the order of the files."""

    reports: Sequence[UpgradeReport]
    """The reports of the instances that could be read."""
    failed: Sequence[Failed] = ()
    """The instances that could not be read."""

    def only(self) -> UpgradeReport:
        """Return the only report. Raises: the error that prevented it."""
        for failure in self.failed:
            raise failure.error
        (report,) = self.reports
        return report

    @property
    def exit_code(self) -> ExitCode:
        """The worst code of all."""
        codes = [report.exit_code for report in self.reports]
        return worst([*codes, *(failure.error.exit_code for failure in self.failed)])
