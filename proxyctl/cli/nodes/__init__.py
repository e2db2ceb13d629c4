"""The commands around the servers behind ProxySQL."""

from __future__ import annotations

import typer


def register(app: typer.Typer) -> None:
    """Add the group to the application."""
    from proxyctl.cli.nodes import discover, drain
    from proxyctl.cli.nodes import list as list_command

    group = typer.Typer(no_args_is_help=True, suggest_commands=False)
    list_command.register(group)
    drain.register(group)
    discover.register(group)
    app.add_typer(group, name="nodes", help="The servers behind ProxySQL, and what they say.")
