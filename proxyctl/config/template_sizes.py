"""What no text, list or number in a template may exceed, looked at before it is made."""

from __future__ import annotations

import re
from typing import Any

from jinja2 import Undefined
from jinja2.exceptions import SecurityError

from proxyctl.config.fenced import MAX_FILE

MAX_ITEMS = 1_000_000
"""Longest text or list that one multiplication may make."""

_MAX_BITS = 4096
"""Largest number that an operation may make."""

_LONG_WIDTH = re.compile(r"%[^A-Za-z%]*(?:[0-9]{5}|\*)")
_LONG_FIELD = re.compile(r"\{[^{}]*(?:[0-9]{5}|:[^{}]*\{)")


class TemplateLimitError(SecurityError):
    """A template asks for more than any configuration needs."""


def refuse_undefined(value: object) -> None:
    """Raise what Jinja2 says about an undefined name. Raises: UndefinedError."""
    if isinstance(value, Undefined):
        str(value)


def too_long() -> TemplateLimitError:
    """Return what is raised for a text or list that is too long."""
    return TemplateLimitError(f"a text or list of more than {MAX_FILE:,} characters or items")


def check_printf(text: str) -> None:
    """Refuse a text of `%` with a field of any width. Raises: TemplateLimitError."""
    if _LONG_WIDTH.search(text):
        raise _too_wide()


def check_field(text: str) -> None:
    """Refuse a text of `str.format` with a field of any width. Raises: TemplateLimitError."""
    if _LONG_FIELD.search(text):
        raise _too_wide()


def _too_wide() -> TemplateLimitError:
    return TemplateLimitError("a width above 9,999, or one that is not written out")


def check_bits(bits: int) -> None:
    """Refuse a number of so many bits, if they are too many. Raises: TemplateLimitError."""
    if bits > _MAX_BITS:
        raise TemplateLimitError("a number of more than 1,000 digits")


def check_product(left: Any, right: Any) -> None:  # noqa: ANN401 - any operands
    """Refuse a multiplication that makes too much. Raises: TemplateLimitError."""
    if isinstance(left, int) and isinstance(right, int):
        check_bits(left.bit_length() + right.bit_length())
    for one, other in ((left, right), (right, left)):
        is_sized = isinstance(one, str | bytes | list | tuple)
        if is_sized and isinstance(other, int) and len(one) * other > MAX_ITEMS:
            raise TemplateLimitError(f"a multiplication makes more than {MAX_ITEMS:,} items")
