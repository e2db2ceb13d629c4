"""The Typer application: which commands there are, and in which order help lists them."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from functools import cache
from importlib import import_module
from typing import Any

import typer

from proxyctl import __version__
from proxyctl.cli.options import DebugOption

_HELP = ["-h", "--help"]


_MODULES = {
    **dict.fromkeys(("init", "validate", "render", "schema", "import"), "files"),
    **dict.fromkeys(("plan", "drift"), "plan"),
    **dict.fromkeys(("apply", "unlock"), "apply"),
    **dict.fromkeys(("rollback", "history", "snapshot"), "rollback"),
    "export": "export",
    "lint": "lint",
    "explain": "explain",
    "test": "test",
    "replay": "replay",
    "digest": "digest",
    "rules": "rules",
    "top": "top",
    "nodes": "nodes",
    "doctor": "doctor",
    **dict.fromkeys(("sandbox", "demo"), "sandbox"),
}
"""The module of `proxyctl.cli` that has a command, or a group of them, in the order of the help."""


def build(arguments: Sequence[str] = ()) -> Any:  # noqa: ANN401  # Typer's type moved
    """Return the command line, ready to be called with a list of arguments, many times.

    Where `arguments` begin with a command, only its module is imported: all of them take longer
    than many a command. Help, completion and a word that is no command need every one.
    """
    called = next((one for one in arguments if one != "--debug"), "")
    return _built(_MODULES.get(called))


@cache  # no call changes it, and tests make thousands in a process
def _built(only: str | None) -> Any:  # noqa: ANN401  # as above
    app = typer.Typer(
        name="proxyctl",
        help="ProxySQL configuration as code: describe it in YAML, plan, apply, read it back.",
        no_args_is_help=True,
        suggest_commands=False,  # `wrong_command_line` does
        add_completion=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": _HELP, "max_content_width": 100},
    )

    @app.callback()
    def _root(
        version: bool = typer.Option(False, "--version", "-V", help="Show the version and exit."),
        debug: DebugOption = False,  # noqa: ARG001 - each command looks for it here as well
    ) -> None:
        if version:
            typer.echo(f"proxyctl {__version__}")
            raise typer.Exit

    wanted = [only] if only else dict.fromkeys(_MODULES.values())
    for name in wanted:
        import_module(f"proxyctl.cli.{name}").register(app)
    built: Any = typer.main.get_command(app)
    groups = [one for one in built.commands.values() if hasattr(one, "commands")]
    for one in (built, *groups, *commands_of(built).values()):
        _say_what_options_take(one)
    return built


def commands_of(built: Any) -> dict[str, Any]:  # noqa: ANN401 - as above
    """Return every command by its words: `plan`, `digest top`."""
    found: dict[str, Any] = {}
    for name, command in built.commands.items():
        if hasattr(command, "commands"):
            inner = commands_of(command)
            found |= {f"{name} {word}": one for word, one in inner.items()}
        else:
            found[name] = command
    return found


def _say_what_options_take(command: Any) -> None:  # noqa: ANN401 - as above
    """Let help show no value for a flag, and a name for every other option. Changes: command."""
    for parameter in command.get_params(typer.Context(command, help_option_names=_HELP)):
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
        elif isinstance(parameter.default, Enum):
            parameter.metavar = "|".join(str(one.value) for one in type(parameter.default))
        elif parameter.metavar is None:
            parameter.metavar = parameter.name.upper()
