"""Whether an instance does worse than before its apply. Pure.

The rule is a plain one, stated in docs/how-to/fleet.md: counters are compared as rates.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

FACTOR = 2.0
"""A rate may grow this many times before it counts as worse."""
SLACK = 1.0
"""And by this much more. Units: per second. A quiet instance has rates near 0."""
_CLOCKS_APART_S = 1.0
"""So far may two clocks be apart in the end."""


@dataclass(frozen=True)
class Look:
    """What an instance counted up to a moment.

    Units: `at_s` seconds of any clock. `errors`: that ProxySQL or servers gave to clients; the
    `error_msg` of a rule is none. `connection_errors`: to servers. `shunned`: servers that are
    ONLINE nowhere, as `hostgroup host:port`. `began_s`: when ProxySQL was started, at the earliest
    and at the latest, by the same clock.
    """

    at_s: float
    errors: int
    connection_errors: int
    shunned: frozenset[str]
    began_s: tuple[float, float]


@dataclass(frozen=True)
class Span:
    """Two looks at one instance, with some time between."""

    first: Look
    last: Look

    def rate(self, counter: str) -> float:
        """Return how much a counter grew a second; 0 where it was cleared in between."""
        seconds = self.last.at_s - self.first.at_s
        grown = getattr(self.last, counter) - getattr(self.first, counter)
        return max(grown, 0) / seconds if seconds > 0 else 0.0


def worsened(before: Span, after: Span) -> Iterator[str]:
    """Yield what got worse, in words."""
    for counter, called in (
        ("errors", "errors to clients"),
        ("connection_errors", "failed connections to servers"),
    ):
        then, now = before.rate(counter), after.rate(counter)
        if now > then * FACTOR + SLACK:
            yield f"{called}: {now:.1f} a second, {then:.1f} before"
    earliest, latest = after.last.began_s[0], before.last.began_s[1]
    if earliest > latest + _CLOCKS_APART_S:
        yield "ProxySQL was restarted since"
    # By server: one that is SHUNNED may have come to another hostgroup.
    known = {_server(one) for one in before.first.shunned | before.last.shunned}
    new = sorted(one for one in after.last.shunned if _server(one) not in known)
    if new:
        yield f"SHUNNED since: {', '.join(new)}"


def _server(shunned: str) -> str:
    """Return host and port."""
    return shunned.partition(" ")[2]
