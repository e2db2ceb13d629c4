"""How much the options of the digest commands take."""

from __future__ import annotations

from collections.abc import Sequence

from proxyctl.errors import UsageError

MOST_LISTED = 1_000_000
"""Of --limit. Whoever wants more than a list takes a snapshot."""
_MOST_TEXTS = 100
"""Values of --text: each makes the condition deeper, and SQLite has a limit of 1,000."""
_LONGEST_PATTERN = 50_000
"""Bytes of a LIKE pattern that SQLite takes; of a longer one ProxySQL says nothing."""
_SHOWN = 60


def texts_of(given: Sequence[str] | None) -> tuple[str, ...]:
    """Return the values of --text, as far as SQLite looks for such ones. Raises: UsageError."""
    from proxyctl.stats.top.query import like_pattern

    texts = tuple(given or ())
    if len(texts) > _MOST_TEXTS:
        raise UsageError(f"--text: given {len(texts)} times, and {_MOST_TEXTS} are taken at most")
    for text in texts:
        size = len(like_pattern(text).encode("utf-8", "surrogateescape"))
        if size > _LONGEST_PATTERN:
            raise UsageError(
                f"--text {cut_short(text)}: {size:,} bytes as a pattern, and SQLite looks for"
                f" {_LONGEST_PATTERN:,} at most",
                hint="name the digest itself, with --digest",
            )
    return texts


def cut_short(value: str) -> str:
    """Return a value of the command line so that a message stays one that is read."""
    return value if len(value) <= _SHOWN else f"{value[: _SHOWN - 3]}..."
