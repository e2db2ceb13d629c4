"""Which rules caught the digests of a time in a store: evaluated, since no statistics name them."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from proxyctl.stats.model import SeenDigest
from proxyctl.stats.store.routing import MOST_ROWS, NotedRouting, RoutingGap, noted_routing
from proxyctl.stats.store.window import WindowReader

if TYPE_CHECKING:
    from proxyctl.stats.replay.comparison import Comparison, QueryTreatment

MOST_SESSIONS = 100
"""How many schemas, users, clients and instances of a digest are evaluated, those with most queries
first."""


@dataclass(frozen=True)
class CaughtQueries:
    """Queries of a digest that the rules treat alike."""

    count_star: int
    """The number of queries; of a digest that ran in the other time only, there."""
    outcomes: tuple[QueryTreatment, ...]
    """What the rules do with them; several if the digest does not decide, none if nothing is
    known."""


@dataclass(frozen=True)
class DigestSession:
    """A schema, user and client that ran a digest on an instance."""

    instance: int
    """The number of the instance in the store."""
    schemaname: str
    """The schema."""
    username: str
    """The user."""
    client_address: str
    """The address of the client; '' unless clients are tracked."""
    count_star: int
    """The number of queries."""


def sessions_of(reader: WindowReader, digest: str) -> list[DigestSession]:
    """Return who ran a digest in a window, with most queries first, at most `MOST_SESSIONS`."""
    rows = reader.store.execute(
        "SELECT series.instance, schemaname, username, client_address, sum(sums.count_star)"
        " FROM instance JOIN series ON series.instance = instance.id AND series.digest = ?"
        f" JOIN {reader.sums} AS sums ON sums.series = series.id"
        f" GROUP BY 1, 2, 3, 4 ORDER BY 5 DESC, 1, 2, 3, 4 LIMIT {MOST_SESSIONS}",
        [digest],
    )
    return [DigestSession(*row) for row in rows]


class RulesOfWindow:
    """The rules at the end of a window, of each instance of which the store has them."""

    def __init__(self, reader: WindowReader, when: str) -> None:
        """Compile the rules. `when`: the words for the window in notes.

        Raises: ProxyctlError for variables that ProxySQL refuses, or under which it ends.
        """
        from proxyctl.proxysql.configuration import BeforeAfter
        from proxyctl.stats.replay.comparison import Comparison  # slow to import

        self._when = when
        self._comparisons: dict[int, Comparison] = {}
        self._names: defaultdict[str, list[str]] = defaultdict(list)
        known: dict[tuple[str, str], Comparison] = {}
        for instance in reader.instances:
            noted = noted_routing(reader.store, instance.number, *reader.window.bounds)
            if not isinstance(noted, NotedRouting):
                self._names[_GAPS[noted]].append(instance.name)
                continue
            if noted.is_changed:
                self._names[_CHANGED].append(instance.name)
            key = noted.hash, json.dumps(dict(instance.variables))
            if key not in known:
                sides = BeforeAfter(noted.configuration, noted.configuration)
                known[key] = Comparison(sides, instance.variables)
            self._comparisons[instance.number] = known[key]

    def notes(self) -> Iterator[str]:
        """Yield which instances have no rules here, and whose rules changed in the window."""
        for note, names in self._names.items():
            yield f"{', '.join(names)}: {note.format(when=self._when)}"

    def catching(
        self, digest: str, text: str, sessions: Sequence[DigestSession]
    ) -> list[CaughtQueries] | None:
        """Return what the rules do with a digest; None if no rules of its instances are known."""
        counts: dict[tuple[QueryTreatment, ...], int] = {}
        for session in sessions:
            comparison = self._comparisons.get(session.instance)
            if comparison is None:
                continue
            seen = SeenDigest(
                *(0, session.schemaname, session.username, session.client_address, digest, text),
                *(session.count_star, 0, 0, 0, 0, 0),
            )
            outcomes = comparison.verdict(seen).before
            counts[outcomes] = counts.get(outcomes, 0) + session.count_star
        caught = [CaughtQueries(calls, outcomes) for outcomes, calls in counts.items()]
        return sorted(caught, key=lambda queries: -queries.count_star) or None


_GAPS = {
    RoutingGap.NOT_NOTED: "the store has no rules for {when}",
    RoutingGap.TOO_LARGE: (
        f"the store has no rules for {{when}}: more than {MOST_ROWS:,} rules, routes and users are"
        " not kept"
    ),
}
_CHANGED = "rules or users changed in {when}: those at the end of it are shown"
