"""What render, import and export share: the options, the rule on secrets, the writing."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proxyctl.cli.output import say, write, write_file
from proxyctl.errors import UsageError

if TYPE_CHECKING:
    from proxyctl.state.fold import Exported


class RowFormat(StrEnum):
    """How rows are written."""

    YAML = "yaml"
    SQL = "sql"
    CNF = "cnf"


class Secrets(StrEnum):
    """What happens to passwords."""

    HASH = "hash"
    OMIT = "omit"
    CLEAR = "clear"


SecretsOption = Annotated[
    Secrets,
    typer.Option("--secrets", help="Passwords as hashes, left out, or (with -o) in clear."),
]
OutOption = Annotated[
    str | None, typer.Option("--out", "-o", metavar="FILE", help="Write to this file.")
]


def check_secrets(secrets: Secrets, out: str | None) -> None:
    """Refuse to show passwords in clear text on a terminal or in a log."""
    if secrets is Secrets.CLEAR and not out:
        raise UsageError(
            "--secrets clear writes passwords in clear text",
            hint="it needs -o FILE, which is made readable by its owner only",
        )


def emit(exported: Exported, text: str, secrets: Secrets, out: str | None) -> None:
    """Write the text where it was asked for, and the warnings to stderr."""
    for warning in exported.warnings:
        say(f"warning: {warning}")
    if out:
        write_file(Path(out), text, mode=0o600 if secrets is Secrets.CLEAR else 0o644)
        say(f"written to {out}")
    else:
        write(text)
