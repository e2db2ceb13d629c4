"""Walking through a pattern, and writing it down anew piece by piece."""

from __future__ import annotations

import re
from bisect import bisect_right

from proxyctl.regex.bad_pattern import BadPattern

_NEWLINES = {
    b"CR": rb"\r",
    b"LF": rb"\n",
    b"CRLF": rb"\r\n",
    b"ANYCRLF": rb"\r\n|[\r\n]",
    b"ANY": rb"\r\n|[\n\x0b\x0c\r\x85]",
}
"""What ends a line, and so a comment behind #, by the setting at the start of a pattern."""

_SETTING = re.compile(
    rb"\(\*(?:(UTF8?|UCP)|NO_AUTO_POSSESS|NO_START_OPT|BSR_ANYCRLF|BSR_UNICODE"
    rb"|LIMIT_(?:MATCH|RECURSION)=\d{0,9}|(CRLF|CR|LF|ANYCRLF|ANY))\)"
)
_SPACE = b" \t\n\v\f\r"


class Reader:
    """A pattern, how far it was read, and what was written for it.

    Shape: three NUL stand behind the pattern, so that looking ahead needs no check of the end.
    """

    def __init__(self, pattern: bytes) -> None:
        self.end = len(pattern)
        self.pattern = pattern + b"\0\0\0"
        self.at = 0
        self.extended = False
        """Whether white space and comments behind # are skipped: (?x)."""
        self.out: list[bytes] = []
        self._places: list[int] = []
        self._newline = re.compile(_NEWLINES[b"LF"])

    def append(self, text: bytes) -> None:
        """Write a piece that stands for what is at the present place."""
        self.out.append(text)
        self._places.append(self.at)

    def place(self, position: int) -> int:
        """Return where in the pattern stands what was written at `position`."""
        offsets, total = [], 0
        for piece in self.out:
            offsets.append(total)
            total += len(piece)
        if position >= total:
            return self.end
        return self._places[bisect_right(offsets, position) - 1]

    def bad(self, reason: str) -> BadPattern:
        """Return what to raise about the present place."""
        return BadPattern(reason, self.at)

    def settings(self) -> None:
        """Read settings at the start: (*CRLF), (*LIMIT_MATCH=...). Raises: BadPattern."""
        while found := _SETTING.match(self.pattern, self.at):
            if found[1]:
                raise self.bad("ProxySQL's PCRE is built without UTF-8 and Unicode properties")
            if found[2]:
                self._newline = re.compile(_NEWLINES[found[2]])
            self.append(found[0])
            self.at = found.end()

    def skip(self) -> bool:
        """Go past white space and a comment. Return whether there was any. Raises: BadPattern."""
        start = self.at
        pattern = self.pattern
        while self.extended and (pattern[self.at] in _SPACE or pattern[self.at] == ord("#")):
            if pattern[self.at] == ord("#"):
                found = self._newline.search(pattern, self.at, self.end)
                self.at = found.end() if found else self.end
            else:
                self.at += 1
        if pattern.startswith(b"(?#", self.at):
            end = pattern.find(b")", self.at)
            if end < 0:
                raise self.bad("a comment without its closing parenthesis")
            self.at = end + 1
        return self.at > start
