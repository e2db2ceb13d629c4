"""Colour, lines of a width, and values as people read them. Text of a server comes out escaped."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from textwrap import wrap
from typing import Protocol

from proxyctl.catalog import Value
from proxyctl.stats.model import CACHE
from proxyctl.stats.units import share_text
from proxyctl.text import printable

_CODES = {"add": "32", "change": "33", "delete": "31", "bold": "1", "dim": "2", "refuse": "31;1"}
_SEVERITIES = {"error": "refuse", "warning": "change", "note": "dim"}
_STATEMENT = re.compile("(publish|take back): ")
_LABEL = re.compile(r"\w[\w ]{0,11} {2,}")
WIDTH = 100
"""Of a line, unless told. Units: characters."""
MOST_NAMES = 8
"""Names of instances that a line lists; the rest is counted."""


@dataclass(frozen=True)
class Style:
    """Wraps text in colour, or leaves it as it is: everything reads the same without colour.

    `width`: that of the terminal, in characters; None where lines may have any length.
    `is_verbose`: no value is cut short.
    """

    is_coloured: bool = False
    width: int | None = None
    is_verbose: bool = False

    def __call__(self, kind: str, text: str) -> str:
        """Return the text in the colour of its kind."""
        return f"\x1b[{_CODES[kind]}m{text}\x1b[0m" if self.is_coloured else text

    def lines(self, text: str, *, first: str = "", then: str = "") -> list[str]:
        """Return the text in lines of the width, behind `first` and then behind `then`."""
        if self.width is None:
            return [f"{first}{text}"]
        return wrapped(text, self.width, first=first, then=then)

    def text(self, text: str) -> str:
        """Return a text whose lines have any length in lines of the width."""
        return "".join(f"{part}\n" for line in text.splitlines() for part in self.line(line))

    def finding(
        self,
        severity: str,
        place: str,
        code: str,
        text: str,
        fix: str | None,
        *,
        places: str = "",
        first: str = "",
    ) -> Iterator[str]:
        """Yield the lines of a finding, the same wherever it is shown.

        `places`: all of them, where `place` counts them. `first`: what stands before its first
        line, and as blanks before the others.
        """
        shown, indent = f"[{severity}]", " " * len(first)
        head = f"{printable(place)}: {code} {shown} {printable(text)}"
        begin, *more = self.lines(head, first=first, then=f"{indent}    ")
        yield begin.replace(shown, self(_SEVERITIES[severity], shown), 1)
        yield from more
        if places:
            yield from self.lines(printable(places), first=f"{indent}  ", then=f"{indent}  ")
        if fix:
            yield from self.lines(printable(fix), first=f"{indent}  fix: ", then=f"{indent}    ")

    def line(self, line: str) -> list[str]:
        """Return a line in lines of the width, behind its own indent or label.

        A statement is to be copied: it stays on one line.
        """
        text = line.lstrip()
        if not text or _STATEMENT.match(text):
            return [line]
        indent, label = line[: len(line) - len(text)], _LABEL.match(line)
        return self.lines(
            text, first=indent, then=" " * (label.end() if label else len(indent) + 2)
        )


PLAIN = Style()


class OfInstance(Protocol):
    """A result that says which instance it is about: its name, else its address."""

    @property
    def name(self) -> str: ...  # noqa: D102

    @property
    def address(self) -> str: ...  # noqa: D102

    @property
    def version(self) -> str: ...  # noqa: D102


def shown(value: Value, *, limit: int | None = 160) -> str:
    """Return a value for people: NULL, a number, or text; '' is visible as such.

    `limit`: characters; None for all of them.
    """
    if value is None:
        return "NULL"
    if value == "":
        return "''"
    text = printable(str(value))
    return text if limit is None or len(text) <= limit else f"{text[: limit - 3]}..."


def name_text(name: str, limit: int = 64) -> str:
    """Return a name of a server that is safe to show, and short."""
    text = printable(name)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def hostgroup(value: Value, names: Mapping[int, str]) -> str:
    """Return a hostgroup as `10 (writer)`, or just its number."""
    name = names.get(value) if isinstance(value, int) else None
    return f"{value} ({printable(name)})" if name else shown(value)


def seen_hostgroup(number: int, names: Mapping[int, str]) -> str:
    """Return a hostgroup of the statistics, where -1 is ProxySQL's number for the query cache."""
    return "query cache" if number == CACHE else hostgroup(number, names)


def percent(part: float, whole: float) -> str:
    """Return a share of the whole; `-` where there is no whole."""
    return share_text(part / whole) if whole else "-"


def moment(seconds: float) -> str:
    """Return unix seconds for people; ProxySQL's clock is read as UTC."""
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S UTC}"
    except (ValueError, OverflowError, OSError):
        return f"{seconds:.0f} s"


def wrapped(text: str, width: int, *, first: str = "", then: str = "") -> list[str]:
    """Return the lines, the first one behind `first` and the others behind `then`.

    A word stays whole, however long it is: names of variables are to be copied.
    """
    return wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=then,
        break_on_hyphens=False,
        break_long_words=False,
    )


def named_address(name: str, address: str) -> str:
    """Return an instance as `px1  10.0.0.1:6032`; the address alone where it has no name."""
    return printable(address if name == address else f"{name}  {address}")


def instance_text(one: OfInstance) -> str:
    """Return an instance as `px1  10.0.0.1:6032  ProxySQL 2.7.1`."""
    return f"{named_address(one.name, one.address)}  ProxySQL {printable(one.version)}"


def listed_names(names: Sequence[str]) -> str:
    """Return names; of many the first ones, and how many more."""
    listed = ", ".join(map(printable, names[:MOST_NAMES]))
    more = len(names) - MOST_NAMES
    return f"{listed} and {more} more" if more > 0 else listed
