"""The kinds of suggestions.

The command line lists them at every start. In a file with what makes suggestions, they would bring
its imports along.
"""

from __future__ import annotations

from enum import StrEnum


class SuggestionKind(StrEnum):
    """The kinds of suggestions, in the order in which they are shown."""

    READS = "reads"
    """A read on a writer that a reader could answer."""
    CACHE = "cache"
    """A small answer that is requested frequently."""
    SLOW = "slow"
    """An average far above the median of the peers."""
