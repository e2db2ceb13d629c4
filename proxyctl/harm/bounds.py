"""The bounds beyond which a change does harm: those of `--abort-if`, and the defaults. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

ERRORS, WAITING, FAILURES, TIME = "errors", "waiting", "failures", "time"
"""The counters that have a bound."""

RATIO = "x"
"""The unit of a bound relative to the time before the change."""
PER_SECOND = "/s"
SESSIONS = ""

_UNITS = {
    ERRORS: (RATIO, PER_SECOND),
    WAITING: (RATIO, SESSIONS),
    FAILURES: (RATIO, PER_SECOND),
    TIME: (RATIO,),
}
_EXAMPLES = {RATIO: "2x", PER_SECOND: "5/s", SESSIONS: "10"}
_BOUND = re.compile(r"\s*([a-z]+)\s*>\s*([0-9]{1,9}(?:\.[0-9]{1,6})?)\s*(x|/s|)\s*")


@dataclass(frozen=True)
class HarmBound:
    """What one counter may reach."""

    counter: str
    """errors, waiting, failures or time."""
    limit: float
    """The highest value that is no harm."""
    unit: str
    """`x`: times the value before; `/s`: a second; '': sessions of one hostgroup."""

    @property
    def is_ratio(self) -> bool:
        """Whether the bound is relative to the time before the change."""
        return self.unit == RATIO

    def text(self) -> str:
        """Return the bound as it is typed: `errors>2x`."""
        return f"{self.counter}>{self.limit:.15g}{self.unit}"

    @classmethod
    def of(cls, text: str) -> HarmBound:
        """Return the bound that a text such as `errors>2x` means. Raises: ValueError."""
        if text.strip() in _UNITS:
            raise ValueError(f"{text!r} has no limit; quote a bound, since a shell redirects at >")
        match = _BOUND.fullmatch(text)
        if match is None or match[3] not in _UNITS.get(match[1], ()):
            raise ValueError(f"{text!r} is not a bound; allowed: {_allowed()}")
        bound = cls(match[1], float(match[2]), match[3])
        if bound.is_ratio and bound.limit < 1:
            raise ValueError(f"{text!r}: a bound relative to the time before must be at least 1x")
        return bound


def _allowed() -> str:
    listed = [f"{counter}>{_EXAMPLES[unit]}" for counter, units in _UNITS.items() for unit in units]
    return f"{', '.join(listed[:-1])} and {listed[-1]}, with any number"


DEFAULTS = tuple(map(HarmBound.of, ("errors>3x", "waiting>3x", "failures>3x", "time>5x")))
"""The bounds of counters without `--abort-if`."""


def bounds_of(given: Iterable[HarmBound]) -> Mapping[str, HarmBound]:
    """Return the bound of each counter: the given one, or else the default.

    Raises: ValueError if a counter has two.
    """
    chosen: dict[str, HarmBound] = {}
    for bound in given:
        if bound.counter in chosen:
            first = chosen[bound.counter].text()
            raise ValueError(f"{first} and {bound.text()}: a counter can have only one bound")
        chosen[bound.counter] = bound
    return {bound.counter: chosen.get(bound.counter, bound) for bound in DEFAULTS}
