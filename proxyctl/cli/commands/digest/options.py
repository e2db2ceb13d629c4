"""Options that several digest commands take."""

from __future__ import annotations

from typing import Annotated

import typer

from proxyctl.errors import UsageError
from proxyctl.stats.model import SHORT_NAMES, Group
from proxyctl.stats.units import microseconds_of
from proxyctl.text import nearest

MOST_LISTED = 1_000_000
"""The maximum of --limit; a snapshot holds all digests."""
_SHOWN = 60

FullTextOption = Annotated[bool, typer.Option("--full-text", help="Show digest texts in full.")]
GroupOption = Annotated[
    list[str] | None,
    typer.Option(
        "--group",
        metavar="COLUMN,...",
        help="Group by digest, hostgroup, schemaname, username, client_address. Default: digest.",
    ),
]


def columns_of(given: list[str] | None) -> tuple[Group, ...]:
    """Return the columns of --group; the digest by default. Raises: UsageError."""
    names = [name.strip() for one in given or ["digest"] for name in one.split(",")]
    found: list[Group] = []
    for name in names:
        try:
            found.append(SHORT_NAMES.get(name) or Group(name))
        except ValueError:
            near = nearest(name, list(Group), cutoff=0.6)
            fix = f"did you mean {near}?" if near else f"columns: {', '.join(Group)}"
            raise UsageError(f"--group {cut_short(name)}: no such column", fix=fix) from None
    return tuple(dict.fromkeys(found))


def cut_short(value: str) -> str:
    """Return a value from the command line, shortened for a message."""
    return value if len(value) <= _SHOWN else f"{value[: _SHOWN - 3]}..."


def duration_us(option: str, text: str | None) -> int:
    """Return the microseconds of a duration such as `7d`, 0 for None. Raises: UsageError."""
    if text is None:
        return 0
    try:
        return microseconds_of(cut_short(text))  # no time is as long as what is cut
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from None
