"""What `digest suggest` finds: suggestions with their evidence, and what was not looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from proxyctl.catalog import Layout, Value
from proxyctl.digests.suggest_thresholds import Thresholds


class Kind(StrEnum):
    """What a suggestion is about, in the order in which they are shown."""

    READS = "reads"
    """A read on a writer that a reader could answer."""
    CACHE = "cache"
    """The same small answer, again and again."""
    SLOW = "slow"
    """An average far above that of the peers."""


@dataclass(frozen=True)
class Suggestion:
    """One proposal.

    Shape: `evidence` are numbers by name, the unit behind the name (`_us`, `_s`, `_ms`); `says` the
    same in sentences; `unknown` what it cannot know. `rules` are cells of mysql_query_rules to
    paste, what is not named has the column's default. `proof` says what was shown of them on the
    seen digests, or why there are none.
    Units: `weight_us`, the query time that it is about, in microseconds.
    """

    kind: Kind
    title: str
    evidence: Mapping[str, int | float | str | None]
    says: tuple[str, ...]
    unknown: tuple[str, ...]
    weight_us: int = 0
    digest: str = ""
    digest_text: str = ""
    rules: tuple[Mapping[str, Value], ...] = ()
    proof: str = ""


@dataclass(frozen=True)
class Suggestions:
    """All of one run.

    Shape: `found` by kind, the biggest first; `left_out` counts those beyond the limit, by kind;
    `notes` say what could not be looked at, and why. `layout` is that of mysql_query_rules.
    Units: `taken_at` in unix seconds, `sum_time` in microseconds.
    """

    name: str
    address: str
    version: str
    taken_at: int
    digests: int
    count_star: int
    sum_time: int
    layout: Layout
    thresholds: Thresholds
    found: tuple[Suggestion, ...] = ()
    notes: tuple[str, ...] = ()
    left_out: Mapping[Kind, int] = field(default_factory=dict)
