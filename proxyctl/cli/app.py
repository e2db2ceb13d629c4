"""The command line: the list of commands, functions as commands, and exit codes.

`run` is the only place that catches everything and decides the exit code.
"""

from __future__ import annotations

import dataclasses
import inspect
import logging
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import cache, wraps
from importlib import import_module
from itertools import pairwise, takewhile
from typing import Any, NamedTuple, cast, get_type_hints

import typer

from proxyctl import __version__, version_text
from proxyctl.cli.help import HELP_NAMES, TOPICS, Click, HelpCommand, HelpGroup, topic_help
from proxyctl.cli.options import BEFORE_COMMAND, DebugOption, HelpAllOption, NoColorOption
from proxyctl.cli.output import report_error, say, without_colour
from proxyctl.cli.usage import (
    NoArguments,
    WrongCommandLine,
    called_command,
    no_such_topic,
    refuse_misread_options,
    usage_error,
)
from proxyctl.errors import ExitCode, ProxyctlError, UsageError, traceback_lines, unexpected

_LOGGER = logging.getLogger(__name__)


class Command(NamedTuple):
    """A command: its function in `proxyctl.cli.commands`, and one way to call it."""

    function: str
    example: str


PANELS = {
    "Files": {
        "init": Command("init.init", "init --template pxc shop"),
        "validate": Command("files.validate", "validate -f shop"),
        "render": Command("files.render", "render -f shop --format sql"),
        "schema": Command("files.schema", "schema -o proxyctl.schema.json"),
        "import": Command("import_.import_", "import /etc/proxysql.cnf -o proxyctl.yaml"),
        "export": Command("files.export", "export -o proxyctl.yaml"),
    },
    "Change": {
        "plan": Command("plan.plan", "plan --out reviewed.plan"),
        "show": Command("plan.show", "show reviewed.plan"),
        "apply": Command("apply.apply", "apply reviewed.plan"),
        "drift": Command("plan.drift", "drift --all"),
        "watch": Command("watch.watch", "watch --all --every 60s --apply"),
        "rollback": Command("snapshots.rollback", "rollback --dry-run"),
        "history": Command("snapshots.history", "history --host 10.0.0.11"),
        "snapshot": Command("snapshots.snapshot", "snapshot --instance px1"),
        "unlock": Command("apply.unlock", "unlock --instance px1"),
    },
    "Routing": {
        "explain": Command("routing.explain", "explain 'SELECT 1 FOR UPDATE' --username app"),
        "test": Command("routing.run_tests", "test -f shop --junit routing.xml"),
        "lint": Command("lint.lint", "lint -f shop --format github"),
        "replay": Command("routing.replay", "replay --detailed-exitcode"),
        "rules": Command("routing.rules", "rules --instance px1"),
    },
    "Statistics": {
        "digest top": Command("digest.top", "digest top --limit 5"),
        "digest snapshot": Command("digest_snapshots.snapshot", "digest snapshot -o monday.gz"),
        "digest diff": Command("digest_snapshots.diff", "digest diff monday.gz tuesday.gz"),
        "digest report": Command("digest_snapshots.report", "digest report -o report.html"),
        "digest suggest": Command("digest.suggest", "digest suggest -f shop"),
        "digest collect": Command(
            "digest_store.collect", "digest collect --all --store digests.db --every 10min"
        ),
        "digest regressions": Command(
            "digest_store.regressions", "digest regressions --store digests.db --since 24h"
        ),
        "digest reset": Command("digest_snapshots.reset", "digest reset --auto-approve"),
        "top": Command("top.top", "top --interval 5"),
    },
    "Operations": {
        "nodes list": Command("nodes.list_nodes", "nodes list"),
        "nodes drain": Command("nodes.drain", "nodes drain pxc2:3306 --wait"),
        "nodes restore": Command("nodes.restore", "nodes restore pxc2:3306"),
        "nodes discover": Command("nodes.discover", "nodes discover --seed pxc1:3306"),
        "doctor": Command("doctor.doctor", "doctor --instance px1"),
        "upgrade-check": Command("upgrade_check.upgrade_check", "upgrade-check --to 3.0.12"),
    },
    "Tools": {
        "sandbox": Command("sandbox.sandbox", "sandbox --sample"),
        "demo": Command("sandbox.demo", "demo"),
    },
}
"""Every command by its words, in the groups and the order of the help."""

COMMANDS = {words: command for commands in PANELS.values() for words, command in commands.items()}

GROUPS = {
    "digest": "Find slow queries and ways to improve them.",
    "nodes": "List, drain, restore and discover the servers behind ProxySQL.",
}


def run(arguments: Sequence[str]) -> int:
    """Run the command and return the exit code. All output is written by then."""
    # --no-color also applies to help and to a wrong command line.
    with without_colour() if "--no-color" in _words(arguments) else nullcontext():
        return _run(arguments)


def _words(arguments: Sequence[str]) -> Iterator[str]:
    """Yield the words that can be options."""
    return takewhile(lambda word: word != "--", arguments)


def _run(arguments: Sequence[str]) -> int:
    if list(arguments[:1]) == ["help"]:
        word = arguments[1] if len(arguments) == 2 else ""
        if word in TOPICS:
            return _show_topic(word)
        if word[:1] not in ("", "-") and word not in (commands := build().commands):
            return _failed(no_such_topic(word, commands), arguments)
        arguments = [*arguments[1:], "--help"]
    try:
        built = build(arguments)
        refuse_misread_options(built, arguments)
        code = built(list(arguments), standalone_mode=False, prog_name="proxyctl")
    except ProxyctlError as error:
        if isinstance(error, UsageError) and error.fix is None:
            error.fix = f"see {called_command(build(arguments), arguments)[1]} --help"
        return _failed(error, arguments)
    except NoArguments as error:
        error.show()  # type: ignore[attr-defined]  # the help
        return ExitCode.USAGE
    except WrongCommandLine as error:
        return _failed(usage_error(error, build(arguments), arguments), arguments)
    except typer.Exit as error:
        return error.exit_code
    except (typer.Abort, KeyboardInterrupt):
        say("interrupted; nothing was changed")
        return ExitCode.INTERRUPTED
    except Exception as error:
        is_debug = "--debug" in _words(arguments)
        if is_debug:
            say(*(f"debug: {line}" for line in traceback_lines(error)))
        return _failed(unexpected(error, is_debug=is_debug), arguments)
    return int(code or 0)


def _show_topic(topic: str) -> int:
    """Write the help of a topic."""
    built = build()
    context = typer.Context(built, help_option_names=HELP_NAMES)
    typer.echo(topic_help(topic, commands_of(built), context), color=context.color)
    return 0


def _failed(error: ProxyctlError, arguments: Sequence[str]) -> int:
    """Report an error, also as JSON with --format json, and return its exit code."""
    pairs = pairwise([*arguments, ""])
    as_json = any(pair == ("--format", "json") or pair[0] == "--format=json" for pair in pairs)
    report_error(error, as_json=as_json)
    return error.exit_code


def build(arguments: Sequence[str] = ()) -> Click:
    """Return the command line, ready to be called repeatedly with a list of arguments.

    If `arguments` begin with a command, only its module is imported, which saves much of the time.
    Help, completion and an unknown word need every module.
    """
    first = next((word for word in arguments if word not in BEFORE_COMMAND), "")
    is_known = first in {words.split()[0] for words in COMMANDS}
    return _built(first if is_known else None)


@cache  # calls do not change it, and tests make thousands in one process
def _built(only: str | None) -> Click:
    app = typer.Typer(
        name="proxyctl",
        help="ProxySQL configuration as code: describe it in YAML, plan, apply, read it back.",
        cls=HelpGroup,
        no_args_is_help=True,
        suggest_commands=False,  # `usage` suggests
        add_completion=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # `help` writes the help
        context_settings={"help_option_names": HELP_NAMES},
    )
    app.callback()(_root)
    groups = {
        name: typer.Typer(cls=HelpGroup, no_args_is_help=True, suggest_commands=False)
        for name in GROUPS
    }
    panels: dict[str, str] = {}
    for panel, commands in PANELS.items():
        for words, command in commands.items():
            first, _, second = words.partition(" ")
            panels[first] = panel
            if only in (None, first):
                module, _, name = command.function.rpartition(".")
                function = getattr(import_module(f"proxyctl.cli.commands.{module}"), name)
                example = f"Example: proxyctl {command.example}"
                place = groups.get(first, app)
                _add_command(place, second or first, function, panel=panel, example=example)
    for name, group in groups.items():
        if only in (None, name):
            app.add_typer(group, name=name, help=GROUPS[name], rich_help_panel=panels[name])
    built: Click = typer.main.get_command(app)
    return built


def _root(
    version: bool = typer.Option(False, "--version", "-V", help="Show the version and exit."),
    debug: DebugOption = False,  # noqa: ARG001 - each command reads it here, too
    no_color: NoColorOption = False,  # noqa: ARG001 - `run` reads it
    help_all: HelpAllOption = False,  # noqa: ARG001 - its callback shows the help
) -> None:
    if version:
        typer.echo(version_text())
        raise typer.Exit


def commands_of(built: Click) -> dict[str, Click]:
    """Return every command by its words: `plan`, `digest top`."""
    by_words: dict[str, Click] = {}
    for name, command in built.commands.items():
        inner = getattr(command, "commands", None)
        by_words |= (
            {name: command} if inner is None else {f"{name} {w}": c for w, c in inner.items()}
        )
    return by_words


# A function as a command --------------------------------------------------------------------------


def _add_command(
    app: typer.Typer, name: str, function: Callable[..., int], *, panel: str, example: str
) -> None:
    """Register a function as a command. Its parameters are options, or dataclasses of options.

    A dataclass adds an option for each of its fields, so that every command that connects takes the
    same options. Typer has no such groups: 33 commands declare 600 options by 160 parameters.
    `panel`: the command's group in the help of all commands. `example`: the last line of its own
    help. Changes: app.
    """
    hints = get_type_hints(function, include_extras=True)

    @wraps(function)
    def run(context: typer.Context, **values: Any) -> int:  # noqa: ANN401
        values["context"] = context
        arguments = {
            parameter_name: _value(parameter_name, hints[parameter_name], values)
            for parameter_name in parameters
        }
        try:
            if values["debug"] or context.find_root().params["debug"]:
                return _debugged(context, lambda: function(**arguments))
            return function(**arguments)
        except KeyboardInterrupt as error:
            # Typer would make an exit code of it, as of a command that has reported its interrupt.
            raise typer.Abort from error

    parameters = inspect.signature(function).parameters
    options: dict[str, tuple[Any, Any]] = {}
    for parameter_name, parameter in parameters.items():
        options |= _options(parameter_name, hints[parameter_name], parameter.default)
    options |= {
        "context": (typer.Context, inspect.Parameter.empty),
        "debug": (DebugOption, False),
        "no_color": (NoColorOption, False),  # `run` of this module reads it
        "help_all": (HelpAllOption, False),  # its callback shows the help
    }
    keyword = inspect.Parameter.KEYWORD_ONLY
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]  # Typer reads it
        [
            inspect.Parameter(parameter_name, keyword, default=default, annotation=hint)
            for parameter_name, (hint, default) in options.items()
        ]
    )
    app.command(name, cls=HelpCommand, epilog=example, rich_help_panel=panel)(run)


def _options(name: str, hint: Any, default: Any) -> dict[str, tuple[Any, Any]]:  # noqa: ANN401
    """Return type and default of an option, or of each option of a group, by name."""
    if not dataclasses.is_dataclass(hint):
        return {name: (hint, default)}
    options: dict[str, tuple[Any, Any]] = {}
    hints = get_type_hints(hint, include_extras=True)
    for field in dataclasses.fields(hint):
        options |= _options(field.name, hints[field.name], field.default)
        if hasattr(hint, "PANEL") and field.default is not dataclasses.MISSING:
            field.default.rich_help_panel = hint.PANEL
    return options


def _value(name: str, hint: Any, values: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """Return the value of an option, or a group with the values of its options."""
    if not dataclasses.is_dataclass(hint):
        return values[name]
    hints: Any = get_type_hints(hint, include_extras=True)
    names = [field.name for field in dataclasses.fields(hint)]
    return cast("Any", hint)(**{field: _value(field, hints[field], values) for field in names})


def _debugged(context: typer.Context, call: Callable[[], int]) -> int:
    """Run a command with --debug: log versions, options, decisions, statements and the exit.

    The log is for bug reports: it masks secrets in statements, and omits the values of options.
    """
    logger, handler = logging.getLogger("proxyctl"), _StderrHandler()
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    try:
        python, system = platform.python_version(), platform.platform()
        _LOGGER.debug("proxyctl %s, Python %s, %s", __version__, python, system)
        _LOGGER.debug("command %s; %s", context.command_path, _option_names(context))
        code = call()
        _LOGGER.debug("exit code %d", code)
        return code
    except BaseException as error:
        _LOGGER.debug("ended by %s", type(error).__name__)
        raise
    finally:
        logger.propagate = True
        logger.setLevel(logging.NOTSET)
        logger.removeHandler(handler)


class _StderrHandler(logging.Handler):
    """Writes each record as a line, with the seconds since the command began."""

    def __init__(self) -> None:
        super().__init__()
        self._began = time.monotonic()

    def emit(self, record: logging.LogRecord) -> None:
        """Write the record. Never raises."""
        say(f"debug: {time.monotonic() - self._began:7.3f}  {record.getMessage()}")


def _option_names(context: Click) -> str:
    """Return the names of the options on the command line and in the environment.

    It omits their values: --var may hold a secret.
    """
    names: dict[str, list[str]] = {"COMMANDLINE": [], "ENVIRONMENT": []}
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name)
        if source is not None and source.name in names:
            is_typed = source.name == "COMMANDLINE"
            names[source.name].append(parameter.opts[0] if is_typed else parameter.envvar)
    typed, variables = (", ".join(listed) or "none" for listed in names.values())
    return f"options: {typed}; from the environment: {variables}"
