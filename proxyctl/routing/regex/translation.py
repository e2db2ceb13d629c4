r"""Translate patterns of PCRE1 to PCRE2, and of PCRE2 to RE2.

ProxySQL matches with PCRE1 8.x; Python has PCRE2. Both read usual patterns alike. This module
rewrites syntax that PCRE1 reads differently (`[\w-.]`, `\m`, `a{,3}`), and refuses syntax that only
PCRE2 knows. Rarer differences remain: such a pattern is shown as not verified.

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
"""A piece without an end extends to the end of the pattern, so that no end is searched twice."""

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
"""Letters that PCRE1 reads as themselves after a backslash."""
_MEANINGLESS_IN_CLASS = _MEANINGLESS | frozenset(b"ABGKRXZgkz")
_NO_PROPERTIES = r"ProxySQL's PCRE does not support Unicode properties (\p, \P, \X)"


class Translation:
    """A pattern for PCRE2, and the part of PCRE1's pattern that each of its parts comes from."""

    def __init__(self, pattern: bytes) -> None:
        """Translate it. Raises: BadPattern for syntax that only PCRE2 accepts."""
        self._pieces: list[tuple[int, bytes]] = []
        self._groups: list[bool] = []
        """For each open group whether it is, or is inside, a look-behind."""
        self._pattern = pattern
        for match in _PIECE.finditer(pattern):
            self._pieces.append((match.start(), self._translated(match)))
        self.text = b"".join(text for _, text in self._pieces)

    def place(self, position: int) -> int:
        """Return the place in PCRE1's pattern for a position in the text."""
        for start, text in self._pieces:
            if position < len(text):
                is_unchanged = self._pattern.startswith(text, start)
                return start + position if is_unchanged else start
            position -= len(text)
        return len(self._pattern)

    def _translated(self, match: re.Match[bytes]) -> bytes:
        at, piece = match.start(), match[0]
        if match["escape"]:
            return _escape(piece, at)
        if match["class"]:
            return _CLASS_ITEM.sub(lambda item: _class_item(item, at), piece)
        if match["brace"]:
            return rb"\{"
        if match["count"] and True in self._groups[-1:] and not _EXACT_COUNT.fullmatch(piece):
            raise BadPattern("each alternative of a look-behind needs a fixed length", at)
        if match["verb"] is not None and match["verb"] not in _VERBS:
            raise BadPattern("(* begins a verb that PCRE 8 does not support", at)
        if match["unknown"]:
            raise BadPattern("an unknown kind of group after (?", at)
        if match["closing"]:
            del self._groups[-1:]
        elif match["opening"] or match["scope"] == b":" or match["verb"] is not None:
            self._groups.append(match["behind"] is not None or True in self._groups[-1:])
        return _options(match, at) if match["options"] else piece


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
    match = _HEXADECIMAL.fullmatch(escape)
    if match is None:
        raise BadPattern("\\x{ needs hexadecimal digits and a closing brace", at)
    value = int(match[1] or match[2] or b"0", 16)
    if value > 255:
        raise BadPattern("ProxySQL's PCRE works on bytes: no character above 255", at)
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


def _options(match: re.Match[bytes], at: int) -> bytes:
    """Return options as PCRE2 accepts them: each once, one hyphen, without PCRE1's X."""
    if not set(match["options"]) <= {*_OPTIONS, *b"X-"}:
        raise BadPattern("an unknown kind of group after (?", at)
    on, _, off = match["options"].partition(b"-")
    added = bytes(letter for letter in _OPTIONS if letter in on and letter not in off)
    removed = bytes(letter for letter in _OPTIONS if letter in off)
    return b"(?" + added + (b"-" + removed if removed else b"") + match["scope"]


# From PCRE's words to RE2's --------------------------------------------------------------------

_TOKEN = re.compile(
    rb"""
      (?P<words>  [0-9A-Za-z_\ ]{2,} (?! [*+?{] ) )
    | \\ (?P<letter> [A-Za-z] )
    | (?P<reference> \\[1-9] (?![0-9]) )
    | (?P<byte>   \\[^0-9A-Za-z] | [^\\^$.|?*+()\[{] )
    | (?P<class>  \[ \^? (?: \[:\^?\w+:\] | \\. | (?! \[: ) [^]\\] )+ \] )
    | (?P<count>  (?: [*+?] | \{ (?P<least>[0-9]+) (?P<comma>,)? (?P<most>[0-9]*) \} ) [+?]? )
    | (?P<around> \(\? <? [=!] )
    | (?P<flag>   \(\?[ims]+\) )
    | (?P<group>  \( (?: \?[:>] )? )
    | (?P<end>    \$ | \\Z )
    | (?P<same>   [|).^] )
    """,
    re.VERBOSE | re.DOTALL,
)
_NOT_ASCII = re.compile(rb"[\x80-\xff]")
_SETS = {
    b"d": rb"0-9",
    b"D": rb"\x00-/:-\xff",
    b"w": rb"0-9A-Za-z_",
    b"W": rb"\x00-/:-@\[-\^`{-\xff",
    b"s": rb"\x09-\x0d\x20",
    b"S": rb"\x00-\x08\x0e-\x1f\x21-\xff",
    b"h": rb"\x09\x20\xa0",
    b"H": rb"\x00-\x08\x0a-\x1f\x21-\x9f\xa1-\xff",
    b"v": rb"\x0a-\x0d\x85",
    b"V": rb"\x00-\x09\x0e-\x84\x86-\xff",
}
_LETTERS = {
    **{letter: b"[" + text + b"]" for letter, text in _SETS.items()},
    **{letter: b"\\" + letter for letter in (b"n", b"r", b"t", b"f", b"b", b"B", b"A", b"z")},
    b"e": rb"\x1b",
    b"a": rb"\x07",
    b"Z": rb"(?m:$)",
}
_MOST = 1000
"""The largest count in RE2."""


def for_re2(pattern: bytes, *, caseless: bool) -> bytes | None:
    """Return a pattern for RE2 that matches at least where this one does; None if unsupported.

    Shape: `pattern` is for PCRE2; both read bytes as Latin-1. In the result a look-around always
    holds, a back reference is any text, an atomic group is a plain group, and `$` matches before
    every line feed.
    """
    out = [b"(?i)" if caseless else b""]
    openings: list[tuple[int, bool]] = []
    at = 0
    while at < len(pattern):
        match = _TOKEN.match(pattern, at)
        if match is None:
            return None
        at = match.end()
        if match["words"]:  # most of a pattern, and the same in RE2
            out.append(match["words"])
        elif match["around"] or match["group"]:
            openings.append((len(out), match["around"] is not None))
            out.append(b"(?:")
        elif match[0] == b")":
            start, is_around = openings.pop()
            out.append(b")")
            if is_around:
                out[start:] = [b"(?:)"]
        elif match["class"]:
            text = _re2_class(match["class"], caseless=caseless or b"(?" in pattern)
            if text is None:
                return None
            out.append(text)
        else:
            piece = _re2_piece(match)
            if piece is None:
                return None
            out.append(piece)
    return b"".join(out)


def _re2_piece(match: re.Match[bytes]) -> bytes | None:
    if match["letter"]:
        return _LETTERS.get(match["letter"])
    if match["reference"]:
        return b"(?s:.*)"
    if match["byte"]:
        return _literal(match["byte"])
    if match["count"]:
        return _re2_count(match)
    return b"(?m:$)" if match["end"] else match[0]


def _literal(token: bytes) -> bytes:
    byte = token[-1]
    return token if token.isalnum() and byte < 0x80 else b"\\x%02x" % byte


def _re2_count(match: re.Match[bytes]) -> bytes:
    """Return a greedy quantifier: a lazy or possessive one does not match more texts."""
    if match["least"] is None:
        return match["count"][:1]
    least = int(match["least"])
    most = least if not match["comma"] else int(match["most"]) if match["most"] else None
    if most is None or most > _MOST:
        return b"{%d,}" % min(least, _MOST)
    return b"{%d,%d}" % (least, most)


def _re2_class(text: bytes, *, caseless: bool) -> bytes | None:
    is_negated = text.startswith(b"[^")
    if is_negated and caseless and _NOT_ASCII.search(text):
        return None  # RE2 folds the case of Latin-1, PCRE of ASCII only: RE2 would match less
    out = [b"[^" if is_negated else b"["]
    for item in re.findall(rb"\[:\^?\w+:\]|\\.|.", text[1 + is_negated : -1], re.DOTALL):
        if item == b"-" or item.startswith(b"[:"):
            out.append(item)
        elif len(item) == 2 and item[1:] in _SETS:
            out.append(_SETS[item[1:]])
        elif len(item) == 2 and item[1:].isalnum():
            return None  # another escape, such as \x41
        else:
            out.append(_literal(item))
    return b"".join(out) + b"]"
