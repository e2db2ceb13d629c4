"""Colour, and values as people read them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from proxyctl.catalog import Value
from proxyctl.stats.model import CACHE
from proxyctl.text import printable

_CODES = {"add": "32", "change": "33", "delete": "31", "bold": "1", "dim": "2", "refuse": "31;1"}


@dataclass(frozen=True)
class Style:
    """Wraps text in colour, or leaves it as it is: everything reads the same without colour."""

    is_coloured: bool = False

    def __call__(self, kind: str, text: str) -> str:
        """Return the text in the colour of its kind."""
        return f"\x1b[{_CODES[kind]}m{text}\x1b[0m" if self.is_coloured else text


PLAIN = Style()


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
    return f"{value} ({printable(name)})" if name else shown(value)


def seen_hostgroup(number: int, names: Mapping[int, str]) -> str:
    """Return a hostgroup of the statistics, where -1 is ProxySQL's number for the query cache."""
    return "query cache" if number == CACHE else hostgroup(number, names)
