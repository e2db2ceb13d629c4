r"""A pattern of PCRE1 in the words of PCRE2.

ProxySQL matches with PCRE1 8.x; Python has PCRE2. Both read what people usually write alike. This
module rewrites what PCRE1 spells otherwise (`[\w-.]`, `\m`, `a{,3}`), and refuses what only PCRE2
knows. Rarer differences remain: who shows such a pattern says that it is not verified.

Source: the manual pages of both; ProxySQL's PCRE is built for bytes, without Unicode properties.
"""

from __future__ import annotations

import re

from proxyctl.routing.regex.pattern import BadPattern

_PIECE = re.compile(
    rb"""
      \\Q .*? (?: \\E | \Z ) | \(\?\# [^)]* (?: \) | \Z )
    | (?P<escape>  \\x (?: \{ [^}]* (?: \} | \Z ) | [0-9A-Fa-f]{0,2} )
                 | \\[gkNo] \{ [^}]* (?: \} | \Z ) | \\ . )
    | (?P<class>   \[ \^? \]? (?: \[:\^?\w+:\] | \\. | [^]\\] )* (?: \] | \Z ) )
    | (?P<count>   (?: [*+?] | \{ [0-9]+ (?: , [0-9]* )? \} ) [+?]? )
    | (?P<brace>   \{ )
    | \( \* (?P<verb> \w* ) (?= [:=)] )
    | (?P<unknown> \(\? <? \* | \(\? C (?! [0-9]* \) ) )
    | \(\? (?! R\) | C ) (?P<options> [A-Za-z^-]+ ) (?P<scope> [:)] )
    | (?P<opening> \( (?: \? (?P<behind> <[=!] )? )? )
    | (?P<closing> \) )
    | .
    """,
    re.VERBOSE | re.DOTALL,
)
"""What has no end goes to the end of the pattern, so that no end is looked for twice."""

_CLASS_ITEM = re.compile(
    rb"""
      (?P<set> \\[dDwWsShHvV] | \[:\^?\w+:\] ) (?P<hyphen> - (?! \] ) )?
    | \\x (?: \{ [^}]* (?: \} | \Z ) | [0-9A-Fa-f]{0,2} )
    | \\ (?P<letter> . )
    """,
    re.VERBOSE | re.DOTALL,
)
_HEXADECIMAL = re.compile(rb"\\x(?:\{([0-9A-Fa-f]+)\}|([0-9A-Fa-f]{0,2}))")
_EXACT_COUNT = re.compile(rb"\{([0-9]+)(?:,\1)?\}[+?]?")
_VERBS = frozenset(
    b"ACCEPT COMMIT F FAIL MARK PRUNE SKIP THEN NO_AUTO_POSSESS NO_START_OPT BSR_ANYCRLF"
    b" BSR_UNICODE LIMIT_MATCH LIMIT_RECURSION CRLF CR LF ANYCRLF ANY".split()
) | {b""}
_OPTIONS = b"imsxJU"
_MEANINGLESS = frozenset(b"FIJMOTYijmqy")
"""Letters that PCRE1 takes for themselves behind a backslash."""
_MEANINGLESS_IN_CLASS = _MEANINGLESS | frozenset(b"ABGKRXZgkz")
_NO_PROPERTIES = r"ProxySQL's PCRE knows no Unicode properties: no \p, \P, \X"


class Translation:
    """A pattern for PCRE2, and which part of PCRE1's pattern each part of it stands for."""

    def __init__(self, pattern: bytes) -> None:
        """Translate it. Raises: BadPattern where PCRE1 refuses what PCRE2 takes."""
        self._pieces: list[tuple[int, bytes]] = []
        self._groups: list[bool] = []
        """For each open group whether it is, or stands in, a look-behind."""
        self._pattern = pattern
        for found in _PIECE.finditer(pattern):
            self._pieces.append((found.start(), self._translated(found)))
        self.text = b"".join(text for _, text in self._pieces)

    def place(self, position: int) -> int:
        """Return where PCRE1's pattern has what stands at a position of the text."""
        for start, text in self._pieces:
            if position < len(text):
                is_unchanged = self._pattern.startswith(text, start)
                return start + position if is_unchanged else start
            position -= len(text)
        return len(self._pattern)

    def _translated(self, found: re.Match[bytes]) -> bytes:
        at, piece = found.start(), found[0]
        if found["escape"]:
            return _escape(piece, at)
        if found["class"]:
            return _CLASS_ITEM.sub(lambda item: _class_item(item, at), piece)
        if found["brace"]:
            return rb"\{"
        if found["count"] and True in self._groups[-1:] and not _EXACT_COUNT.fullmatch(piece):
            raise BadPattern("a look-behind needs one fixed length in each of its alternatives", at)
        if found["verb"] is not None and found["verb"] not in _VERBS:
            raise BadPattern("(* begins a verb that PCRE 8 does not know", at)
        if found["unknown"]:
            raise BadPattern("an unknown kind of group behind (?", at)
        if found["closing"]:
            del self._groups[-1:]
        elif found["opening"] or found["scope"] == b":" or found["verb"] is not None:
            self._groups.append(found["behind"] is not None or True in self._groups[-1:])
        return _options(found, at) if found["options"] else piece


def _escape(escape: bytes, at: int) -> bytes:
    letter = escape[1]
    if letter == ord("x"):
        return _byte(escape, at)
    if letter in b"pPX":
        raise BadPattern(_NO_PROPERTIES, at)
    if letter in b"lLuU":
        raise BadPattern(f"PCRE has no \\{chr(letter)}", at)
    if letter == ord("C"):
        return rb"[\x00-\xff]"
    return bytes((letter,)) if letter in _MEANINGLESS else escape


def _byte(escape: bytes, at: int) -> bytes:
    found = _HEXADECIMAL.fullmatch(escape)
    if found is None:
        raise BadPattern("\\x{ needs hexadecimal digits and a closing brace", at)
    value = int(found[1] or found[2] or b"0", 16)
    if value > 255:
        raise BadPattern("ProxySQL's PCRE works on bytes: no character beyond 255", at)
    return b"\\x%02x" % value


def _class_item(item: re.Match[bytes], at: int) -> bytes:
    if item["set"]:
        return item["set"] + (rb"\-" if item["hyphen"] else b"")
    if item["letter"] is None:
        return _byte(item[0], at)
    letter = item["letter"][0]
    if letter in b"pP":
        raise BadPattern(_NO_PROPERTIES, at)
    return item["letter"] if letter in _MEANINGLESS_IN_CLASS else item[0]


def _options(found: re.Match[bytes], at: int) -> bytes:
    """Return options as PCRE2 takes them: each once, one hyphen, without PCRE1's X."""
    if not set(found["options"]) <= {*_OPTIONS, *b"X-"}:
        raise BadPattern("an unknown kind of group behind (?", at)
    on, _, off = found["options"].partition(b"-")
    added = bytes(letter for letter in _OPTIONS if letter in on and letter not in off)
    removed = bytes(letter for letter in _OPTIONS if letter in off)
    return b"(?" + added + (b"-" + removed if removed else b"") + found["scope"]
