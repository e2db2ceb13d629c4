"""The text of a libconfig file -> values that know their lines.

libconfig keeps unknown escapes as they are, gives a number beyond 32 bits another type, refuses a
duplicate key, and takes a list with empty places. Refused here: numbers that the two versions read
differently, such as `010` and `33L`, and `@include`. Source: libconfig 1.7.3 inside ProxySQL 2.7.1
and 1.8.1 inside 3.0.3, run.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, NoReturn

from proxyctl.catalog import MAX_INT
from proxyctl.errors import ConfigError, Mistake

MIN_INT = -MAX_INT - 1
"""libconfig gives a number beyond 32 bits another type, which ProxySQL ignores."""

MAX_DEPTH = 50
"""The deepest nesting allowed; a proxysql.cnf needs three levels."""


class Type(StrEnum):
    """The type of a value in libconfig. ProxySQL reads one type per key and ignores others."""

    INT = "a number"
    LONG = "a 64-bit number"
    FLOAT = "a decimal number"
    BOOL = "true or false"
    TEXT = "text"
    GROUP = "a group { }"
    LIST = "a list ( )"
    ARRAY = "an array [ ]"


Scalar = int | float | bool | str

CnfPlace = tuple[str, int, int]
"""File, line and column. Units: both count from 1."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One value of the file."""

    type: Type
    """The type of the value."""
    place: CnfPlace
    """The place of the value."""
    value: Scalar = ""
    """The number, boolean or text; '' for other types."""
    members: dict[str, Setting] | None = None
    """The values of a group by key, in order; None for other types."""
    items: tuple[Setting, ...] = ()
    """The values of a list or an array, in order."""

    def children(self) -> tuple[Setting, ...]:
        """Return the values inside: ProxySQL also reads a group as a list of its values."""
        return tuple(self.members.values()) if self.members is not None else self.items


class Offset(NamedTuple):
    """Where a text begins in its file: lines above it, and blanks in front of each of its lines."""

    lines: int = 0
    columns: int = 0


WHOLE_FILE = Offset()


def parse(text: str, path: str, offset: Offset = WHOLE_FILE) -> Setting:
    """Return the file as one group.

    Raises: ConfigError with the place of the first mistake, where libconfig stops too.
    """
    parser = _Parser(text, path, offset)
    members = parser.members()
    parser.take("end")
    return Setting(Type.GROUP, (path, 1, 1), members=members)


_SKIPPED = re.compile(r"(?:[ \t\r\f\n]|#[^\n]*|//[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/)?)*")

_TOKEN = re.compile(
    r"""(?P<float>[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[-+]?[0-9]+[eE][-+]?[0-9]+)
    |(?P<integer>(?:[-+]?(?:0|[1-9][0-9]{0,18})|0[xX]0*[0-7]?[0-9A-Fa-f]{1,7})(?![0-9A-Za-z_]))
    |(?P<disputed>[-+]?[0-9][0-9A-Za-z_]*)
    |(?P<name>[A-Za-z*][-A-Za-z0-9_*]*)
    |(?P<text>"(?:[^"\\]|\\.)*")
    |(?P<mark>[{}()\[\],;=:])
    |(?P<open>")|(?P<include>@include)
    |(?P<invisible>[\x00-\x1f\x7f-\xa0\u200b-\u200f\u2028-\u202e\u2060\ufeff])|(?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)

_REFUSED = {
    "disputed": (
        "not a number that every ProxySQL reads the same way",
        "write text in double quotes; a number without a leading 0 or an L at its end",
    ),
    "open": ("text without a closing quote", None),
    "include": ("@include is not read", "put the text of that file here"),
    "invisible": ("an invisible character outside of double quotes", "delete it"),
    # The character may be a part of a password without quotes, so it is not shown.
    "other": ("an unexpected character outside of double quotes", "write text in double quotes"),
}
"""Kinds of refused tokens: the message and the fix."""

_ESCAPE = re.compile(r'\\(?:([nrtf\\"])|[xX]([0-9A-Fa-f]{2}))')
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "\\": "\\", '"': '"'}


def _byte(escape: re.Match[str]) -> str:
    r"""Return the text of an escape. `\xHH` is a byte, which may be a part of a character."""
    if escape[1]:
        return _ESCAPED[escape[1]]
    return bytes.fromhex(escape[2]).decode("ascii", "surrogateescape")


_BLOCKS = {"{": (Type.GROUP, "}"), "(": (Type.LIST, ")"), "[": (Type.ARRAY, "]")}
_SCALARS = (Type.INT, Type.LONG, Type.FLOAT, Type.BOOL)


class _Parser:
    """Reads a text token by token."""

    kind: str
    """The kind of the next token: the type of a value, `name`, `end`, or the mark itself."""
    value: Scalar = ""
    """The value of the next token."""
    place: CnfPlace
    """The place of the next token."""

    def __init__(self, text: str, path: str, offset: Offset) -> None:
        self._text = text
        self._path = path
        self._offset = offset
        self._lines = [newline.end() for newline in re.finditer("\n", text)]
        self._position = 0
        self._depth = 0
        self.place = (path, 1, 1)
        self._advance()

    def _fail(
        self, message: str, fix: str | None = None, place: CnfPlace | None = None
    ) -> NoReturn:
        raise ConfigError([Mistake(*(place or self.place), "", message, fix)])

    def _advance(self) -> None:
        """Read the next token. Changes: self. Raises: ConfigError."""
        skipped = _SKIPPED.match(self._text, self._position)
        start = skipped.end() if skipped else self._position
        token = _TOKEN.match(self._text, start)
        if token is None:
            self.kind = "end"
            return
        line = bisect_right(self._lines, start)
        column = start - (self._lines[line - 1] if line else 0)
        self.place = (self._path, self._offset.lines + line + 1, self._offset.columns + column + 1)
        self._position = token.end()
        self.kind, self.value = self._token(str(token.lastgroup), token[0])

    def _token(self, group: str, text: str) -> tuple[str, Scalar]:
        """Return the kind of a token, and its value."""
        if group in _REFUSED:
            self._fail(*_REFUSED[group])
        match group:
            case "mark":
                return text, text
            case "name" if text.lower() in ("true", "false"):
                return Type.BOOL, text.lower() == "true"
            case "text":
                # A NUL ends the text for ProxySQL, which is written in C.
                return Type.TEXT, _ESCAPE.sub(_byte, text[1:-1]).partition("\0")[0]
            case "float":
                return Type.FLOAT, float(text)
            case "integer":
                number = int(text, 16 if text[1:2] in ("x", "X") else 10)
                return Type.INT if MIN_INT <= number <= MAX_INT else Type.LONG, number
        return "name", text

    def take(self, *kinds: str) -> Scalar:
        """Return the value of the next token and advance. Changes: self.

        Raises: ConfigError for a token of another kind. The message shows no text that may be a
        password without quotes.
        """
        if self.kind not in kinds:
            kind = self.kind if len(self.kind) == 1 else "value"
            token = {"name": "word", "end": "end of the file"}.get(self.kind, kind)
            fix = (
                "add the comma, equals sign, bracket or double quote that is missing in front of it"
            )
            self._fail(f"unexpected {token}", fix)
        value = self.value
        self._advance()
        return value

    def members(self) -> dict[str, Setting]:
        """Return the settings up to the end of a group. Changes: self."""
        settings: dict[str, Setting] = {}
        while self.kind == "name":
            place, name = self.place, str(self.take("name"))
            self.take(":", "=")
            value = self._value()
            if name in settings:
                first = f"duplicate {name} (first at line {settings[name].place[1]})"
                self._fail(f"{first}: ProxySQL does not start with such a file", None, place)
            settings[name] = value
            if self.kind in (";", ","):
                self._advance()
        return settings

    def _value(self) -> Setting:
        kind, place = self.kind, self.place
        if kind in _BLOCKS:
            return self._block(*_BLOCKS[kind])
        if kind != Type.TEXT:
            value = self.take(*_SCALARS)
            return Setting(Type(kind), place, value)
        # Adjacent texts are one text; bytes of several escapes may make one character.
        text = ""
        while self.kind == Type.TEXT:
            text += str(self.take(Type.TEXT))
        text = text.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
        return Setting(Type.TEXT, place, text)

    def _block(self, kind: Type, end: str) -> Setting:
        place = self.place
        if self._depth >= MAX_DEPTH:
            self._fail(f"nested more than {MAX_DEPTH} levels deep")
        self._depth += 1
        self._advance()
        members = self.members() if kind is Type.GROUP else None
        items: list[Setting] = []
        while members is None and self.kind != end:
            items.append(self._value())
            if self.kind != ",":
                break
            # Several commas may follow a value.
            while self.kind == ",":
                self._advance()
        self.take(end)
        self._depth -= 1
        return Setting(kind, place, members=members, items=tuple(items))
