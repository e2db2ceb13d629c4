"""The text of a libconfig file -> values that know their lines.

Source: libconfig 1.7.3 inside ProxySQL 2.7.1 and 1.8.1 inside 3.0.3, run. What differs from other
readers: unknown escapes stay as they are, a number beyond 32 bits is another type, the same key
twice is an error, a list may have empty places. Forms of numbers that the two read differently,
such as `010` and `33L`, are refused, and so is `@include`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, NoReturn

from proxyctl.catalog import MAX_INT
from proxyctl.errors import ConfigError, Mistake

_MIN = -MAX_INT - 1

MAX_DEPTH = 50
"""Deepest nesting that is read; a proxysql.cnf needs three levels."""


class Type(StrEnum):
    """What libconfig takes a value for. ProxySQL asks for one type and ignores any other."""

    INT = "a number"
    LONG = "a 64-bit number"
    FLOAT = "a decimal number"
    BOOL = "true or false"
    TEXT = "text"
    GROUP = "a group { }"
    LIST = "a list ( )"
    ARRAY = "an array [ ]"


Scalar = int | float | bool | str

Place = tuple[str, int, int]
"""File, line and column. Units: both count from 1."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One value of the file.

    Shape: `members` of a group by key, in order; `items` of a list or an array.
    """

    type: Type
    place: Place
    value: Scalar = ""
    members: dict[str, Setting] | None = None
    items: tuple[Setting, ...] = ()

    def children(self) -> tuple[Setting, ...]:
        """Return the values inside: ProxySQL reads a group as a list of its values too."""
        return tuple(self.members.values()) if self.members is not None else self.items


def parse(text: str, path: str) -> Setting:
    """Return the file as one group.

    Raises: ConfigError with the place of the first mistake, where libconfig stops as well.
    """
    parser = _Parser(iter(list(_tokens(text, path))))
    members = parser.members()
    parser.take("end")
    return Setting(Type.GROUP, (path, 1, 1), members=members)


def _fail(place: Place, message: str, fix: str | None = None) -> NoReturn:
    raise ConfigError([Mistake(*place, "", message, fix)])


# Tokens -----------------------------------------------------------------------------------------


class _Token(NamedTuple):
    """`kind`: the type of a value, `name`, `end`, or the mark itself."""

    kind: str
    place: Place
    value: Scalar = ""


_TOKEN = re.compile(
    r"""(?P<skip>[ \t\r\f\n]+|\#[^\n]*|//[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/)?)
    |(?P<float>[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[-+]?[0-9]+[eE][-+]?[0-9]+)
    |(?P<integer>(?:[-+]?(?:0|[1-9][0-9]{0,18})|0[xX]0*[0-7]?[0-9A-Fa-f]{1,7})(?![0-9A-Za-z_]))
    |(?P<disputed>[-+]?[0-9][0-9A-Za-z_]*)
    |(?P<name>[A-Za-z*][-A-Za-z0-9_*]*)
    |(?P<text>"(?:[^"\\]|\\.)*")
    |(?P<mark>[{}()\[\],;=:])""",
    re.VERBOSE | re.DOTALL,
)


def _tokens(text: str, path: str) -> Iterator[_Token]:
    """Yield the tokens of a text. Raises: ConfigError."""
    position, line, start = 0, 1, 0
    place = (path, 1, 1)
    while position < len(text):
        found = _TOKEN.match(text, position)
        here = (path, line, position - start + 1)
        if found is None:
            _fail_at(text, position, here)
        if found.lastgroup != "skip":
            place = here
            yield _token(str(found.lastgroup), found[0], place)
        breaks = found[0].count("\n")
        if breaks:
            line += breaks
            start = position + found[0].rindex("\n") + 1
        position = found.end()
    yield _Token("end", place)


def _token(group: str, text: str, place: Place) -> _Token:
    match group:
        case "mark":
            return _Token(text, place)
        case "name" if text.lower() in ("true", "false"):
            return _Token(Type.BOOL, place, text.lower() == "true")
        case "name":
            return _Token("name", place, text)
        case "text":
            # A NUL ends the text for ProxySQL, which is written in C.
            return _Token(Type.TEXT, place, _ESCAPE.sub(_byte, text[1:-1]).partition("\0")[0])
        case "float":
            return _Token(Type.FLOAT, place, float(text))
        case "disputed":
            fix = "write text in double quotes; a number without a leading 0 or an L at its end"
            _fail(place, "no number that every ProxySQL reads alike", fix)
    number = int(text, 16 if text[1:2] in ("x", "X") else 10)
    return _Token(Type.INT if _MIN <= number <= MAX_INT else Type.LONG, place, number)


def _fail_at(text: str, position: int, place: Place) -> NoReturn:
    """Refuse a character that begins nothing.

    It may be one of a password without its quotes, so only what cannot be seen is named.
    """
    character = text[position]
    if character == '"':
        _fail(place, "text without a closing quote")
    if text.startswith("@include", position):
        _fail(place, "@include is not read", "put the text of that file here")
    if not character.isprintable():
        _fail(place, f"a character that libconfig does not know: U+{ord(character):04X}")
    what = "an unexpected character outside of double quotes"
    _fail(place, what, "write text in double quotes")


_ESCAPE = re.compile(r'\\(?:([nrtf\\"])|[xX]([0-9A-Fa-f]{2}))')
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "\\": "\\", '"': '"'}


def _byte(escape: re.Match[str]) -> str:
    r"""Return what an escape stands for. `\xHH` is a byte, which may be a part of a character."""
    if escape[1]:
        return _ESCAPED[escape[1]]
    return bytes.fromhex(escape[2]).decode("ascii", "surrogateescape")


# Grammar ----------------------------------------------------------------------------------------

_BLOCKS = {"{": (Type.GROUP, "}"), "(": (Type.LIST, ")"), "[": (Type.ARRAY, "]")}
_SCALARS = {Type.INT, Type.LONG, Type.FLOAT, Type.BOOL}
_UNEXPECTED: dict[str, str] = {
    "name": "an unexpected word",
    Type.TEXT: "an unexpected text",
    Type.BOOL: "an unexpected true or false",
    **dict.fromkeys((Type.INT, Type.LONG, Type.FLOAT), "an unexpected number"),
}


class _Parser:
    def __init__(self, tokens: Iterator[_Token]) -> None:
        self._tokens = tokens
        self._depth = 0
        self._token = next(tokens)

    def take(self, *kinds: str) -> _Token:
        """Return the next token and go behind it. Changes: self.

        Raises: ConfigError where it is of another kind. Only what can be no part of a password is
        shown: that may stand there without its quotes.
        """
        token = self._token
        if token.kind in kinds:
            self._token = next(self._tokens, token)
            return token
        if token.kind == "end":
            _fail(token.place, "unexpected end of the file", "is a bracket or a value missing?")
        quoted = "write text in double quotes; or " if token.kind == "name" else ""
        missing = "is a comma, an equals sign or a bracket missing in front of it?"
        message = _UNEXPECTED.get(token.kind, f"unexpected {token.kind}")
        _fail(token.place, message, quoted + missing)

    def members(self) -> dict[str, Setting]:
        """Return the settings up to the end of a group. Changes: self."""
        found: dict[str, Setting] = {}
        while self._token.kind == "name":
            key = self.take("name")
            name = str(key.value)
            self.take(":", "=")
            value = self._value()
            if name in found:
                first = f"duplicate {name} (first at line {found[name].place[1]})"
                _fail(key.place, f"{first}: ProxySQL does not start with such a file")
            found[name] = value
            if self._token.kind in (";", ","):
                self.take(";", ",")
        return found

    def _value(self) -> Setting:
        if self._token.kind in _BLOCKS:
            return self._block()
        if self._token.kind == Type.TEXT:
            return self._text()
        token = self.take(*_SCALARS)
        return Setting(Type(token.kind), token.place, token.value)

    def _text(self) -> Setting:
        """Return texts that follow each other as one."""
        place, parts = self._token.place, []
        while self._token.kind == Type.TEXT:
            parts.append(str(self.take(Type.TEXT).value))
        # Bytes given one by one may make up characters.
        text = "".join(parts).encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
        return Setting(Type.TEXT, place, text)

    def _block(self) -> Setting:
        opening = self.take(*_BLOCKS)
        kind, end = _BLOCKS[opening.kind]
        if self._depth >= MAX_DEPTH:
            _fail(opening.place, f"nested more than {MAX_DEPTH} levels deep")
        self._depth += 1
        members = self.members() if kind is Type.GROUP else None
        items = () if kind is Type.GROUP else tuple(self._items(end))
        self.take(end)
        self._depth -= 1
        return Setting(kind, opening.place, members=members, items=items)

    def _items(self, end: str) -> Iterator[Setting]:
        """Yield the values; between and behind them there may be more commas than one."""
        while self._token.kind != end:
            yield self._value()
            if self._token.kind != ",":
                return
            while self._token.kind == ",":
                self.take(",")
