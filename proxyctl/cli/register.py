"""How a function becomes a command, and what `--debug` logs of its run.

A parameter whose type is a dataclass of options adds an option for each field, so that every
command that connects takes the same options.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import platform
import time
from collections.abc import Callable
from typing import Any, get_type_hints

import typer

from proxyctl import __version__
from proxyctl.cli.options import DebugOption, NoColorOption
from proxyctl.cli.output import say
from proxyctl.text import printable


def add_command(
    app: typer.Typer, name: str, function: Callable[..., int], *, panel: str, example: str
) -> None:
    """Register a function as a command. Its parameters are options or dataclasses of options.

    `panel`: where the help of all commands lists it. `example`: the last line of its own help.
    Changes: app.
    """
    hints = get_type_hints(function, include_extras=True)
    parameters = inspect.signature(function).parameters
    groups = {
        one: _fields(hints[one]) for one in parameters if dataclasses.is_dataclass(hints[one])
    }

    @functools.wraps(function)
    def run(context: typer.Context, **given: Any) -> int:  # noqa: ANN401
        given["context"] = context
        for group, fields in groups.items():
            given[group] = hints[group](**{field: given[field] for field in fields})
        arguments = {one: given[one] for one in parameters}
        if given["debug"] or context.find_root().params["debug"]:
            return debugged(context, lambda: function(**arguments))
        return function(**arguments)

    options: dict[str, tuple[Any, Any]] = {}
    for one, parameter in parameters.items():
        options |= groups.get(one, {one: (hints[one], parameter.default)})
    options |= {"context": (typer.Context, inspect.Parameter.empty)}
    # `app.run` looks for --no-color: it holds for help and errors, too.
    options |= {"debug": (DebugOption, False), "no_color": (NoColorOption, False)}
    keyword = inspect.Parameter.KEYWORD_ONLY
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]  # Typer reads it
        [
            inspect.Parameter(one, keyword, default=default, annotation=hint)
            for one, (hint, default) in options.items()
        ]
    )
    app.command(name, epilog=example, rich_help_panel=panel)(run)


def _fields(group: type[Any]) -> dict[str, tuple[Any, Any]]:
    """Return the type and default of each field of a dataclass, by name."""
    hints = get_type_hints(group, include_extras=True)
    return {
        one.name: (hints[one.name], one.metadata.get("option", one.default))
        for one in dataclasses.fields(group)
    }


def debugged(context: typer.Context, call: Callable[[], int]) -> int:
    """Run a command with --debug: log versions, options, decisions, statements and the exit.

    The log is made for tickets: secrets are masked in statements, and options have no values.
    Changes: `context.obj`, the function that the command passes its log lines to.
    """
    began = time.monotonic()

    def tell(text: str) -> None:
        say(f"debug: {time.monotonic() - began:7.3f}  {printable(text)}")

    context.obj = tell
    tell(f"proxyctl {__version__}, Python {platform.python_version()}, {platform.platform()}")
    tell(f"command {context.command_path}; {_given_options(context)}")
    try:
        code = call()
    except BaseException as error:
        tell(f"ended by {type(error).__name__}")
        raise
    tell(f"exit code {int(code)}")
    return code


def _given_options(context: Any) -> str:  # noqa: ANN401 - Typer's type moved with versions
    """Return the names of the options on the command line and in the environment.

    Their values are left out: --var may hold a secret.
    """
    given: dict[str, list[str]] = {"COMMANDLINE": [], "ENVIRONMENT": []}
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name)
        if source is not None and source.name in given:
            spelled = parameter.opts[0]
            from_variable = source.name == "ENVIRONMENT"
            given[source.name].append(str(parameter.envvar) if from_variable else spelled)
    typed, variables = (", ".join(names) or "none" for names in given.values())
    return f"options: {typed}; from the environment: {variables}"
