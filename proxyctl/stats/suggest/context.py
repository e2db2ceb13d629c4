"""What all kinds of suggestions look at, and what they share: names, limits, proofs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
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
from proxyctl.stats.units import count_text

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
    rows: dict[str, list[SeenDigest]] = field(default_factory=dict)
    """All rows of the digests that were asked for so far."""

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

    def rows_of(self, digests: Iterable[str]) -> dict[str, list[SeenDigest]]:
        """Return all rows of some digests, by digest. Changes: self."""
        wanted = set(digests)
        missing: dict[str, list[SeenDigest]] = {
            digest: [] for digest in wanted if digest not in self.rows
        }
        for seen in self.load.table.rows if missing else ():
            if seen.digest in missing:
                missing[seen.digest].append(seen)
        self.rows |= missing
        return {digest: self.rows[digest] for digest in wanted}

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

    def replayed(self, after: Configuration, digests: Collection[str] = ()) -> Report:
        """Return what becomes of the rows that are looked at under other rules.

        `digests`: all rows of these are among them.
        """
        rows: Collection[SeenDigest] = self.load.close
        if digests and not self.load.is_whole:
            whole = self.rows_of(digests)
            others = (seen for seen in rows if seen.digest not in whole)
            rows = [*others, *(seen for some in whole.values() for seen in some)]
        sides = Sides(self.configuration, after)
        table = replace(self.load.table, rows=rows)
        return replay(table, sides, limit=None, progress=self.progress)

    def replayed_digests(self, report: Report) -> str:
        """Return in words what a replay went through."""
        if self.load.is_whole:
            return f"all of the statistics, {count_text(report.total.digests, 'digest')}"
        return (
            f"{report.total.digests:,} of {count_text(self.load.digests, 'digest')} in the"
            " statistics, those with most time and most calls"
        )
