"""The Typer application: which commands there are, and in which order help lists them."""

from __future__ import annotations

from enum import Enum
from typing import Any

import typer

from proxyctl import __version__
from proxyctl.cli.options import DebugOption

_HELP = ["-h", "--help"]


def build() -> Any:  # noqa: ANN401  # Typer's own command type moved between its versions
    """Return the command line, ready to be called with a list of arguments."""
    from proxyctl.cli import (
        apply,
        digest,
        doctor,
        explain,
        export,
        files,
        lint,
        nodes,
        plan,
        replay,
        rollback,
        rules,
        sandbox,
        test,
        top,
    )

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

    files.register(app)
    plan.register(app)
    apply.register(app)
    rollback.register(app)
    export.register(app)
    lint.register(app)
    explain.register(app)
    test.register(app)
    replay.register(app)
    digest.register(app)
    rules.register(app)
    top.register(app)
    nodes.register(app)
    doctor.register(app)
    sandbox.register(app)
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
