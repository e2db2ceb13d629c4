"""The kinds of suggestions, apart from what makes them: the command line lists them."""

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
