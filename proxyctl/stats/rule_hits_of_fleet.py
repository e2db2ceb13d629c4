"""Hits of query rules on many instances: the sums of all, and the instances with other rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from proxyctl.catalog import Value
from proxyctl.errors import ExitCode
from proxyctl.fleet.failed import Failed, worst_of
from proxyctl.stats.rule_hits import RuleHits, RuleReport


@dataclass(frozen=True)
class RuleOfFleet:
    """A rule, with the hits of all instances that have it with the same columns."""

    rule_id: int
    """The rule."""
    cells: Mapping[str, Value]
    """The columns of the rule, by name."""
    instances: tuple[str, ...]
    """The instances that have it, in the order of the files."""
    hits: int
    """The hits on these instances, each since its rules were loaded."""
    share: float
    """The part of all hits, from 0 to 1."""
    per_s: float | None
    """The hits per second. None without a second reading, and when an instance loaded its rules in
    between."""


@dataclass(frozen=True)
class RulesOfFleet:
    """The hits of all rules on many instances."""

    reports: Sequence[RuleReport]
    """The hits on each instance that could be read, in the order of the files."""
    failed: Sequence[Failed] = ()
    """The instances that could not be read."""

    @cached_property
    def rules(self) -> list[RuleOfFleet]:
        """Every rule, in the order in which ProxySQL tries them; each of its versions once."""
        versions: dict[tuple[int, tuple[Value, ...]], dict[str, RuleHits]] = {}
        for report in self.reports:
            for rule in report.rules:
                key = rule.rule_id, tuple(rule.cells.values())
                versions.setdefault(key, {})[report.name] = rule
        whole = sum(report.total for report in self.reports)
        rules = [
            RuleOfFleet(
                rule_id,
                next(iter(on.values())).cells,
                tuple(on),
                hits := sum(rule.hits for rule in on.values()),
                hits / whole if whole else 0.0,
                None if self.has_no_rates else sum(rule.per_s or 0.0 for rule in on.values()),
            )
            for (rule_id, _), on in versions.items()
        ]
        return sorted(rules, key=lambda rule: rule.rule_id)

    @property
    def has_no_rates(self) -> bool:
        """Whether hits per second are unknown: one reading, or rules were loaded in between."""
        return any(report.interval_s is None or report.was_reloaded for report in self.reports)

    @property
    def never_hit(self) -> dict[int, list[str]]:
        """The rules without a hit on any instance that has them, each with these instances."""
        versions: dict[int, list[RuleOfFleet]] = {}
        for rule in self.rules:
            versions.setdefault(rule.rule_id, []).append(rule)
        names = [report.name for report in self.reports]
        return {
            rule_id: [name for name in names if any(name in rule.instances for rule in rules)]
            for rule_id, rules in versions.items()
            if not any(rule.hits for rule in rules)
        }

    @property
    def differing(self) -> list[int]:
        """The rule_ids that not all instances have, or have with the same columns."""
        count = len(self.reports)
        found = (rule.rule_id for rule in self.rules if len(rule.instances) < count)
        return list(dict.fromkeys(found))

    @property
    def exit_code(self) -> ExitCode:
        """The worst code of the instances that could not be read."""
        return worst_of(self.failed)
