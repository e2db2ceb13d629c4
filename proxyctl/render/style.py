"""Colours, lines of limited width, and values as people read them; text from servers escaped."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from textwrap import wrap
from typing import Protocol

from proxyctl.catalog import Value
from proxyctl.rows.row import SENSITIVE, Secret
from proxyctl.stats.model import CACHE
from proxyctl.stats.units import share_text
from proxyctl.text import printable

_CODES = {"add": "32", "change": "33", "delete": "31", "bold": "1", "dim": "2", "refuse": "31;1"}
_SEVERITIES = {"error": "refuse", "warning": "change", "note": "dim", "decision": "change"}
_STATEMENT = re.compile("(publish|take back): ")
_LABEL = re.compile(r"\w[\w ]{0,11} {2,}")
WIDTH = 100
"""The default width of a line. Units: characters."""
MOST_NAMES = 8
"""Names listed on a line; further names are counted."""


@dataclass(frozen=True)
class Style:
    """Colours text, or leaves it plain: every text makes sense without colour."""

    is_coloured: bool = False
    """Whether text is coloured."""
    width: int | None = None
    """The width of the terminal; None: lines may have any length. Units: characters."""
    is_verbose: bool = False
    """Whether values are shown in full, not cut."""

    def __call__(self, kind: str, text: str) -> str:
        """Return the text in the colour of its kind."""
        return f"\x1b[{_CODES[kind]}m{text}\x1b[0m" if self.is_coloured else text

    def lines(self, text: str, *, first: str = "", then: str = "") -> list[str]:
        """Return the text wrapped to the width, after `first` and, on further lines, `then`."""
        if self.width is None:
            return [f"{first}{text}"]
        return wrapped(text, self.width, first=first, then=then)

    def text(self, text: str) -> str:
        """Return a text with each of its lines wrapped to the width."""
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
        """Yield the lines of a finding, the same in every command.

        `places`: the list, where `place` has only their number. `first`: text before the first
        line; further lines are indented by its width.
        """
        label, indent = f"[{severity}]", " " * len(first)
        head = f"{printable(place)}: {code} {label} {printable(text)}"
        first_line, *further = self.lines(head, first=first, then=f"{indent}    ")
        yield first_line.replace(label, self(_SEVERITIES[severity], label), 1)
        yield from further
        if places:
            yield from self.lines(printable(places), first=f"{indent}  ", then=f"{indent}  ")
        if fix:
            yield from self.lines(printable(fix), first=f"{indent}  fix: ", then=f"{indent}    ")

    def line(self, line: str) -> list[str]:
        """Return a line wrapped to the width, further lines indented below its label.

        A statement stays on one line, so that it can be copied.
        """
        text = line.lstrip()
        if not text or _STATEMENT.match(text):
            return [line]
        indent, label = line[: len(line) - len(text)], _LABEL.match(line)
        return self.lines(
            text, first=indent, then=" " * (label.end() if label else len(indent) + 2)
        )


PLAIN = Style()


class InstanceResult(Protocol):
    """A result of one instance; `name` is the address if the files give no name."""

    @property
    def name(self) -> str: ...  # noqa: D102

    @property
    def address(self) -> str: ...  # noqa: D102

    @property
    def version(self) -> str: ...  # noqa: D102


def shown(value: Value, *, limit: int | None = 160) -> str:
    """Return a value for people: NULL, '', a number or text, and no text of a reference.

    `limit`: characters; None: no limit.
    """
    if value is None:
        return "NULL"
    if isinstance(value, Secret):
        return SENSITIVE
    if value == "":
        return "''"
    text = printable(str(value))
    return text if limit is None or len(text) <= limit else f"{text[: limit - 3]}..."


def name_text(name: str, limit: int = 64) -> str:
    """Return a name from a server, safe to show and cut to `limit` characters."""
    text = printable(name)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def hostgroup(value: Value, names: Mapping[int, str]) -> str:
    """Return a hostgroup as `10 (writer)`, or its number if it has no name."""
    name = names.get(value) if isinstance(value, int) else None
    return f"{value} ({printable(name)})" if name else shown(value)


def seen_hostgroup(number: int, names: Mapping[int, str]) -> str:
    """Return a hostgroup of the statistics; ProxySQL's number for the query cache is -1."""
    return "query cache" if number == CACHE else hostgroup(number, names)


def percent(part: float, whole: float) -> str:
    """Return the share of a part in the whole; `-` if the whole is 0."""
    return share_text(part / whole) if whole else "-"


def moment(seconds: float) -> str:
    """Return unix seconds for people; ProxySQL's clock is read as UTC."""
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S UTC}"
    except (ValueError, OverflowError, OSError):
        return f"{seconds:.0f} s"


def wrapped(text: str, width: int, *, first: str = "", then: str = "") -> list[str]:
    """Return the text wrapped to `width`, after `first` and, on further lines, `then`.

    Words stay whole, so that names of variables can be copied.
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
    """Return an instance as `px1  10.0.0.1:6032`; only the address if it has no name."""
    return printable(address if name == address else f"{name}  {address}")


def instance_text(result: InstanceResult) -> str:
    """Return an instance as `px1  10.0.0.1:6032  ProxySQL 2.7.1`."""
    return f"{named_address(result.name, result.address)}  ProxySQL {printable(result.version)}"


def listed_names(names: Sequence[str]) -> str:
    """Return names, the first ones of many with the count of the others."""
    listed = ", ".join(map(printable, names[:MOST_NAMES]))
    hidden = len(names) - MOST_NAMES
    return f"{listed} and {hidden} more" if hidden > 0 else listed
