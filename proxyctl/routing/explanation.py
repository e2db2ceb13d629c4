"""The chain of rules that a query went along."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from proxyctl.routing.reason import Reason
from proxyctl.routing.route import Route


class FastRoutingUse(Enum):
    """What became of fast routing."""

    FOUND = "a row of fast routing decided"
    NO_ROW = "no row of fast routing fits"
    APPLIED = "a rule with apply matched: fast routing is not asked"
    SHUT_OFF = (
        "the last rule has apply, and ProxySQL then skips fast routing though it did not match"
    )
    NOT_ASKED = "rules were not evaluated"


@dataclass(frozen=True, slots=True)
class Step:
    """A rule that was looked at.

    Shape: `reason` None means that it matched, and only then the fields below it say something.
    """

    rule_id: int
    reason: Reason | None
    flag: int
    """Where the query stood: only rules with this flagIN are tried."""
    broken: Mapping[str, str]
    """What is wrong with a pattern that does not compile, by column."""
    unverified: tuple[str, ...]
    """The columns whose pattern has unusual syntax: ProxySQL's engine may read it otherwise."""
    sets: Mapping[str, int | str]
    """What the rule set, destination_hostgroup as well."""
    flag_after: int
    rewritten: bytes | None = None
    """The text behind this rule, if it has a replace_pattern; it may be what it was."""
    applied: bool = False
    started_again: bool = False
    """Whether the evaluation went back to the first rule."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """A route, and how it came about.

    Shape: `steps` hold each rule that ProxySQL looked at, one more than once where rules are
    evaluated again, and behind a rule with apply those that were not reached.
    """

    route: Route
    steps: tuple[Step, ...]
    fast_routing: FastRoutingUse
    fast_key: tuple[str, str, int] | None
    """The row of fast routing that decided."""
    hints: Mapping[str, int | str]
    """What the first comment set."""
