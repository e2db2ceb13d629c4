"""The text of a libconfig file -> values that know their lines.

The grammar is libconf's. The tokens are ours, because libconfig reads some of them differently:
unknown escapes stay as they are, `010` is 8, a number beyond 32 bits is another type, an equal key
twice is an error, a list may have empty places.
Source: libconfig 1.7.3 inside ProxySQL 2.7.1, run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import libconf

from proxyctl.errors import ConfigError, Mistake

MAX_DEPTH = 50
"""Deepest nesting that is read; a proxysql.cnf needs three levels."""

MAX_INCLUDES = 10
"""Longest chain of @include, as in libconfig."""
MAX_FILES = 1_000
"""Most files that are included: ten that each include the next a hundred times would be endless."""


class Type(StrEnum):
    """What libconfig takes a value for. ProxySQL asks for one type and ignores any other."""

    INT = "a number"
    LONG = "a number beyond 32 bits"
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
        """Return what stands inside: ProxySQL reads a group as a list of its values too."""
        return tuple(self.members.values()) if self.members is not None else self.items


Include = Callable[[str], str]
"""Returns the text of a file that @include names. Raises: OSError."""


def parse(text: str, path: str, include: Include | None = None) -> Setting:
    """Return the file as one group.

    Raises: ConfigError with the place of the first mistake, where libconfig stops as well.
    """
    files = None if include is None else _Files(include)
    stream = libconf.TokenStream(_tokens(text, path, files, 0))
    parser = _Parser(stream, path)
    try:
        return parser.file()
    except libconf.ConfigParseError:
        raise parser.unexpected() from None


def _error(place: Place, message: str, hint: str | None = None) -> ConfigError:
    path, line, column = place
    return ConfigError([Mistake(path, line, column, "", message, hint)])


# Tokens -----------------------------------------------------------------------------------------

_TOKEN = re.compile(
    r"""(?P<skip>[ \t\r\f\n]+|\#[^\n]*|//[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/)?)
    |(?P<include>@include[ \t]+"(?P<file>[^"\n]*)")
    |(?P<float>[-+]?[0-9]*\.[0-9]*(?:[eE][-+]?[0-9]+)?|[-+]?[0-9]+[eE][-+]?[0-9]+)
    |(?P<hex>0[xX][0-9A-Fa-f]+)(?P<hexlong>LL?)?
    |(?P<integer>[-+]?[0-9]+)(?P<long>LL?)?
    |(?P<name>[A-Za-z*][-A-Za-z0-9_*]*)
    |"(?P<string>(?:[^"\\]|\\.)*)"
    |(?P<mark>[{}()\[\],;=:])""",
    re.VERBOSE | re.DOTALL,
)

_ESCAPE = re.compile(r'\\(?:([nrtf\\"])|[xX]([0-9A-Fa-f]{2}))')
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "\\": "\\", '"': '"'}


class _Token:
    """One token, in the shape that libconf's stream and parser look at."""

    __slots__ = ("place", "text", "type", "value")

    def __init__(self, kind: str, text: str, place: Place, value: Scalar = "") -> None:
        self.type = kind
        self.text = text
        self.place = place
        self.value = value


def _tokens(text: str, path: str, files: _Files | None, depth: int) -> Iterator[_Token]:
    position, line, start = 0, 1, 0
    while position < len(text):
        found = _TOKEN.match(text, position)
        place = (path, line, position - start + 1)
        if found is None:
            raise _unreadable(text, position, place)
        if found["include"] is not None:
            if text[start:position].strip(" \t"):
                raise _misplaced_include(place)
            yield from _included(found["file"], place, files, depth)
        elif found["skip"] is None:
            yield _token(found, place)
        breaks = found[0].count("\n")
        if breaks:
            line += breaks
            start = position + found[0].rindex("\n") + 1
        position = found.end()


def _unreadable(text: str, position: int, place: Place) -> ConfigError:
    """Return the error at a character that begins nothing.

    It may be one of a password without its quotes, so only what cannot be seen is named.
    """
    character = text[position]
    if character == '"':
        return _error(place, "a text that does not end")
    if character == "'" and text[position - 1 : position] in _BEFORE_A_VALUE:
        return _error(place, "a single quote begins nothing here", "write text in double quotes")
    if text.startswith("@include", position):
        return _misplaced_include(place)
    if not character.isprintable():
        return _error(place, f"a character that libconfig does not know: U+{ord(character):04X}")
    what = "a character that stands for nothing outside of double quotes"
    return _error(place, what, "write text in double quotes")


_BEFORE_A_VALUE = " \t\r\f\n=:([,"


def _misplaced_include(place: Place) -> ConfigError:
    return _error(place, "@include stands alone on its line, with the file in double quotes")


@dataclass
class _Files:
    """The files that @include names, and how many more there may be."""

    include: Include
    left: int = MAX_FILES


def _included(name: str, place: Place, files: _Files | None, depth: int) -> Iterator[_Token]:
    """Yield the tokens of another file. Changes: files."""
    if files is None:
        raise _error(place, "@include cannot be followed here", "put the other file's text here")
    if depth >= MAX_INCLUDES:
        raise _error(place, f"more than {MAX_INCLUDES} files that include each other")
    if files.left == 0:
        raise _error(place, f"more than {MAX_FILES:,} files that are included, counting each time")
    files.left -= 1
    try:
        text = files.include(name)
    except OSError as error:
        raise _error(place, f"{name}: {error.strerror or error}") from None
    return _tokens(text, name, files, depth + 1)


def _token(found: re.Match[str], place: Place) -> _Token:
    text = found[0]
    if found["mark"] is not None:
        return _Token(text, text, place)
    if found["name"] is not None:
        if text.lower() in ("true", "false"):
            return _Token("boolean", text, place, text.lower() == "true")
        return _Token("name", text, place)
    if found["string"] is not None:
        # A NUL ends the text for ProxySQL, which is written in C.
        value = _ESCAPE.sub(_unescaped, found["string"]).partition("\0")[0]
        return _Token("string", "text", place, value)
    if found["float"] is not None:
        return _Token("float", text, place, _float(text))
    if found["hex"] is not None:
        number = int(found["hex"], 16) & 0xFFFFFFFF
        kind = "hex64" if found["hexlong"] else "hex"
        return _Token(kind, text, place, number - (1 << 32) if number >> 31 else number)
    number = _integer(found["integer"], place)
    is_long = found["long"] is not None or not -(1 << 31) <= number < 1 << 31
    return _Token("integer64" if is_long else "integer", text, place, number)


def _unescaped(found: re.Match[str]) -> str:
    if found[1]:
        return _ESCAPED[found[1]]
    number = int(found[2], 16)
    # The escape stands for a byte; above ASCII it may be a part of a UTF-8 character.
    return chr(number) if number < 0x80 else chr(0xDC00 + number)


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0  # libconfig takes a lone dot for a number


def _integer(text: str, place: Place) -> int:
    digits = text.lstrip("+-")
    if len(digits) > 25:
        raise _error(place, "a number with too many digits")
    base = 8 if digits.startswith("0") else 10
    try:
        number = int(digits, base)
    except ValueError:
        raise _error(place, "a leading zero means octal here, which has no 8 or 9") from None
    return -number if text.startswith("-") else number


# Grammar ----------------------------------------------------------------------------------------

_TYPES = {
    "integer": Type.INT,
    "hex": Type.INT,
    "integer64": Type.LONG,
    "hex64": Type.LONG,
    "float": Type.FLOAT,
    "boolean": Type.BOOL,
}

_UNEXPECTED = {
    "name": "an unexpected word",
    "string": "an unexpected text",
    **dict.fromkeys(
        ("integer", "integer64", "hex", "hex64", "float"),
        "an unexpected number",
    ),
}


class _Parser(libconf.Parser):  # type: ignore[misc]
    """libconf's parser, with values that know their places and types."""

    def __init__(self, stream: Any, path: str) -> None:  # noqa: ANN401 - libconf has no types
        super().__init__(stream)
        self._path = path
        self._depth = 0

    def file(self) -> Setting:
        """Return everything as one group."""
        members = self.setting_list_or_empty()
        if not self.tokens.finished():
            self.tokens.error("")
        return Setting(Type.GROUP, (self._path, 1, 1), members=members)

    def unexpected(self) -> ConfigError:
        """Return the error at the token that does not fit.

        Only what can be no part of a password is shown: that may stand there without its quotes.
        """
        token = self.tokens.peek()
        if token is not None:
            missing = "is a comma, an equals sign or a bracket missing in front of it?"
            what = _UNEXPECTED.get(token.type, f"unexpected {token.text}")
            quoted = "write text in double quotes; or " if token.type == "name" else ""
            return _error(token.place, what, quoted + missing)
        last = self.tokens.tokens[-1].place if self.tokens.tokens else (self._path, 1, 1)
        return _error(last, "the file ends too early", "is a bracket or a value missing?")

    def setting_list_or_empty(self) -> dict[str, Setting]:
        """Return settings by key. libconfig refuses an equal key, where libconf keeps the last."""
        result: dict[str, Setting] = {}
        while True:
            token = self.tokens.peek()
            pair = self.setting()
            if pair is None:
                return result
            name, value = pair
            if name in result:
                raise _error(
                    token.place,
                    f"{name} stands twice, first at line {result[name].place[1]}: ProxySQL does not"
                    " start with such a file",
                )
            result[name] = value

    def string(self) -> Setting | None:
        """Return texts that follow each other as one."""
        first = self.tokens.accept("string")
        if first is None:
            return None
        parts = [first.value]
        while (more := self.tokens.accept("string")) is not None:
            parts.append(more.value)
        # Bytes given one by one may make up characters.
        text = "".join(parts).encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
        return Setting(Type.TEXT, first.place, value=text)

    def _create_value_node(self, tokentype: str) -> Setting | None:
        token = self.tokens.accept(tokentype)
        return None if token is None else Setting(_TYPES[tokentype], token.place, token.value)

    def _comma_separated_list_or_empty(self, nonterminal: Callable[[], Any]) -> list[Setting]:
        """Return the values; between and behind them there may be more commas than one."""
        values: list[Setting] = []
        value = nonterminal()
        while value is not None:
            values.append(value)
            if not self.tokens.accept(","):
                break
            while self.tokens.accept(","):
                pass
            value = nonterminal()
        return values

    def _enclosed_block(self, start: str, nonterminal: Callable[[], Any], end: str) -> Any:  # noqa: ANN401
        opening = self.tokens.peek()
        if opening is None or opening.type != start:
            return None
        if self._depth >= MAX_DEPTH:
            raise _error(opening.place, f"nested more than {MAX_DEPTH} levels deep")
        self._depth += 1
        inside = super()._enclosed_block(start, nonterminal, end)
        self._depth -= 1
        if start == "{":
            return Setting(Type.GROUP, opening.place, members=inside)
        if start == "[" and len({item.type for item in inside}) > 1:
            raise _error(opening.place, "an array [ ] holds values of one type only")
        return Setting(
            Type.LIST if start == "(" else Type.ARRAY, opening.place, items=tuple(inside)
        )
