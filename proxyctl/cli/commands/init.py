"""The command init: it writes a starter layout."""

from __future__ import annotations

from pathlib import Path

import typer

from proxyctl.cli.completion import completion
from proxyctl.cli.option_kinds import no_such, value
from proxyctl.cli.output import say
from proxyctl.config.starters import copy_starter, next_steps, starter_names
from proxyctl.errors import ExitCode


@completion
def starters(_: typer.Context) -> list[str]:
    """Return the names that `init --template` takes."""
    return starter_names()


def init(
    folder: str = typer.Argument(..., metavar="DIR", help="The folder to write into."),
    template: str = value(
        "NAME",
        "The layout: minimal, read-write-split, pxc or sharded.",
        default="minimal",
        autocompletion=starters,
    ),
) -> int:
    """Write a starter layout into a folder."""
    from proxyctl.instance.interrupts import uninterrupted

    names = starter_names()
    if template not in names:
        fix = f"choose from {', '.join(names)}"
        raise no_such("--template", template, "template", names, fix=fix)
    with uninterrupted():
        written = copy_starter(template, Path(folder))
    for path in written:
        say(f"wrote {path}")
    say("next: put your own servers and users into the files, then run")
    for step in next_steps(Path(folder), written):
        say(f"  {step}")
    return ExitCode.DONE
