"""Hits of query rules: a sample at one moment, and the rates between two samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from proxyctl.catalog import Value
from proxyctl.stats.counters import CounterPair, were_cleared


@dataclass(frozen=True)
class RuleHits:
    """A rule at RUNTIME and its hits."""

    rule_id: int
    """The rule."""
    hits: int
    """The hits since the rules were loaded."""
    cells: Mapping[str, Value]
    """The columns of the rule, by name."""
    share: float = 0.0
    """The part of all hits, from 0 to 1; with a second sample, of the hits in between."""
    per_s: float | None = None
    """The hits per second. None without a second sample, and when the rules were loaded in between:
    every LOAD sets the hits to 0."""


@dataclass(frozen=True)
class RuleHitsSample:
    """The rules at RUNTIME at one moment, in the order in which ProxySQL tries them."""

    taken_at: float
    """The time of the sample. Units: seconds of a monotonic clock."""
    hits: Mapping[int, int]
    """The hits, by rule_id."""
    rules: Mapping[int, Mapping[str, Value]]
    """The columns of each rule, by rule_id."""
    loads: int | None = None
    """The number of LOADs of the rules since ProxySQL started; None if the instance does not report
    it."""
    loaded_at: int | None = None
    """The time of the last LOAD; None if the instance does not report it. Units: unix seconds of
    the instance."""


@dataclass(frozen=True)
class RuleReport:
    """Hits of all rules."""

    name: str
    """The name of the instance in the files, or its address."""
    address: str
    """The address of the admin interface."""
    version: str
    """The version as the instance reports it."""
    rules: tuple[RuleHits, ...]
    """The rules, in the order in which ProxySQL tries them."""
    loaded_at: int | None
    """The time of the last LOAD; None if the instance does not report it. Units: unix seconds of
    the instance."""
    interval_s: float | None
    """The time between two samples; None with one sample. Units: seconds."""
    was_reloaded: bool
    """Whether rules were loaded, or ProxySQL restarted, between the samples."""

    @property
    def total(self) -> int:
        """The sum of all hits. A query can hit several rules."""
        return sum(rule.hits for rule in self.rules)

    @property
    def never_hit(self) -> list[int]:
        """The rule_ids of the rules without a hit."""
        return [rule.rule_id for rule in self.rules if rule.hits == 0]


def rule_report(
    name: str,
    address: str,
    version: str,
    sample: RuleHitsSample,
    earlier: RuleHitsSample | None = None,
) -> RuleReport:
    """Return the report of a sample, with rates if there is an earlier sample.

    Shares are of all hits; with an earlier sample, of the hits since then.
    """
    was_reloaded = earlier is not None and _is_new_set(earlier, sample)
    interval = None if earlier is None else sample.taken_at - earlier.taken_at
    hits = {rule_id: sample.hits.get(rule_id, 0) for rule_id in sample.rules}
    before = {} if earlier is None or was_reloaded else earlier.hits
    between = {rule_id: count - before.get(rule_id, 0) for rule_id, count in hits.items()}
    whole = sum(between.values())
    rules = tuple(
        RuleHits(
            rule_id,
            hits[rule_id],
            cells,
            between[rule_id] / whole if whole else 0.0,
            between[rule_id] / interval if interval and not was_reloaded else None,
        )
        for rule_id, cells in sample.rules.items()
    )
    return RuleReport(name, address, version, rules, sample.loaded_at, interval, was_reloaded)


def _is_new_set(earlier: RuleHitsSample, later: RuleHitsSample) -> bool:
    """Return whether rules were loaded, or ProxySQL restarted, between two samples."""
    if earlier.loads != later.loads or earlier.loaded_at != later.loaded_at:
        return True
    return any(
        were_cleared(CounterPair(hits), CounterPair(later.hits.get(rule_id, 0)))
        for rule_id, hits in earlier.hits.items()
    )
