"""What does something to a terminal, to a reader's eye or to a pipeline, in place of being read."""

from __future__ import annotations

import re
from typing import Final

CONTROL: Final = (
    r"\x00-\x1f\x7f-\x9f"  # C0, DEL, C1: cursor, colours, titles
    r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # turn the direction of text round
    r"\u2028\u2029"  # end a line for some readers
    r"\u200b-\u200d\u2060-\u2065\ufeff\U000e0000-\U000e007f"  # cannot be seen
)
"""Them all, as a regular expression has them between brackets."""

_COMMAND: Final = (
    r"(?<!\S):(?=:[A-Za-z](?s:.*?)::)"  # ::error file=f::text, where a line begins or is wrapped
    r"|#(?=#\w*\[)"  # ##[error]text and ##vso[...]text, anywhere
)
"""What a runner of GitHub or Azure takes for a command in a log; one character makes it text."""

_UNSAFE = re.compile(rf"[{CONTROL}\ud800-\udfff]|{_COMMAND}")


def printable(text: str) -> str:
    r"""Return the text on one line, with control characters as escapes.

    A comment in a row must not move the cursor of the person who reads the plan, nor tell a
    pipeline what to do. Bytes that are not UTF-8 show as \xNN.
    """

    def escape(found: re.Match[str]) -> str:
        code = ord(found[0])
        if 0xDC80 <= code <= 0xDCFF:
            return f"\\x{code - 0xDC00:02x}"
        named = {9: r"\t", 10: r"\n", 13: r"\r"}.get(code)
        if code > 0xFFFF:
            return f"\\U{code:08x}"
        return named or (f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}")

    return _UNSAFE.sub(escape, text)
