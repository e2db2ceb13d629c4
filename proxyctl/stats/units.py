"""Durations, numbers and sizes as text."""

from __future__ import annotations

import re

_SIZES_US = {
    "us": 1,
    "µs": 1,
    "ms": 1_000,
    "s": 1_000_000,
    "m": 60_000_000,
    "min": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
}
_DURATION = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,15})?) ?([a-zµ]+)")
_LARGEST_FIRST = ("d", "h", "min", "s", "ms")


def microseconds_of(text: str) -> int:
    """Return the microseconds of a duration such as `10ms`, `1.5s` or `2h`.

    Raises: ValueError for any other text, also for a number without a unit.
    """
    match = _DURATION.fullmatch(text.strip())
    if match is None or match[2] not in _SIZES_US:
        raise ValueError(f"{text!r} is not a time such as 500us, 10ms, 1.5s, 5min, 2h or 7d")
    return round(float(match[1]) * _SIZES_US[match[2]])


def time_text(microseconds: float) -> str:
    """Return a time with three digits, in its largest unit: `8.71 ms`."""
    for unit in _LARGEST_FIRST:
        if microseconds >= _SIZES_US[unit]:
            return f"{_three_digits(microseconds / _SIZES_US[unit])} {unit}"
    return f"{microseconds:.0f} µs"


def number_text(number: float) -> str:
    """Return a number: a whole number from 100 on, three digits below."""
    return f"{number:,.0f}" if number >= 100 or number == int(number) else _three_digits(number)


def rows_text(rows: float) -> str:
    """Return a number of rows, which may be an average: `1 row`, `27.5 rows`."""
    return f"{number_text(rows)} row{'' if rows == 1 else 's'}"


def size_text(size: float) -> str:
    """Return a number of bytes: `340 MB`, in powers of ten."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= factor:
            return f"{_three_digits(size / factor)} {unit}"
    return f"{size:.0f} bytes"


def share_text(share: float) -> str:
    """Return a share between 0 and 1 as a percentage: `12.3%`."""
    return f"{share * 100:.1f}%"


def _three_digits(number: float) -> str:
    if number >= 100:
        return f"{number:.0f}"
    return f"{number:.1f}" if number >= 10 else f"{number:.2f}"
