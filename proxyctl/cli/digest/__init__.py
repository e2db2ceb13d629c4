"""The commands around stats_mysql_query_digest."""

from __future__ import annotations

import typer


def register(app: typer.Typer) -> None:
    """Add the group to the application."""
    from proxyctl.cli.digest import diff, report, reset, snapshot, suggest, top

    group = typer.Typer(no_args_is_help=True, suggest_commands=False)
    for module in (top, snapshot, diff, report, suggest, reset):
        module.register(group)
    app.add_typer(group, name="digest", help="Which queries are slow, and what would help.")
