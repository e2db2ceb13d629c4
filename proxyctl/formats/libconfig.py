"""The text of a libconfig file -> values that know their lines.

Source: libconfig 1.7.3 inside ProxySQL 2.7.1 and 1.8.1 inside 3.0.3, run. What differs from other
readers: unknown escapes stay as they are, a number beyond 32 bits is another type, the same key
twice is an error, a list may have empty places. Forms of numbers that the two read differently,
such as `010` and `33L`, are refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, NoReturn

from proxyctl.catalog import MAX_INT
from proxyctl.errors import ConfigError, Mistake, os_reason

_MIN = -MAX_INT - 1

MAX_DEPTH = 50
"""Deepest nesting that is read; a proxysql.cnf needs three levels."""

MAX_INCLUDES = 100
"""Most files that are included. libconfig allows a chain of ten."""


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

Include = Callable[[str], str]
"""Returns the text of a file that @include names. Raises: OSError."""


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


def parse(text: str, path: str, include: Include | None = None) -> Setting:
    """Return the file as one group.

    Raises: ConfigError with the place of the first mistake, where libconfig stops as well.
    """
    return _Parser(_Tokenizer(include).tokens(text, path), path).file()


def _fail(place: Place, message: str, fix: str | None = None) -> NoReturn:
    path, line, column = place
    raise ConfigError([Mistake(path, line, column, "", message, fix)])


# Tokens -----------------------------------------------------------------------------------------


class _Token(NamedTuple):
    """`kind`: the type of a value, `name`, `end`, or the mark itself."""

    kind: str
    place: Place
    value: Scalar = ""


_TOKEN = re.compile(
    r"""(?P<skip>[ \t\r\f\n]+|\#[^\n]*|//[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/)?)
    |(?P<include>@include[ \t]+"[^"\n]*")
    |(?P<float>[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[-+]?[0-9]+[eE][-+]?[0-9]+)
    |(?P<integer>(?:[-+]?(?:0|[1-9][0-9]{0,18})|0[xX]0*[0-7]?[0-9A-Fa-f]{1,7})(?![0-9A-Za-z_]))
    |(?P<disputed>[-+]?[0-9][0-9A-Za-z_]*)
    |(?P<name>[A-Za-z*][-A-Za-z0-9_*]*)
    |(?P<text>"(?:[^"\\]|\\.)*")
    |(?P<mark>[{}()\[\],;=:])""",
    re.VERBOSE | re.DOTALL,
)

_LONE_INCLUDE = "@include must be alone on its line, with the file in double quotes"


class _Tokenizer:
    def __init__(self, include: Include | None) -> None:
        self._include = include
        self._included = 0

    def tokens(self, text: str, path: str) -> Iterator[_Token]:
        """Yield the tokens of a text and of the files that it includes. Changes: self."""
        position, line, start = 0, 1, 0
        while position < len(text):
            found = _TOKEN.match(text, position)
            place = (path, line, position - start + 1)
            if found is None:
                _fail_at(text, position, place)
            if found.lastgroup == "include":
                if text[start:position].strip(" \t"):
                    _fail(place, _LONE_INCLUDE)
                yield from self._tokens_of_file(found[0].split('"')[1], place)
            elif found.lastgroup != "skip":
                yield self._token(str(found.lastgroup), found[0], place)
            breaks = found[0].count("\n")
            if breaks:
                line += breaks
                start = position + found[0].rindex("\n") + 1
            position = found.end()

    def _token(self, group: str, text: str, place: Place) -> _Token:
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

    def _tokens_of_file(self, name: str, place: Place) -> Iterator[_Token]:
        if self._include is None:
            _fail(place, "@include is not supported here", "put the text of that file here")
        if self._included == MAX_INCLUDES:
            _fail(place, f"more than {MAX_INCLUDES} files are included, counting each time")
        self._included += 1
        try:
            text = self._include(name)
        except OSError as error:
            _fail(place, f"{name}: {os_reason(error)}")
        return self.tokens(text, name)


def _fail_at(text: str, position: int, place: Place) -> NoReturn:
    """Refuse a character that begins nothing.

    It may be one of a password without its quotes, so only what cannot be seen is named.
    """
    character = text[position]
    if character == '"':
        _fail(place, "text without a closing quote")
    if text.startswith("@include", position):
        _fail(place, _LONE_INCLUDE)
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
    number = int(escape[2], 16)
    return chr(number) if number < 0x80 else chr(0xDC00 + number)


# Grammar ----------------------------------------------------------------------------------------

_BLOCKS = {"{": (Type.GROUP, "}"), "(": (Type.LIST, ")"), "[": (Type.ARRAY, "]")}


class _Parser:
    def __init__(self, tokens: Iterator[_Token], path: str) -> None:
        self._tokens = iter(list(tokens))
        self._path = path
        self._depth = 0
        self._last = (path, 1, 1)
        self._token = self._read()

    def file(self) -> Setting:
        """Return everything as one group."""
        members = self._members()
        if self._token.kind != "end":
            self._fail()
        return Setting(Type.GROUP, (self._path, 1, 1), members=members)

    def _read(self) -> _Token:
        return next(self._tokens, _Token("end", self._last))

    def _take(self) -> _Token:
        """Return the next token and go behind it. Changes: self."""
        taken = self._token
        self._last = taken.place
        self._token = self._read()
        return taken

    def _accept(self, *kinds: str) -> bool:
        """Go behind the next token if it is of these kinds; return whether. Changes: self."""
        is_accepted = self._token.kind in kinds
        if is_accepted:
            self._take()
        return is_accepted

    def _expect(self, *kinds: str) -> None:
        if not self._accept(*kinds):
            self._fail()

    def _members(self) -> dict[str, Setting]:
        found: dict[str, Setting] = {}
        while self._token.kind == "name":
            key = self._take()
            name = str(key.value)
            self._expect(":", "=")
            value = self._value()
            if name in found:
                first = found[name].place[1]
                _fail(
                    key.place,
                    f"duplicate {name} (first at line {first}): ProxySQL does not start with such a"
                    " file",
                )
            found[name] = value
            self._accept(";", ",")
        return found

    def _value(self) -> Setting:
        token = self._token
        if token.kind in _BLOCKS:
            return self._block()
        if token.kind == Type.TEXT:
            return self._text()
        if token.kind not in _SCALARS:
            self._fail()
        self._take()
        return Setting(Type(token.kind), token.place, token.value)

    def _text(self) -> Setting:
        """Return texts that follow each other as one."""
        place, parts = self._token.place, []
        while self._token.kind == Type.TEXT:
            parts.append(str(self._take().value))
        # Bytes given one by one may make up characters.
        text = "".join(parts).encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
        return Setting(Type.TEXT, place, text)

    def _block(self) -> Setting:
        opening = self._take()
        kind, end = _BLOCKS[opening.kind]
        if self._depth >= MAX_DEPTH:
            _fail(opening.place, f"nested more than {MAX_DEPTH} levels deep")
        self._depth += 1
        members = self._members() if kind is Type.GROUP else None
        items = () if kind is Type.GROUP else tuple(self._items(end))
        self._expect(end)
        self._depth -= 1
        return Setting(kind, opening.place, members=members, items=items)

    def _items(self, end: str) -> Iterator[Setting]:
        """Yield the values; between and behind them there may be more commas than one."""
        while self._token.kind != end:
            yield self._value()
            if not self._accept(","):
                return
            while self._accept(","):
                pass

    def _fail(self) -> NoReturn:
        """Refuse the token that does not fit.

        Only what can be no part of a password is shown: that may stand there without its quotes.
        """
        token = self._token
        if token.kind == "end":
            _fail(token.place, "unexpected end of the file", "is a bracket or a value missing?")
        missing = "is a comma, an equals sign or a bracket missing in front of it?"
        quoted = "write text in double quotes; or " if token.kind == "name" else ""
        _fail(
            token.place, _UNEXPECTED.get(token.kind, f"unexpected {token.kind}"), quoted + missing
        )


_SCALARS = frozenset({Type.INT, Type.LONG, Type.FLOAT, Type.BOOL, Type.TEXT})

_UNEXPECTED: dict[str, str] = {
    "name": "an unexpected word",
    Type.TEXT: "an unexpected text",
    Type.BOOL: "an unexpected true or false",
    **dict.fromkeys((Type.INT, Type.LONG, Type.FLOAT), "an unexpected number"),
}
