"""How often the digest table may be looked at, and its size asked for.

A copy of the table holds the admin interface. To add up its size ProxySQL goes through all of it,
and every query waits meanwhile: with 300,000 digests 0.3 s on a quiet machine, 1 s on a busy one.
"""

from __future__ import annotations

_REST = 20
"""A look may take a twentieth of the time: the others who administrate must get their turn."""


def seconds_between(interval_s: float, look_s: float) -> float:
    """Return the seconds from one look to the next, for looks that take `look_s`."""
    return max(interval_s, look_s * _REST)


_SIZE_REST = 10_000
_SIZE_EVERY_S, _SIZE_AT_LEAST_EVERY_S = 10.0, 3_600.0


def seconds_between_sizes(took_s: float) -> float:
    """Return the seconds until the size is asked for again, when the last answer took `took_s`."""
    return min(max(_SIZE_EVERY_S, took_s * _SIZE_REST), _SIZE_AT_LEAST_EVERY_S)
