"""How often the digest table may be looked at: its copy holds the admin interface."""

from __future__ import annotations

_REST = 20
"""A look may take a twentieth of the time: the others who administrate must get their turn."""


def seconds_between(interval_s: float, look_s: float) -> float:
    """Return the seconds from one look to the next, for looks that take `look_s`."""
    return max(interval_s, look_s * _REST)
