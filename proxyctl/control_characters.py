"""The characters that do something to a terminal, or to a reader's eye, in place of being read."""

from __future__ import annotations

from typing import Final

CONTROL: Final = (
    r"\x00-\x1f\x7f-\x9f"  # C0, DEL, C1: cursor, colours, titles
    r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # turn the direction of text round
    r"\u2028\u2029"  # end a line for some readers
    r"\u200b-\u200d\u2060-\u2065\ufeff\U000e0000-\U000e007f"  # cannot be seen
)
"""Them all, as a regular expression has them between brackets."""

CONTROL_IN_LINES: Final = rf"\x00-\x08\x0b-{CONTROL.removeprefix(chr(92) + 'x00-')}"
"""Those that no text has which goes over several lines, with tabs."""
