"""The queries of an event log under both releases: only their texts show which digests change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from proxyctl.catalog.releases import KEEPS_OPTIMIZER_HINTS
from proxyctl.proxysql.configuration import BeforeAfter
from proxyctl.routing.router import digester_of
from proxyctl.stats.events.event import EventTally, QueryEvent
from proxyctl.stats.model import DigestTable
from proxyctl.stats.replay.result import Replay, replay_events

MOST_DIGESTS = 10
"""The most digests to list that go elsewhere."""
_MOST_KNOWN = 50_000
"""The most queries whose digests are remembered."""
_HINT = "/*+"
_LONGEST_KNOWN = 2_000
"""The longest query to remember. Units: characters."""


class RenewedDigest(NamedTuple):
    """A digest of logged queries that the release does not make any more."""

    digest: str
    """The digest now."""
    text: str
    """Its text now."""
    after: str
    """The digest of the same queries under the release."""


@dataclass(frozen=True)
class LoggedQueries:
    """What the queries of a log show."""

    replay: Replay
    """Where they go under both releases."""
    renewed: Mapping[int, RenewedDigest]
    """The digests that change, by their number now."""
    seen: frozenset[int]
    """The numbers of all digests of the log."""
    hinted: frozenset[int]
    """Those of queries with an optimizer hint, whose digest under the release is not known."""


@dataclass
class _Digests:
    """The digests of the queries that were read so far."""

    sides: BeforeAfter
    renewed: dict[int, RenewedDigest] = field(default_factory=dict)
    seen: set[int] = field(default_factory=set)
    hinted: set[int] = field(default_factory=set)

    def observed(self, events: Iterable[QueryEvent]) -> Iterator[QueryEvent]:
        """Yield the events, each after its digests were noted. Changes: self."""
        before, after = (digester_of(side) for side in (self.sides.before, self.sides.after))
        keeps = [
            side.version.has(KEEPS_OPTIMIZER_HINTS)
            for side in (self.sides.before, self.sides.after)
        ]
        changes_hints = keeps[0] != keeps[1]
        known: set[str] = set()
        for event in events:
            if event.query not in known:
                old, new = before.digest(event.query), after.digest(event.query)
                self.seen.add(old.number)
                if changes_hints and _HINT in event.query:
                    self.hinted.add(old.number)
                if old.number != new.number and old.number not in self.renewed:
                    text = old.text.decode("utf-8", "surrogateescape")
                    renewed = RenewedDigest(old.hexadecimal, text, new.hexadecimal)
                    self.renewed[old.number] = renewed
                if len(event.query) <= _LONGEST_KNOWN and len(known) < _MOST_KNOWN:
                    known.add(event.query)
            yield event


def logged_queries(
    events: Iterable[QueryEvent], tally: EventTally, instance: DigestTable, sides: BeforeAfter
) -> LoggedQueries:
    """Return what the queries of a log show. `instance`: its digest variables; rows are not used.

    Raises: ProxyctlError for variables that ProxySQL refuses; also what reading the events raises.
    """
    digests = _Digests(sides)
    result = replay_events(digests.observed(events), tally, instance, sides, limit=MOST_DIGESTS)
    return LoggedQueries(result, digests.renewed, *map(frozenset, (digests.seen, digests.hinted)))
