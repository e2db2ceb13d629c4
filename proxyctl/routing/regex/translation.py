r"""A pattern of PCRE1 in the words of PCRE2, and one of PCRE2 in those of RE2.

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


# From PCRE's words to RE2's --------------------------------------------------------------------

_TOKEN = re.compile(
    rb"""
      \\ (?P<letter> [A-Za-z] )
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
"""RE2 repeats nothing more often."""


def for_re2(pattern: bytes, *, caseless: bool) -> bytes | None:
    """Return a pattern for RE2 that matches wherever this one does; None if a part is not known.

    Shape: `pattern` is one for PCRE2; both read bytes as Latin-1. A look-around always holds, a
    back reference is any text, an atomic group is any group, and `$` may stand before any line
    feed.
    """
    out = [b"(?i)" if caseless else b""]
    openings: list[tuple[int, bool]] = []
    at = 0
    while at < len(pattern):
        found = _TOKEN.match(pattern, at)
        if found is None:
            return None
        at = found.end()
        if found["around"] or found["group"]:
            openings.append((len(out), found["around"] is not None))
            out.append(b"(?:")
        elif found[0] == b")":
            start, is_around = openings.pop()
            out.append(b")")
            if is_around:
                out[start:] = [b"(?:)"]
        elif found["class"]:
            text = _re2_class(found["class"], caseless=caseless or b"(?" in pattern)
            if text is None:
                return None
            out.append(text)
        else:
            piece = _re2_piece(found)
            if piece is None:
                return None
            out.append(piece)
    return b"".join(out)


def _re2_piece(found: re.Match[bytes]) -> bytes | None:
    if found["letter"]:
        return _LETTERS.get(found["letter"])
    if found["reference"]:
        return b"(?s:.*)"
    if found["byte"]:
        return _literal(found["byte"])
    if found["count"]:
        return _re2_count(found)
    return b"(?m:$)" if found["end"] else found[0]


def _literal(token: bytes) -> bytes:
    byte = token[-1]
    return token if token.isalnum() and byte < 0x80 else b"\\x%02x" % byte


def _re2_count(found: re.Match[bytes]) -> bytes:
    """Return a quantifier, greedy: being lazy or possessive does not widen what may match."""
    if found["least"] is None:
        return found["count"][:1]
    least = int(found["least"])
    most = least if not found["comma"] else int(found["most"]) if found["most"] else None
    if most is None or most > _MOST:
        return b"{%d,}" % min(least, _MOST)
    return b"{%d,%d}" % (least, most)


def _re2_class(text: bytes, *, caseless: bool) -> bytes | None:
    is_negated = text.startswith(b"[^")
    if is_negated and caseless and _NOT_ASCII.search(text):
        return None  # RE2 folds the case of Latin-1, PCRE of ASCII only: this would be narrower
    out = [b"[^" if is_negated else b"["]
    for item in re.findall(rb"\[:\^?\w+:\]|\\.|.", text[1 + is_negated : -1], re.DOTALL):
        if item == b"-" or item.startswith(b"[:"):
            out.append(item)
        elif len(item) == 2 and item[1:] in _SETS:
            out.append(_SETS[item[1:]])
        elif len(item) == 2 and item[1:].isalnum():
            return None  # an escape of its own, such as that of a byte
        else:
            out.append(_literal(item))
    return b"".join(out) + b"]"
