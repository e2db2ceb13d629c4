"""All checks, and what they find in the facts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from importlib import import_module

from proxyctl.doctor.facts import Facts
from proxyctl.doctor.finding import CHECKS, Check, Finding, Severity
from proxyctl.errors import ExitCode

KINDS = (
    "monitor",
    "kept_out",
    "hostgroups",
    "shunned",
    "tls",
    "layers",
    "cluster",
    "versions",
    "digests",
    "defects",
)
"""The modules with checks, what stops traffic first. Findings of one severity keep this order."""


def all_checks() -> dict[str, Check]:
    """Return every check by code. A check registers itself when its module is imported."""
    for kind in KINDS:
        import_module(f"proxyctl.doctor.{kind}")
    return dict(CHECKS)


@dataclass(frozen=True)
class Examination:
    """What is wrong with one instance.

    Shape: `findings` with the gravest first. `version` as the instance spells it.
    """

    name: str
    address: str
    version: str
    findings: tuple[Finding, ...]
    ignored: int = 0
    counts: Counter[Severity] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "counts", Counter(one.severity for one in self.findings))

    @property
    def has_errors(self) -> bool:
        """Whether anything found is an error."""
        return self.counts[Severity.ERROR] > 0

    @property
    def gravest(self) -> Severity | None:
        """The severity of the gravest finding; None where nothing is wrong."""
        return self.findings[0].severity if self.findings else None

    def exit_code(self, *, strict: bool) -> ExitCode:
        """Return what a command ends with: 1 for an error; with `strict` for a warning, too."""
        fails = {Severity.ERROR, Severity.WARNING} if strict else {Severity.ERROR}
        return ExitCode.ERROR if self.gravest in fails else ExitCode.DONE


def examine(facts: Facts, ignored: Collection[str] = ()) -> Examination:
    """Return what the checks find; those with an ignored code are only counted."""
    found = [
        replace(finding, code=one.code, severity=one.severity)
        for one in all_checks().values()
        for finding in one.find(facts)
    ]
    kept = [finding for finding in found if finding.code not in ignored]
    order = list(Severity)
    kept.sort(key=lambda finding: order.index(finding.severity))
    ignored_count = len(found) - len(kept)
    return Examination(facts.name, facts.address, facts.version_text, tuple(kept), ignored_count)
