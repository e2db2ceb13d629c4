"""All checks, and what they find in the facts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from importlib import import_module

from proxyctl.doctor.facts import Facts
from proxyctl.doctor.finding import CHECKS, Check, Finding, Severity

KINDS = ("monitor", "hostgroups", "tls", "layers", "cluster", "versions", "digests", "defects")
"""The modules with checks, what stops traffic first. Findings of one severity keep this order."""


def all_checks() -> dict[str, Check]:
    """Return every check by code. A check registers itself when its module is imported."""
    for kind in KINDS:
        import_module(f"proxyctl.doctor.{kind}")
    return dict(CHECKS)


@dataclass(frozen=True)
class Examination:
    """What is wrong with one instance. Shape: `findings` with the gravest first."""

    facts: Facts
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
    def has_warnings(self) -> bool:
        """Whether anything found is a warning."""
        return self.counts[Severity.WARNING] > 0


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
    return Examination(facts, tuple(kept), len(found) - len(kept))
