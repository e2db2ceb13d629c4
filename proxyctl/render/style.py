"""Colour, and text that is safe to show on a terminal."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from proxyctl.catalog import Value
from proxyctl.control_characters import CONTROL

_CODES = {"add": "32", "change": "33", "delete": "31", "bold": "1", "dim": "2", "refuse": "31;1"}
_UNSAFE = re.compile(rf"[{CONTROL}\ud800-\udfff]")


@dataclass(frozen=True)
class Style:
    """Wraps text in colour, or leaves it as it is: everything reads the same without colour."""

    is_coloured: bool = False

    def __call__(self, kind: str, text: str) -> str:
        """Return the text in the colour of its kind."""
        return f"\x1b[{_CODES[kind]}m{text}\x1b[0m" if self.is_coloured else text


PLAIN = Style()


def printable(text: str) -> str:
    r"""Return the text on one line, with control characters as escapes.

    A comment in a row must not move the cursor of the person who reads the plan. Bytes that are not
    UTF-8 show as \xNN.
    """

    def escape(found: re.Match[str]) -> str:
        code = ord(found[0])
        if 0xDC80 <= code <= 0xDCFF:
            return f"\\x{code - 0xDC00:02x}"
        named = {9: r"\t", 10: r"\n", 13: r"\r"}.get(code)
        if code > 0xFFFF:
            return f"\\U{code:08x}"
        return named or (f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}")

    return _UNSAFE.sub(escape, text)


def shown(value: Value, *, limit: int = 160) -> str:
    """Return a value for people: NULL, a number, or text; '' is visible as such."""
    if value is None:
        return "NULL"
    if value == "":
        return "''"
    text = printable(str(value))
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def hostgroup(value: Value, names: Mapping[int, str]) -> str:
    """Return a hostgroup as `10 (writer)`, or just its number."""
    name = names.get(value) if isinstance(value, int) else None
    return f"{value} ({name})" if name else shown(value)
