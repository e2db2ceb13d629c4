"""What all kinds of suggestions look at, and what they share: names, limits, proofs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

from proxyctl.routing.sides import Sides
from proxyctl.state.configuration import Configuration
from proxyctl.stats.model import SeenDigest
from proxyctl.stats.replay.comparison import CUT, OTHER_OPTIONS, Comparison
from proxyctl.stats.replay.result import Report, replay
from proxyctl.stats.suggest.found import Kind, Thresholds
from proxyctl.stats.suggest.load import Load
from proxyctl.stats.suggest.rules import Places, is_anyone

T = TypeVar("T")


@dataclass
class Context:
    """The digests, the rules in force, and what has been found so far. `limit`: of each kind."""

    load: Load
    configuration: Configuration
    thresholds: Thresholds = field(default_factory=Thresholds)
    limit: int | None = None
    may_use: Callable[[int], bool] = is_anyone
    progress: Callable[[int], None] = lambda _done: None
    notes: list[str] = field(default_factory=list)
    read_rules: dict[str, int] = field(default_factory=dict)
    """The first rule_id that is proposed for the reads of a digest."""
    left_out: dict[Kind, int] = field(default_factory=dict)

    @cached_property
    def places(self) -> Places:
        """The rule_ids that are free."""
        return Places(self.configuration, self.may_use)

    @cached_property
    def now(self) -> Comparison:
        """What becomes of the digests under the rules in force."""
        return Comparison(Sides(self.configuration, self.configuration), self.load.table.variables)

    def note(self, text: str) -> None:
        """Say what is not looked at. Changes: self."""
        if text not in self.notes:
            self.notes.append(text)

    def listed(self, kind: Kind, found: Sequence[T]) -> Sequence[T]:
        """Return what is listed of a kind, and count the rest. Changes: self."""
        kept = found if self.limit is None else found[: self.limit]
        if len(found) > len(kept):
            self.left_out[kind] = len(found) - len(kept)
        return kept

    def called(self, hostgroup: object) -> str:
        """Return a hostgroup as people call it."""
        name = self.configuration.hostgroup_names.get(hostgroup)  # type: ignore[call-overload]
        return f"hostgroup {hostgroup}" + (f" ({name})" if name else "")

    def share(self, sum_time: int) -> float:
        """Return the part of all query time."""
        return round(sum_time / self.load.sum_time, 6) if self.load.sum_time else 0.0

    def is_vague(self, seen: SeenDigest) -> bool:
        """Return whether the text of a digest does not say what the query was."""
        notes = self.now.verdict(seen).notes
        return CUT in notes or OTHER_OPTIONS in notes

    def loose_users(self) -> frozenset[str]:
        """Return the users whose transactions rules may tear apart: transaction_persistent 0."""
        held = self.configuration.tables.get("mysql_users")
        if held is None:
            return frozenset()
        at = held.layout.index
        return frozenset(
            str(row[at["username"]])
            for row in held.rows.values()
            if row[at["transaction_persistent"]] == 0 and row[at["frontend"]] != 0
        )

    def replayed(self, after: Configuration) -> Report:
        """Return what becomes of the rows that are followed under other rules."""
        table = replace(self.load.table, rows=self.load.followed)
        sides = Sides(self.configuration, after)
        return replay(table, sides, limit=None, progress=self.progress)
