"""Parameters of a test over one or two large sets: most cases get the marker `sweep`."""

from __future__ import annotations

from collections.abc import Iterable

import pytest


def crossed(names: Iterable[object], kinds: Iterable[object]) -> list[object]:
    """Return every name with the first kind, and every kind with the first name.

    All other pairs get the marker `sweep`.
    """
    names, kinds = list(names), list(kinds)
    return [
        pytest.param(
            name,
            kind,
            marks=() if name == names[0] or kind == kinds[0] else pytest.mark.sweep,
        )
        for name in names
        for kind in kinds
    ]


def some(cases: Iterable[object], every: int = 3) -> list[object]:
    """Return all cases; one in `every` always runs, the others get the marker `sweep`."""
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)),
            marks=pytest.mark.sweep if number % every else (),
        )
        for number, case in enumerate(cases)
    ]
