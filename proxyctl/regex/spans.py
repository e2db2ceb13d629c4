"""Where a match is."""

Span = tuple[int, int]
"""Start and end in bytes; (-1, -1) for a group that took no part."""

Spans = tuple[Span, ...]
"""The whole match, then each group."""
