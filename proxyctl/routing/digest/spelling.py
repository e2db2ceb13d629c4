r"""How values, words and white space are spelt, in bytes, as ProxySQL takes them.

A word is made of [\w$]; every other byte divides, those of UTF-8 as well. The expressions look back
only over what they have just matched: one that begins with plain bytes is searched for many times
faster than one that begins by looking back.
"""

from __future__ import annotations

from typing import Final

SPACES: Final = frozenset(b" \t\r\n")
DIGITS: Final = frozenset(b"0123456789")
WORD: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_$")

IN_SINGLE_QUOTES: Final = rb"'(?:[^'\\]++|\\[\\']?+|'')*'(?!')"
IN_DOUBLE_QUOTES: Final = rb'"(?:[^"\\]++|\\[\\"]?+|"")*"(?!")'
"""A backslash escapes a backslash and the quote, nothing else; a quote in a string is doubled.

No group is possessive here and below: Python before 3.11.5 goes wrong with those.
"""

FIRST_DIGIT: Final = rb"[0-9](?<![\w$][0-9])"
NUMBER_REST: Final = rb"[\w$.]*+(?:(?<=[eE])[-+][\w$.]*+)*"
"""What goes on after a first digit and may turn out to be a number: `1.5e-3`, but also `2col`."""
NUMBER: Final = rb"0[xX][0-9a-fA-F]*+|[0-9][-+0-9.eE]*+"
"""What is a number, of all that FIRST_DIGIT and NUMBER_REST take together."""

NULL: Final = rb"[nN][uU][lL][lL](?![\w$])(?<![\w$][nN][uU][lL][lL])"

BLANKS_ONLY: Final = bytes.maketrans(b"\t\r\n", b"   ")
BLANKS_AND_LOWER: Final = bytes.maketrans(
    b"\t\r\nABCDEFGHIJKLMNOPQRSTUVWXYZ", b"   abcdefghijklmnopqrstuvwxyz"
)
