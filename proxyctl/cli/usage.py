"""Errors in a command line, in our own words: Typer's words change with its version."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Sequence
from itertools import pairwise, takewhile
from shlex import quote

import typer

from proxyctl.cli.help import TOPICS, Click, value_name
from proxyctl.cli.options import BEFORE_COMMAND
from proxyctl.errors import UsageError
from proxyctl.text import nearest

_errors: Click = sys.modules[typer.BadParameter.__module__]
WrongCommandLine: type[Exception] = _errors.UsageError
NoArguments: type[Exception] = _errors.NoArgsIsHelpError
"""A command line without a command; `show` of it writes the help."""

_COMMANDS = {
    "diff": "plan",
    "pull": "export",
    "push": "apply",
    "restore": "rollback",
    "status": "doctor",
    "version": "--version",
}
"""Commands of other tools, each with ours."""

_OPTIONS = {
    "D": "--schemaname",
    "P": "--port",
    "S": "--socket",
    "json": "--format json",
    "n": "--limit",
    "p": "--password-file",
    "password": "--password-file",
    "ssl-ca": "--tls-ca",
    "target": "--only",
    "yes": "--auto-approve",
}
"""Options of the mysql client and of Terraform, each with ours."""
_TRIALS = ("check", "diff", "dry-run")

_NEAR = 0.65
_LONGEST = 300
_EXTRA = re.compile(r"extra argument\S* \((.+)\)$")
_ONE_DASH = re.compile(r"-[a-z][a-z-]{2,}(?:=|$)")


def usage_error(error: Click, built: Click, arguments: Sequence[str]) -> UsageError:
    """Return Typer's error about `arguments` as a UsageError with a fix.

    `built`: the command line.
    """
    command, path, arguments_after = called_command(built, arguments)
    see = f"see {path} --help"
    if isinstance(error, _errors.NoSuchOption):
        name = str(error.option_name)
        fix = _option_fix(name.lstrip("-"), command)
        if fix is None and hasattr(command, "commands"):
            fix = "write options after the command: proxyctl COMMAND --help lists them"
        return UsageError(f"no such option: {name}", fix=fix or see)
    if isinstance(error, _errors.MissingParameter):
        example = str(command.epilog or "").removeprefix("Example: ")
        return UsageError(f"{_name(error.param)} is missing", fix=f"add it: {example}")
    if isinstance(error, _errors.BadParameter):
        source = error.ctx.get_parameter_source(error.param.name)
        is_environment = source is not None and source.name == "ENVIRONMENT"
        place = error.param.envvar if is_environment else _name(error.param)
        value = os.environ[place] if is_environment else _typed(error.param, arguments_after)
        reason = _lowered(error.message)
        shown = place if not value or value in reason else f"{place} {value}"
        return UsageError(f"{shown}: {reason}", fix=see)
    if hasattr(command, "commands"):
        typed = next((word for word in arguments_after if not word.startswith("-")), "")
        return _no_such_command(command, path, typed)
    if extra := _EXTRA.search(error.message):
        fix = _argument_fix(extra[1], error.ctx, path) or see
        return UsageError(f"unexpected argument: {extra[1]}", fix=fix)
    return UsageError(_lowered(error.message), fix=see)


def refuse_misread_options(built: Click, arguments: Sequence[str]) -> None:
    """Refuse options that Typer would misread, and name the right spelling.

    Typer takes Terraform's `-out=FILE` for `-o` with the value `ut=FILE`, mysql's `-h HOST` for
    help and kubectl's `-o json` for a file. Raises: UsageError.
    """
    command, _, after = called_command(built, arguments)
    known = _options(command)
    formats = [option.metavar for option in command.params if "--format" in option.opts]
    for word, following in pairwise([*takewhile(lambda word: word != "--", after), ""]):
        name, _, value = word[1:].partition("=")
        # The text after mysql's -p is a password, which no message may repeat.
        is_long = f"--{name}" in known or name in _OPTIONS or (value and not name.startswith("p"))
        if _ONE_DASH.match(word) and is_long:
            raise UsageError(f"no such option: -{name}", fix=_option_fix(name, command, value))
        if word.startswith("-o="):
            fix = f"did you mean -o {value}?"
            raise UsageError(f"{word}: expected a space after -o", fix=fix)
        host = word[2:] or following
        if word[:2] == "-h" and "--host" in known and host and host[0] != "-":
            raise UsageError("-h shows the help", fix=f"did you mean --host {host}?")
        if word in ("-o", "--out") and formats and following in formats[0].split("|"):
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
    in_groups = [
        f"{name} {word}"
        for name, subcommand in groups
        if word in getattr(subcommand, "commands", {})
    ]
    likely = _COMMANDS.get(word) or next(iter(in_groups), None) or _nearest(word, command.commands)
    fix = f"did you mean {f'{group} {likely}'.lstrip()}?" if likely else None
    return UsageError(
        f"no such command: {f'{group} {word}'.strip() or repr(word)}",
        fix=fix or f"choose from {', '.join(command.commands)}",
    )


def no_such_topic(word: str, commands: Iterable[str]) -> UsageError:
    """Return the error for an unknown word behind `proxyctl help`."""
    near = _nearest(word, [*TOPICS, *commands])
    return UsageError(
        f"no such command or topic: {word}",
        fix=f"did you mean {near}?" if near else f"name a command or a topic: {', '.join(TOPICS)}",
    )


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
    return None


def _option_fix(name: str, command: Click, value: str = "") -> str | None:
    """Return the fix for an unknown option: from `_OPTIONS`, or the command's nearest option."""
    known = _options(command)
    ours = _OPTIONS.get(name, "")
    if ours.partition(" ")[0] in known:
        return f"did you mean {ours}?"
    if name in _TRIALS and f"--{name}" not in known:
        return "run plan: it shows what an apply would change"
    near = _nearest(name, [option.removeprefix("--") for option in known])
    return f"did you mean --{near} {value}".rstrip() + "?" if near else None


def _nearest(word: str, names: Iterable[str]) -> str | None:
    """Return the nearest name with the same first letter, which people rarely mistype."""
    same_start = [name for name in names if name[:1] == word[:1].lower()]
    return nearest(word, same_start, cutoff=_NEAR)


def _options(command: Click) -> list[str]:
    names = [name for option in command.params for name in option.opts]
    return [*(name for name in names if name.startswith("--")), "--help"]


def _name(parameter: Click) -> str:
    is_argument = parameter.param_type_name == "argument"
    return value_name(parameter) if is_argument else str(max(parameter.opts, key=len))


def _typed(parameter: Click, arguments: Sequence[str]) -> str:
    """Return the last value that a command line gives an option; empty if it has none."""
    value = ""
    for word, following in pairwise([*arguments, ""]):
        name, separator, joined = word.partition("=")
        if name in parameter.opts:
            value = joined if separator else following
    return value if len(value) <= _LONGEST else ""


def _lowered(message: str) -> str:
    """Return a message in our form, without pydantic's words before and after it.

    A message that repeats a long value is cut.
    """
    text = message.removeprefix("Value error, ").split(", unable to")[0].rstrip(".")
    text = text.replace("Input should be", "expected", 1)
    text = text.replace("expected a valid integer", "expected an integer", 1)
    text = text.replace("less than or equal to", "at most", 1)
    text = text.replace("greater than or equal to", "at least", 1)
    text = text[:1].lower() + text[1:]
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
