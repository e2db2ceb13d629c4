"""Parameters of a test that goes over two sets."""

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
