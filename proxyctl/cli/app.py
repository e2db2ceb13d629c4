"""The command line: which commands there are, and how a run of one ends.

`run` is the only place that catches everything and decides the exit code.
"""

from __future__ import annotations

import gc
from collections.abc import Sequence
from enum import Enum
from functools import cache
from importlib import import_module
from itertools import pairwise, takewhile
from typing import Any

import typer

from proxyctl import version_text
from proxyctl.cli.command import add_command
from proxyctl.cli.options import DebugOption
from proxyctl.cli.output import report_error, say
from proxyctl.cli.usage import WrongCommandLine, refuse_one_dash, usage_error
from proxyctl.errors import ExitCode, ProxyctlError, traceback_lines, unexpected

COMMANDS = {
    "init": "init.init",
    "validate": "files.validate",
    "render": "files.render",
    "schema": "files.schema",
    "import": "imports.import_",
    "plan": "plan.plan",
    "show": "plan.show",
    "drift": "plan.drift",
    "apply": "apply.apply",
    "unlock": "apply.unlock",
    "rollback": "snapshots.rollback",
    "history": "snapshots.history",
    "snapshot": "snapshots.snapshot",
    "export": "files.export",
    "lint": "lint.lint",
    "explain": "routing.explain",
    "test": "routing.run_tests",
    "replay": "routing.replay",
    "digest top": "digest.top.top",
    "digest snapshot": "digest.snapshots.snapshot",
    "digest diff": "digest.snapshots.diff",
    "digest report": "digest.report.report",
    "digest suggest": "digest.suggest.suggest",
    "digest reset": "digest.snapshots.reset",
    "rules": "rules.rules",
    "top": "top.top",
    "nodes list": "nodes.list_nodes",
    "nodes drain": "nodes.drain",
    "nodes restore": "nodes.restore",
    "nodes discover": "nodes.discover",
    "doctor": "doctor.doctor",
    "sandbox": "sandbox.sandbox",
    "demo": "sandbox.demo",
}
"""The function in `proxyctl.cli.commands` behind each command, in the order of the help."""

GROUPS = {
    "digest": "Which queries are slow, and what would help.",
    "nodes": "The servers behind ProxySQL, and what they say.",
}
_HELP = ["-h", "--help"]


def run(arguments: Sequence[str]) -> int:
    """Run the command and return the exit code. Everything is written when it returns."""
    # A command builds large tables that form no cycles, and then ends: collecting costs time only.
    gc.disable()
    if list(arguments[:1]) == ["help"]:
        arguments = [*arguments[1:], "--help"]
    try:
        built = build(arguments)
        refuse_one_dash(built, arguments)
        code = built(list(arguments), standalone_mode=False, prog_name="proxyctl")
    except ProxyctlError as error:
        return _failed(error, arguments)
    except WrongCommandLine as error:
        if type(error).__name__ != "NoArgsIsHelpError":
            return _failed(usage_error(error, arguments), arguments)
        error.show()  # type: ignore[attr-defined]  # the help
        return ExitCode.USAGE
    except typer.Exit as error:
        return error.exit_code
    except SystemExit:
        # Typer exits with 1 when the reader of its help went away, as `head` does.
        if set(_HELP).intersection(arguments):
            return ExitCode.DONE
        raise
    except (typer.Abort, KeyboardInterrupt):
        say("interrupted; nothing was changed")
        return ExitCode.INTERRUPTED
    except Exception as error:
        is_debug = "--debug" in takewhile(lambda argument: argument != "--", arguments)
        if is_debug:
            say(*(f"debug: {line}" for line in traceback_lines(error)))
        return _failed(unexpected(error, is_debug=is_debug), arguments)
    return int(code or 0)


def _failed(error: ProxyctlError, arguments: Sequence[str]) -> int:
    """Show an error, as JSON too where JSON was asked for, and return its exit code."""
    pairs = pairwise([*arguments, ""])
    as_json = any(one in (("--format", "json"),) or one[0] == "--format=json" for one in pairs)
    report_error(error, as_json=as_json)
    return error.exit_code


def build(arguments: Sequence[str] = ()) -> Any:  # noqa: ANN401  # Typer's type moved
    """Return the command line, ready to be called with a list of arguments, many times.

    Where `arguments` begin with a command, only its module is imported: all of them take longer
    than many a command. Help, completion and a word that is no command need every one.
    """
    called = next((one for one in arguments if one != "--debug"), "")
    is_known = called in {words.split()[0] for words in COMMANDS}
    return _built(called if is_known else None)


@cache  # no call changes it, and tests make thousands in a process
def _built(only: str | None) -> Any:  # noqa: ANN401  # as above
    app = typer.Typer(
        name="proxyctl",
        help="ProxySQL configuration as code: describe it in YAML, plan, apply, read it back.",
        no_args_is_help=True,
        suggest_commands=False,  # `usage` does
        add_completion=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": _HELP, "max_content_width": 100},
    )
    app.callback()(_root)
    groups = {name: typer.Typer(no_args_is_help=True, suggest_commands=False) for name in GROUPS}
    for words, place in COMMANDS.items():
        first, _, second = words.partition(" ")
        if only in (None, first):
            module, _, function = place.rpartition(".")
            found = getattr(import_module(f"proxyctl.cli.commands.{module}"), function)
            add_command(groups.get(first, app), second or first, found)
    for name, group in groups.items():
        if only in (None, name):
            app.add_typer(group, name=name, help=GROUPS[name])
    built: Any = typer.main.get_command(app)
    _name_values(built)
    return built


def _root(
    version: bool = typer.Option(False, "--version", "-V", help="Show the version and exit."),
    debug: DebugOption = False,  # noqa: ARG001 - each command looks for it here as well
) -> None:
    if version:
        typer.echo(version_text())
        raise typer.Exit


def commands_of(built: Any) -> dict[str, Any]:  # noqa: ANN401 - as above
    """Return every command by its words: `plan`, `digest top`."""
    found: dict[str, Any] = {}
    for name, command in built.commands.items():
        inner = getattr(command, "commands", None)
        found |= {name: command} if inner is None else {f"{name} {w}": c for w, c in inner.items()}
    return found


def _name_values(command: Any) -> None:  # noqa: ANN401 - as above
    """Let help show no value for a flag, and a name for every other option. Changes: command."""
    for parameter in command.get_params(typer.Context(command, help_option_names=_HELP)):
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
        elif parameter.metavar is None and isinstance(parameter.default, Enum):
            parameter.metavar = "|".join(str(one.value) for one in type(parameter.default))
        elif parameter.metavar is None:
            parameter.metavar = parameter.name.upper()
    for inner in getattr(command, "commands", {}).values():
        _name_values(inner)
