"""Parameters of a test that goes over a large set, or over two: what is no sweep."""

from __future__ import annotations

from collections.abc import Iterable

import pytest


def crossed(names: Iterable[object], kinds: Iterable[object]) -> list[object]:
    """Return every name with the first kind, and every kind with the first name.

    All other pairs have the marker `sweep`.
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
    """Return all cases; one in `every` is run at any time, the others have the marker `sweep`."""
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)),
            marks=pytest.mark.sweep if number % every else (),
        )
        for number, case in enumerate(cases)
    ]
