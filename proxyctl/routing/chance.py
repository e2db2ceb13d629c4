"""flagOUT by weight: the key `flagOUTs` of a rule's attributes."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

Choose = Callable[[Sequence[int]], int]
"""Returns which of the weights is drawn, by its place."""


class Way(NamedTuple):
    """One flagOUT, and its share."""

    flag: int
    weight: int


def heaviest(weights: Sequence[int]) -> int:
    """Draw the way that most queries take; the first of equals."""
    return max(range(len(weights)), key=weights.__getitem__)


def ways(attributes: object) -> tuple[Way, ...]:
    """Return the ways of a rule; none if ProxySQL draws none.

    ProxySQL leaves out an entry without an id and a weight that are whole numbers from 0 on.
    """
    if not attributes:
        return ()
    try:
        parsed = json.loads(str(attributes))
    except ValueError:
        return ()
    entries = parsed.get("flagOUTs") if isinstance(parsed, dict) else None
    found = [way for entry in entries if (way := _way(entry))] if isinstance(entries, list) else []
    # A way without weight is never drawn, and without any weight ProxySQL does not draw.
    return tuple(way for way in found if way.weight)


def _way(entry: Any) -> Way | None:  # noqa: ANN401 - whatever JSON holds
    if not isinstance(entry, dict):
        return None
    flag, weight = entry.get("id"), entry.get("weight")
    if type(flag) is not int or type(weight) is not int or flag < 0 or weight < 0:
        return None
    return Way(flag, weight)
