"""What a pattern that does not compile raises."""

from __future__ import annotations


class BadPattern(Exception):  # noqa: N818 - it is an answer, and the callers want the reason
    """A pattern does not compile in the engine of ProxySQL.

    Units: `position` counts bytes from 0; None where the engine does not tell.
    """

    def __init__(self, reason: str, position: int | None = None) -> None:
        super().__init__(reason if position is None else f"{reason}, at byte {position + 1}")
        self.reason = reason
        self.position = position
