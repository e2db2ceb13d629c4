"""Errors in a command line, in our own words: Typer's words change with its version."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise, takewhile
from shlex import quote
from typing import Any, TypeAlias

import typer

from proxyctl.cli.options import BEFORE_COMMAND
from proxyctl.errors import UsageError
from proxyctl.text import nearest

WrongCommandLine: type[Exception] = typer.BadParameter.__mro__[1]
"""Typer's UsageError, whose import path depends on the version of Typer."""

Click: TypeAlias = Any
"""A command, parameter, context or error of Typer's own Click, whose import path varies, too."""

_COMMANDS = {
    "check": "did you mean validate, lint or doctor?",
    "destroy": "delete the rows from the files, then apply",
    "diff": "did you mean plan?",
    "fmt": "did you mean render or validate?",
    "login": "set PROXYCTL_HOST, PROXYCTL_USER and PROXYCTL_PASSWORD",
    "ls": "did you mean nodes list, rules or history?",
    "pull": "did you mean export or import?",
    "push": "did you mean apply?",
    "restore": "did you mean rollback or nodes restore?",
    "status": "did you mean doctor, drift or nodes list?",
    "version": "did you mean --version?",
}
"""Commands of other tools, each with the fix."""

_PASSWORD = "set PROXYCTL_PASSWORD, or name a file with --password-file"  # noqa: S105
_PLAN = "plan shows what an apply would change"
_OPTIONS = {
    "D": "--schemaname",
    "P": "--port",
    "S": "--socket",
    "check": _PLAN,
    "config": "--file",
    "diff": "plan shows every difference",
    "dry-run": _PLAN,
    "e": "--var",
    "extra-vars": "--var",
    "destroy": _COMMANDS["destroy"],
    "json": "--format json",
    "n": "--limit",
    "output": "--format",
    "p": _PASSWORD,
    "password": _PASSWORD,
    "refresh-only": "drift shows what differs",
    "ssl-ca": "--tls-ca",
    "ssl-mode": "--tls-required",
    "target": "--only",
    "yes": "--auto-approve",
}
"""Options of Terraform, Ansible and the mysql client, each with ours or with the fix."""

_NEAR = 0.65
_LONGEST = 300
_ONE_DASH = re.compile(r"-([a-z][a-z-]{2,})(?:=(.*))?", re.DOTALL)
_EXTRA = re.compile(r"extra argument\S* \((.+)\)$")
_CHOICE = re.compile(r"'(?P<word>.*)' is not one of '(?P<choices>.+)'", re.DOTALL)


def usage_error(error: Click, built: Click, arguments: Sequence[str]) -> UsageError:
    """Return Typer's error about `arguments` as a UsageError with a fix.

    `built`: the command line.
    """
    command, path, arguments_after = called_command(built, arguments)
    see = f"see {path} --help"
    match type(error).__name__:
        case "UsageError" | "NoSuchCommand" if hasattr(command, "commands"):
            typed = next((word for word in arguments_after if not word.startswith("-")), "")
            return _no_such_command(command, path, typed)
        case "UsageError" if extra := _EXTRA.search(error.message):
            fix = _argument_fix(extra[1], error.ctx, path)
            return UsageError(f"unexpected argument: {extra[1]}", fix=fix or see)
        case "NoSuchOption":
            name = str(error.option_name)
            fix = _option_fix(name.lstrip("-"), command)
            if fix is None and hasattr(command, "commands"):
                fix = "options follow the command: proxyctl COMMAND --help lists them"
            return UsageError(f"no such option: {name}", fix=fix or see)
        case "MissingParameter":
            example = str(command.epilog or "").removeprefix("Example: ")
            return UsageError(f"{_name(error.param)} is missing", fix=f"for example: {example}")
        case "BadParameter":
            return _wrong_value(error, see)
    return UsageError(_lowered(error.message), fix=see)


def refuse_misread_options(built: Click, arguments: Sequence[str]) -> None:
    """Refuse options that Typer would misread, and name the right spelling.

    Typer takes Terraform's `-out=FILE` for `-o` with the value `ut=FILE`, mysql's `-h HOST` for
    help and kubectl's `-o json` for a file. Raises: UsageError.
    """
    command, path, arguments_after = called_command(built, arguments)
    known = _options(command)
    # The text after mysql's -p is a password: no message may repeat it.
    names = [name for option in command.params for name in option.opts]
    short = {name for name in names if len(name) == 2} | {"-h", "-p"}
    formats = [
        str(option.metavar).split("|") for option in command.params if "--format" in option.opts
    ]
    for word, following in pairwise([*takewhile(lambda word: word != "--", arguments_after), ""]):
        if match := _ONE_DASH.fullmatch(word):
            name, value = match.groups(default="")
            # `-uuser` means `-u user`, as for mysql, and `-fshop` a file that exists.
            is_short = word[:2] == "-u" or (word[:2] == "-f" and os.path.exists(word[2:]))
            is_short = is_short and f"-{word}" not in known
            fix = None if is_short else _option_fix(name, command, value)
            if fix or word[:2] not in short:
                raise UsageError(f"no such option: -{name}", fix=fix or f"see {path} --help")
        if word.startswith("-o="):
            fix = f"did you mean -o {word[3:]}?"
            raise UsageError(f"{word}: expected a space after -o", fix=fix)
        host = word[2:] or ("" if following.startswith("-") else following)
        if word.startswith("-h") and "--host" in known and host:
            raise UsageError("-h shows the help", fix=f"did you mean --host {host}?")
        if word in ("-o", "--out") and formats and following in formats[0]:
            fix = f"did you mean --format {following}? A file of this name is ./{following}"
            raise UsageError(f"{word} {following}: {following} is a format, not a file", fix=fix)


def called_command(built: Click, arguments: Sequence[str]) -> tuple[Click, str, list[str]]:
    """Return the called command, its words as typed, and the arguments after them."""
    command, words, after = built, ["proxyctl"], list(arguments)
    while after and (after[0] in getattr(command, "commands", {}) or after[0] in BEFORE_COMMAND):
        word = after.pop(0)
        if word not in BEFORE_COMMAND:
            command = command.commands[word]
            words.append(word)
    return command, " ".join(words), after


def _no_such_command(command: Click, path: str, word: str) -> UsageError:
    """Return the error for an unknown command; the fix names the likely command, or all."""
    group = path.removeprefix("proxyctl").lstrip()
    groups = command.commands.items()
    in_groups = [f"{name} {word}" for name, one in groups if word in getattr(one, "commands", {})]
    likely = next(iter(in_groups), None) or _nearest(word, command.commands)
    fix = (
        f"did you mean {group} {likely}?" if likely else f"commands: {', '.join(command.commands)}"
    )
    fix = _COMMANDS.get(word) or fix.replace("  ", " ")
    return UsageError(f"no such command: {f'{group} {word}'.strip() or repr(word)}", fix=fix)


def _argument_fix(extra: str, context: Click, path: str) -> str | None:
    """Return the fix for unexpected arguments, None if none is likely."""
    words, options = extra.split(), _options(context.command)
    if query := context.params.get("query"):
        line = f"{query} {extra}"
        return f"put the query in quotes: {path} {quote(line if len(line) < _LONGEST else '...')}"
    if context.command.name == "export" and len(words) == 1:
        return f"name the file to write with -o: {path} -o {extra}"
    if "--file" in options and all("." in word or os.path.exists(word) for word in words):
        return f"name files with -f: {path} -f {' -f '.join(words)}"
    has_arguments = any(one.param_type_name == "argument" for one in context.command.params)
    if "--instance" in options and extra.isidentifier() and not (has_arguments or extra == "help"):
        return f"name an instance with --instance: {path} --instance {extra}"
    return None


def _option_fix(name: str, command: Click, value: str = "") -> str | None:
    """Return the fix for an unknown option: from `_OPTIONS`, or the command's nearest option."""
    known = _options(command)
    ours = _OPTIONS.get(name, "")
    if ours and f"--{name}" not in known and set(known).issuperset(re.findall("--[a-z-]+", ours)):
        return f"did you mean {ours}?" if ours.startswith("--") else ours
    names = [option.removeprefix("--") for option in known]
    near = max((long for long in names if name.startswith(long)), key=len, default=None)
    near = near or _nearest(name, names)
    return f"did you mean --{near} {value}".rstrip() + "?" if near else None


def _wrong_value(error: Click, see: str) -> UsageError:
    """Return the error for a wrong value; it names the option or environment variable."""
    parameter, message = error.param, _lowered(error.message)
    source = error.ctx.get_parameter_source(parameter.name)
    is_environment = source is not None and source.name == "ENVIRONMENT"
    place = str(parameter.envvar) if is_environment else _name(parameter)
    choice = _CHOICE.fullmatch(message)
    if choice is None:
        return UsageError(f"{place}: {message}", fix=see)
    choices = choice["choices"].split("', '")
    near = nearest(choice["word"], choices, cutoff=_NEAR)
    fix = f"did you mean {near}?" if near else f"one of: {', '.join(choices)}"
    return UsageError(f"{place}: no such value: {choice['word']}", fix=fix)


def _nearest(word: str, names: Iterable[str]) -> str | None:
    """Return the nearest name with the same first letter, which people rarely mistype."""
    same_start = [name for name in names if name[:1] == word[:1].lower()]
    return nearest(word, same_start, cutoff=_NEAR)


def _options(command: Click) -> list[str]:
    names = [name for option in command.params for name in option.opts]
    return [*(name for name in names if name.startswith("--")), "--help"]


def _name(parameter: Click) -> str:
    is_argument = parameter.param_type_name == "argument"
    return str(parameter.metavar if is_argument else max(parameter.opts, key=len))


def _lowered(message: str) -> str:
    """Return a message in our form, without pydantic's words before and after it.

    A message that repeats a long value is cut.
    """
    text = message.removeprefix("Value error, ").split(", unable to")[0].rstrip(".")
    text = text.replace("Input should be", "expected", 1)
    text = text[:1].lower() + text[1:]
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
