"""What is wrong with a command line, in our words: those of Typer change with its version."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Any

import typer

from proxyctl.errors import UsageError
from proxyctl.text import nearest

WrongCommandLine: type[Exception] = typer.BadParameter.__mro__[1]
"""Typer's UsageError, which has another path in every version of Typer."""

_OTHER_SPELLINGS = {
    "color": "leave it out, or set NO_COLOR",
    "destroy": "delete the rows from the files, then apply",
    "dry-run": "plan shows what an apply would change",
    "input": "leave it out: proxyctl asks nothing without a terminal",
    "json": "did you mean --format json?",
    "parallelism": "did you mean --parallel?",
    "refresh-only": "drift shows what differs from the files",
    "target": "did you mean --only?",
    "yes": "did you mean --auto-approve?",
}
"""Options of Terraform and its like, and what there is instead."""

_NEAR = 0.65
_LONGEST = 300
_ONE_DASH = re.compile(r"-([a-z][a-z-]{2,})(=.*)?", re.DOTALL)
_EXTRA = re.compile(r"extra argument\S* \((.+)\)$")


def usage_error(error: Any, arguments: Sequence[str]) -> UsageError:  # noqa: ANN401 - see above
    """Return Typer's complaint about `arguments` as ours: what is wrong, and what to do."""
    words = [one for one in arguments if not one.startswith("-")]
    context = error.ctx
    path = context.command_path if context is not None else " ".join(["proxyctl", *words[:1]])
    see = f"see {path} --help"
    match type(error).__name__:
        case "UsageError" | "NoSuchCommand" if hasattr(context and context.command, "commands"):
            # A group of commands has its own name before the one that is not there.
            group = words[:1] if context.parent is not None else []
            typed = words[len(group) :]
            return _no_such_command(group, typed[0] if typed else "", context.command.commands)
        case "UsageError" if extra := _EXTRA.search(error.message):
            if "--file" in _options(context):
                see = f"name files with -f: {path} -f {extra[1].replace(' ', ' -f ')}"
            return UsageError(f"unexpected argument: {extra[1]}", fix=see)
        case "NoSuchOption":
            return _no_such_option(str(error.option_name), context, see)
        case "MissingParameter":
            return UsageError(f"{_name(error.param)} is missing", fix=see)
        case "BadParameter":
            return _wrong_value(error, context, see)
    return UsageError(_lowered(error.message), fix=see)


def refuse_one_dash(built: Any, arguments: Sequence[str]) -> None:  # noqa: ANN401 - see above
    """Refuse `-auto-approve` and `-out=FILE`, as Terraform has them, with the right spelling.

    Typer would take the second one for `-o` with the value `ut=FILE`. `built`: the command line.
    Raises: UsageError.
    """
    command, words = built, list(arguments)
    while words and words[0] in getattr(command, "commands", {}):
        command = command.commands[words.pop(0)]
    known = {name for one in command.params for name in one.opts if name.startswith("--")}
    for word in takewhile(lambda word: word != "--", words):
        found = _ONE_DASH.fullmatch(word)
        if found is None:
            continue
        name, value = found.groups(default="")
        if f"--{name}" in known | {"--help", "--version"}:
            raise UsageError(f"no such option: -{name}", fix=f"did you mean --{name}{value}?")
        if name in _OTHER_SPELLINGS:
            raise UsageError(f"no such option: -{name}", fix=_OTHER_SPELLINGS[name])


def _no_such_command(group: list[str], word: str, commands: Iterable[str]) -> UsageError:
    near = "--version" if word == "version" else _nearest(word, commands)
    meant = " ".join([*group, near or ""])
    fix = f"did you mean {meant}?" if near else f"commands: {', '.join(commands)}"
    return UsageError(f"no such command: {' '.join([*group, word or repr(word)])}", fix=fix)


_CHOICE = re.compile(r"'(?P<given>.*)' is not one of (?P<choices>'.+')", re.DOTALL)
_LIMITS = {
    "input should be a valid integer": "expected a whole number",
    "input should be a valid number": "expected a number",
    "input should be greater than or equal to": "expected at least",
    "input should be less than or equal to": "expected at most",
    "input should be greater than": "expected more than",
}
"""How Typer's models say what they expect, and how we do."""


def _wrong_value(error: Any, context: Any, see: str) -> UsageError:  # noqa: ANN401 - see above
    place, message = _place(error.param, context), _lowered(error.message)
    choice = _CHOICE.fullmatch(message)
    if choice is not None:
        choices = choice["choices"].strip("'").split("', '")
        near = nearest(choice["given"], choices, cutoff=_NEAR)
        fix = f"did you mean {near}?" if near else f"one of: {', '.join(choices)}"
        return UsageError(f"{place}: no such value: {choice['given']}", fix=fix)
    for theirs, ours in _LIMITS.items():
        message = message.replace(theirs, ours)
    return UsageError(f"{place}: {message}", fix=see)


def _no_such_option(given: str, context: Any, see: str) -> UsageError:  # noqa: ANN401 - see above
    name = given.lstrip("-")
    near = _nearest(name, [name.lstrip("-") for name in _options(context)])
    if name in _OTHER_SPELLINGS:
        see = _OTHER_SPELLINGS[name]
    elif near:
        see = f"did you mean --{near}?"
    elif context.parent is None:
        see = "options follow the command: proxyctl COMMAND --help lists them"
    return UsageError(f"no such option: {given}", fix=see)


def _nearest(word: str, names: Iterable[str]) -> str | None:
    """Return the name that was meant. People mistype the first letter of a word rarely."""
    same_start = [name for name in names if name[:1] == word[:1].lower()]
    return nearest(word, same_start, cutoff=_NEAR)


def _options(context: Any) -> list[str]:  # noqa: ANN401 - as above
    parameters = context.command.get_params(context)
    return [name for parameter in parameters for name in parameter.opts if name.startswith("--")]


def _name(parameter: Any) -> str:  # noqa: ANN401 - as above
    if parameter.param_type_name == "argument":
        return str(parameter.metavar)
    return str(max(parameter.opts, key=len))


def _place(parameter: Any, context: Any) -> str:  # noqa: ANN401 - as above
    """Return where the value came from: the option, or its environment variable."""
    source = context.get_parameter_source(parameter.name)
    is_environment = source is not None and source.name == "ENVIRONMENT"
    return str(parameter.envvar) if is_environment else _name(parameter)


def _lowered(message: str) -> str:
    """Return a message in our form, without pydantic's words before and after it.

    It may repeat a value of any length, and stays one that is read.
    """
    text = message.removeprefix("Value error, ").split(", unable to")[0].rstrip(".")
    text = text[:1].lower() + text[1:]
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
