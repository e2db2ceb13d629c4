"""What a plain (unquoted) YAML scalar means.

One rule: a text that YAML 1.1 and YAML 1.2 readers take for different values is refused, so that
`010`, `on` or `12:30:45` never turns into a number or a boolean that nobody wrote. Quoted scalars
are always text and never come here.
"""

from __future__ import annotations

import re
from typing import Final

_CONSTANTS: Final[dict[str, bool | None]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}

_SWITCHES = frozenset(
    form
    for word in ("yes", "no", "on", "off", "y", "n")
    for form in (word, word.title(), word.upper())
)

_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)\Z")
_DECIMAL = re.compile(r"[-+]?(?:(?:0|[1-9][0-9]*)\.[0-9]*|\.[0-9]+)(?:[eE][-+][0-9]+)?\Z")

_DISPUTED = re.compile(
    r"""[-+]?(?:
        0[0-9_]+(?:\.[0-9]*)?                                             # octal, or decimal
      | 0x[0-9A-Fa-f_]+ | 0o[0-7]+ | 0b[01_]+                             # in other bases
      | [0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?                       # seconds, or text
      | [0-9][0-9_]*_[0-9_]*(?:\.[0-9_]*(?:[eE][-+]?[0-9]+)?)?            # a number, or text
      | (?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)[eE][-+]?[0-9]+                   # the same
      | \.(?:inf|Inf|INF|nan|NaN|NAN)
    )\Z|=\Z""",
    re.VERBOSE,
)

_MAYBE_SPECIAL = frozenset("0123456789-+.=~nNtTfFyYoO")
_MAX_DIGITS = 400


class DecimalNumber(float):
    """A decimal number that remembers how it was written: `8.10` is 8.1 and still says 8.10."""

    __slots__ = ("text",)
    text: str

    def __str__(self) -> str:
        return self.text


class DisputedError(ValueError):
    """A plain scalar that must be quoted or written in another way."""

    def __init__(self, message: str, fix: str) -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix


def plain_value(text: str) -> str | int | float | bool | None:
    """Return the value of a plain scalar. Dates and times stay text.

    Raises: DisputedError when YAML readers disagree; the message never repeats the text, which may
    be a secret.
    """
    if text and text[0] not in _MAYBE_SPECIAL:
        return text
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text in _SWITCHES:
        raise DisputedError(
            "a boolean to some YAML readers and text to others",
            "quote it if it is text, or write true or false",
        )
    if _INTEGER.match(text):
        if len(text) > _MAX_DIGITS:
            raise DisputedError("a number with too many digits", "quote it if it is text")
        return int(text)
    if _DECIMAL.match(text):
        return _decimal(text)
    if _DISPUTED.match(text):
        raise DisputedError(
            "one value to some YAML readers and another to others",
            "quote it if it is text, or write a number in decimal digits",
        )
    return text


def _decimal(text: str) -> float:
    number = DecimalNumber(text)
    if number in (float("inf"), float("-inf")):
        raise DisputedError("a decimal number that is too large", "quote it if it is text")
    number.text = text
    return number
