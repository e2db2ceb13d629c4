"""How findings show what stands in a row."""

from __future__ import annotations

from collections.abc import Sequence

from proxyctl.state.row import Secret

_SHOWN = 60
_LISTED = 5


def quoted(text: str) -> str:
    """Return a text of a row between backticks; a secret is not shown, a long one is cut."""
    if isinstance(text, Secret):
        return "(sensitive)"
    return f"`{text if len(text) <= _SHOWN else text[:_SHOWN] + '...'}`"


def listed(numbers: Sequence[int]) -> str:
    """Return `rule 5`, or `rules 5, 7 and 12 more`."""
    if len(numbers) == 1:
        return f"rule {numbers[0]}"
    shown = ", ".join(map(str, numbers[:_LISTED]))
    more = len(numbers) - _LISTED
    return f"rules {shown} and {more} more" if more > 0 else f"rules {shown}"
