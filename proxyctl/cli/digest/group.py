"""The option --group: by which columns rows of the statistics are put together."""

from __future__ import annotations

from typing import Annotated

import typer

from proxyctl.cli.digest.limits import cut_short
from proxyctl.errors import UsageError
from proxyctl.stats.model import SHORT_NAMES, Group

GroupOption = Annotated[
    list[str] | None,
    typer.Option(
        "--group",
        metavar="COLUMN,...",
        help="Put together by digest, hostgroup, schemaname, username, client_address."
        " Default: digest.",
    ),
]


def columns_of(given: list[str] | None) -> tuple[Group, ...]:
    """Return what --group names, digests unless told. Raises: UsageError."""
    names = [name.strip() for one in given or ["digest"] for name in one.split(",")]
    found: list[Group] = []
    for name in names:
        try:
            found.append(SHORT_NAMES.get(name) or Group(name))
        except ValueError:
            known = ", ".join(Group)
            raise UsageError(
                f"--group {cut_short(name)}: no such column", hint=f"one of: {known}"
            ) from None
    return tuple(dict.fromkeys(found))
