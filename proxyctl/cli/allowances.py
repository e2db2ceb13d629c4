"""Options of plan and apply that let something through, and how a saved plan carries them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from proxyctl.plan.make import PlanOptions


def tables(incomplete: str) -> list[str]:
    """Return the tables that a shell offers for --only. A module's name has a blank in it."""
    from proxyctl.catalog import TABLES

    return [
        name for name, table in TABLES.items() if not table.prefix and name.startswith(incomplete)
    ]


@dataclass(frozen=True)
class Allowances:
    """Options of plan and apply that let something through, or leave something out."""

    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            metavar="NAME",
            help="Only this admin module (MYSQL USERS) or table (mysql_users); many times.",
            autocompletion=tables,
        ),
    ] = None
    force: Annotated[bool, typer.Option("--force", help="Let guards pass.")] = False
    discard_pending: Annotated[
        bool,
        typer.Option(
            "--discard-pending", help="Overwrite rows of ours that were edited in MEMORY."
        ),
    ] = False
    allow_shard_moves: Annotated[
        bool,
        typer.Option(
            "--allow-shard-moves",
            help="Let tables and schemas change shard; their data has to be there already.",
        ),
    ] = False

    def options(self) -> PlanOptions:
        """Return them as the plan takes them."""
        from proxyctl.plan.make import PlanOptions

        return PlanOptions(
            only=tuple(self.only or ()),
            force=self.force,
            discard_pending=self.discard_pending,
            allow_shard_moves=self.allow_shard_moves,
        )

    def names(self) -> list[str]:
        """Return the options as they stood on the command line, for a saved plan."""
        given = [option for option, flag in _FLAGS.items() if getattr(self, flag)]
        return [*given, *(f"--only={name}" for name in self.only or ())]

    @classmethod
    def of_names(cls, names: Iterable[str]) -> Allowances | None:
        """Return what `names` gave, or None where an option is none of these."""
        only: list[str] = []
        flags: dict[str, bool] = {}
        for option in names:
            if option.startswith("--only="):
                only.append(option.removeprefix("--only="))
            elif option in _FLAGS:
                flags[_FLAGS[option]] = True
            else:
                return None
        return cls(only=only or None, **flags)


_FLAGS = {
    "--force": "force",
    "--discard-pending": "discard_pending",
    "--allow-shard-moves": "allow_shard_moves",
}
