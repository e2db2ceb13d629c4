"""What is wrong with a command line, in our words: those of Typer change with its version."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import pairwise, takewhile
from pathlib import Path
from shlex import quote
from typing import Any

import typer

from proxyctl.cli.habits import COMMANDS, OPTIONS
from proxyctl.cli.options import BEFORE_COMMAND
from proxyctl.errors import UsageError
from proxyctl.text import nearest

WrongCommandLine: type[Exception] = typer.BadParameter.__mro__[1]
"""Typer's UsageError, which has another path in every version of Typer."""

_NEAR = 0.65
_LONGEST = 300
_LONG = re.compile(r"--[a-z][a-z-]*")
_ONE_DASH = re.compile(r"-([a-z][a-z-]{2,})(=.*)?", re.DOTALL)
_EXTRA = re.compile(r"extra argument\S* \((.+)\)$")


def usage_error(error: Any, built: Any, arguments: Sequence[str]) -> UsageError:  # noqa: ANN401 - see above
    """Return Typer's complaint about `arguments` as ours: what is wrong, and what to do.

    `built`: the command line.
    """
    command, path, rest = called(built, arguments)
    see = f"see {path} --help"
    match type(error).__name__:
        case "UsageError" | "NoSuchCommand" if hasattr(command, "commands"):
            typed = [one for one in rest if not one.startswith("-")]
            return _no_such_command(built, command, path, typed[0] if typed else "")
        case "UsageError" if extra := _EXTRA.search(error.message):
            fix = _for_argument(extra[1], error.ctx, path)
            return UsageError(f"unexpected argument: {extra[1]}", fix=fix or see)
        case "NoSuchOption":
            given = str(error.option_name)
            fix = _for_option(given.lstrip("-"), command, path)
            if fix is None and hasattr(command, "commands"):
                fix = "options follow the command: proxyctl COMMAND --help lists them"
            return UsageError(f"no such option: {given}", fix=fix or see)
        case "MissingParameter":
            return UsageError(f"{_name(error.param)} is missing", fix=_example(command) or see)
        case "BadParameter":
            return _wrong_value(error, see)
    return UsageError(_lowered(error.message), fix=see)


def refuse_other_spellings(built: Any, arguments: Sequence[str]) -> None:  # noqa: ANN401 - see above
    """Refuse what Typer would take for something else, with the right spelling.

    It takes Terraform's `-out=FILE` for `-o` with the value `ut=FILE`, mysql's `-h HOST` for help
    and kubectl's `-o json` for a file. Raises: UsageError.
    """
    command, path, rest = called(built, arguments)
    known, short = _options(command), _short_options(command)
    for word, following in pairwise([*takewhile(lambda word: word != "--", rest), ""]):
        value = "" if following.startswith("-") else following
        if found := _ONE_DASH.fullmatch(word):
            name, given = found.groups(default="")
            is_value = word[:2] in short and not given and _is_value(word, known)
            meant = None
            if not is_value:
                meant = _for_one_dash(name, given.replace("=", " ", 1), command, path)
            if meant is not None:
                raise UsageError(f"no such option: -{name}", fix=meant)
        if word[:2] in short and "=" in word[2:]:
            fix = f"did you mean {word[:2]} {word[2:].removeprefix('=')}?"
            raise UsageError(f"{word}: expected a space behind {word[:2]}", fix=fix)
        is_host = word.startswith("-h") and "--host" in known
        if is_host and (host := word[2:] or value):
            raise UsageError("-h shows the help", fix=f"did you mean --host {host}?")
        if word in ("-o", "--out") and value in _formats(command):
            fix = f"did you mean --format {value}? A file of this name is ./{value}"
            raise UsageError(f"{word} {value}: {value} is a format, not a file", fix=fix)


def _is_value(word: str, known: Sequence[str]) -> bool:
    """Return whether `-uuser` is `-u user`, as mysql has it, and `-fshop` a file that is there."""
    if f"-{word}" in known or word[1:] in OPTIONS:
        return False
    return word[:2] == "-u" or (word[:2] == "-f" and os.path.exists(word[2:]))


def _for_one_dash(name: str, value: str, command: Any, path: str) -> str | None:  # noqa: ANN401
    """Return what was meant by a long option behind one dash; None if it may be a short one."""
    long = [one.removeprefix("--") for one in _options(command)]
    if name not in long and (habit := _habit(name, command, path)):
        return habit
    begun = [one for one in long if name.startswith(one)]
    near = max(begun, key=len) if begun else _nearest(name, long)
    return f"did you mean --{near}{value}?" if near else None


def called(built: Any, arguments: Sequence[str]) -> tuple[Any, str, list[str]]:  # noqa: ANN401
    """Return the command that is called, its words as typed, and the arguments behind them."""
    command, words, rest = built, ["proxyctl"], list(arguments)
    while rest and (rest[0] in getattr(command, "commands", {}) or rest[0] in BEFORE_COMMAND):
        word = rest.pop(0)
        if word not in BEFORE_COMMAND:
            command = command.commands[word]
            words.append(word)
    return command, " ".join(words), rest


def _no_such_command(built: Any, command: Any, path: str, word: str) -> UsageError:  # noqa: ANN401
    """Name a command of another tool, the nearest one, one of a group, or all that there are."""
    group = path.removeprefix("proxyctl").lstrip()
    typed = f"{group} {word}".strip()
    inside = [
        f"{name} {word}"
        for name, one in command.commands.items()
        if word in getattr(one, "commands", {})
    ]
    near = _nearest(word, command.commands)
    meant = COMMANDS.get(typed) or next(iter(inside), None) or (near and f"{group} {near}".strip())
    if not meant:
        fix = f"commands: {', '.join(command.commands)}"
    elif meant.startswith("--") or meant.split()[0].rstrip(",") in built.commands:
        fix = f"did you mean {meant}?"
    else:
        fix = meant
    return UsageError(f"no such command: {typed or repr(word)}", fix=fix)


def _for_argument(extra: str, context: Any, path: str) -> str | None:  # noqa: ANN401
    """Return what to do with arguments that no command takes."""
    words = extra.split()
    options = _options(context.command)
    if query := context.params.get("query"):
        line = f"{query} {extra}"
        return f"put the query in quotes: {path} {quote(line if len(line) < _LONGEST else '...')}"
    if only := context.params.get("only"):
        return f"put the name in quotes: {path} --only {quote(f'{only[-1]} {extra}')}"
    if "--file" in options and _is_saved_plan(words[0]):
        from proxyctl.config.files import saved_plan_fix

        return f"it is a saved plan: {saved_plan_fix(words[0])}"
    if "--file" in options and all("." in one or os.path.exists(one) for one in words):
        return f"name files with -f: {path} -f {' -f '.join(words)}"
    if "--select" in options and extra.upper().startswith("PX"):
        return f"choose checks with --select: {path} --select {','.join(words)}"
    if "--instance" in options and extra.isidentifier() and extra != "help":
        return f"name an instance with --instance: {path} --instance {extra}"
    return None


def _is_saved_plan(path: str) -> bool:
    from proxyctl.plan.saved import is_saved_plan

    with suppress(OSError, ValueError):  # ValueError: a NUL in the name
        return os.path.isfile(path) and is_saved_plan(Path(path))
    return False


def _for_option(name: str, command: Any, path: str) -> str | None:  # noqa: ANN401
    if fix := _habit(name, command, path):
        return fix
    near = _nearest(name, [one.lstrip("-") for one in _options(command)])
    return f"did you mean --{near}?" if near else None


def _habit(name: str, command: Any, path: str) -> str | None:  # noqa: ANN401
    """Return what the command has for an option of another tool."""
    words = path.removeprefix("proxyctl").lstrip()
    known = set(_options(command))
    for answer in OPTIONS.get(f"{words} {name}", ()) + OPTIONS.get(name, ()):
        if known.issuperset(_LONG.findall(answer)):
            return f"did you mean {answer}?" if answer.startswith("--") else answer
    return None


def _example(command: Any) -> str | None:  # noqa: ANN401
    """Return the example of a command's help."""
    example = str(command.epilog or "").removeprefix("Example: ")
    return f"as in: {example}" if example else None


_CHOICE = re.compile(r"'(?P<given>.*)' is not one of (?P<choices>'.+')", re.DOTALL)
_LIMITS = {
    "input should be a valid integer": "expected a whole number",
    "input should be a valid number": "expected a number",
    "input should be greater than or equal to": "expected at least",
    "input should be less than or equal to": "expected at most",
    "input should be greater than": "expected more than",
}
"""How Typer's models say what they expect, and how we do."""


def _wrong_value(error: Any, see: str) -> UsageError:  # noqa: ANN401 - see above
    place, message = _place(error.param, error.ctx), _lowered(error.message)
    choice = _CHOICE.fullmatch(message)
    if choice is not None:
        choices = choice["choices"].strip("'").split("', '")
        near = nearest(choice["given"], choices, cutoff=_NEAR)
        fix = f"did you mean {near}?" if near else f"one of: {', '.join(choices)}"
        return UsageError(f"{place}: no such value: {choice['given']}", fix=fix)
    for theirs, ours in _LIMITS.items():
        message = message.replace(theirs, ours)
    return UsageError(f"{place}: {message}", fix=see)


def _nearest(word: str, names: Iterable[str]) -> str | None:
    """Return the name that was meant. People mistype the first letter of a word rarely."""
    same_start = [name for name in names if name[:1] == word[:1].lower()]
    return nearest(word, same_start, cutoff=_NEAR)


def _options(command: Any) -> list[str]:  # noqa: ANN401 - as above
    own = [name for one in command.params for name in one.opts if name.startswith("--")]
    return [*own, "--help"]


def _short_options(command: Any) -> list[str]:  # noqa: ANN401 - as above
    """Return the options of one letter that take a value."""
    valued = [one for one in command.params if not getattr(one, "is_flag", False)]
    return [name for one in valued for name in one.opts if len(name) == 2]


def _formats(command: Any) -> list[str]:  # noqa: ANN401 - as above
    """Return the formats that a command writes."""
    found = [one.metavar for one in command.params if "--format" in one.opts]
    return str(found[0]).split("|") if found else []


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
