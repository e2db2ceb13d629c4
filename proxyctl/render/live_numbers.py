"""Numbers of the live view, short enough for its columns."""

from __future__ import annotations

from proxyctl.render.style import seen_hostgroup
from proxyctl.stats.units import share_text, size_text, time_text

UNKNOWN = "-"
_UNITS = (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3))
_NEARLY_10, _NEARLY_100 = 9.995, 99.95
"""From here on a number is rounded to one with a digit more."""


def short_text(number: float | None) -> str:
    """Return a number with five characters at most: `12.3k`, `4.56M`; `-` when it is not known."""
    if number is None:
        return UNKNOWN
    if number == int(number) and number < 1_000:
        return f"{number:.0f}"
    unit, one = next((pair for pair in _UNITS if number >= pair[1]), ("", 1.0))
    scaled = number / one
    places = 0 if scaled >= _NEARLY_100 else 1 if scaled >= _NEARLY_10 else 2
    return f"{scaled:.{places}f}{unit}"


def rate_text(rate: float | None, *, is_least: bool = False) -> str:
    """Return a rate; `>` stands before one that may be higher."""
    return (">" if is_least and rate is not None else "") + short_text(rate)


def busy_text(time_per_s: float | None, *, is_least: bool = False) -> str:
    """Return query time a second, which comes in microseconds."""
    if time_per_s is None:
        return UNKNOWN
    return (">" if is_least else "") + duration_text(time_per_s)


def duration_text(microseconds: float | None) -> str:
    """Return a time; `-` when it is not known."""
    return UNKNOWN if microseconds is None else time_text(microseconds)


def part_text(share: float | None) -> str:
    """Return a part of 1; `-` when it is not known."""
    return UNKNOWN if share is None else share_text(share)


def bytes_text(size: float | None) -> str:
    """Return a number of bytes; `-` when it is not known."""
    return UNKNOWN if size is None else size_text(size).replace("bytes", "B")


def hostgroup_text(hostgroup: int, name: str) -> str:
    """Return a hostgroup with its name, if it has one."""
    return seen_hostgroup(hostgroup, {hostgroup: name})
