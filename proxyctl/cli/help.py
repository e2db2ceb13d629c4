"""The help of a command: its own options in full, and those that many commands share by topic.

`proxyctl help TOPIC` explains the options of a topic, `--help-all` every option of a command.
"""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Any, TypeAlias

import typer
from typer.core import TyperCommand, TyperGroup

from proxyctl.cli.output import columns

Click: TypeAlias = Any
"""A module, command, parameter, context, formatter or error of Typer's own Click.

It is not public.
"""

HELP_NAMES = ["-h", "--help"]
EVERY_COMMAND = "Every command"
"""The panel of the options that every command has."""
TOPICS = {
    "files": "Files",
    "connection": "Connection",
    "fleet": "Many instances",
    "servers": "Servers behind ProxySQL",
    "stores": "History",
    "general": EVERY_COMMAND,
}
"""The groups of options that help names in one line, each by the word for `proxyctl help`."""
_TOPIC_OF = {panel: topic for topic, panel in TOPICS.items()}
_OWN = "Options"

_FIRST_COLUMN = 26
"""The most columns that the names of an option may take to the left of its explanation."""
_WIDEST = 100
_NO_BREAK = "\N{NO-BREAK SPACE}"


class _Help:
    """What help of commands and of groups have in common."""

    def format_help(self, ctx: Click, formatter: Click) -> None:
        """Write the short help. Changes: formatter."""
        formatter.write(_joined(self.help_lines(ctx, is_full=False), ctx))

    def full_help(self, ctx: Click) -> str:
        """Return the help with every option in full."""
        return _joined(self.help_lines(ctx, is_full=True), ctx)

    def help_lines(self, ctx: Click, *, is_full: bool) -> Iterator[str]:
        """Yield the lines of the help."""
        raise NotImplementedError


class HelpCommand(_Help, TyperCommand):
    """A command whose help shows the options of topics in one line a topic."""

    def help_lines(self, ctx: Click, *, is_full: bool) -> Iterator[str]:
        """Yield the lines of the help."""
        parameters: list[Click] = self.params
        arguments = [p for p in parameters if p.param_type_name == "argument"]
        panels = _panels(self.get_params(ctx))
        yield from _head(ctx, ["[OPTIONS]", *map(argument_shape, arguments)], self.help)
        if arguments:
            yield from _section("Arguments", ((value_name(p), p.help or "") for p in arguments))
        for panel, options in panels.items():
            if is_full or panel not in _TOPIC_OF:
                yield from _section(panel, map(_option_row, options))
        topics = {_TOPIC_OF[p]: panels[p] for p in panels if p in _TOPIC_OF}
        if topics and not is_full:
            yield from _topic_section(topics)
        if self.epilog:
            yield from ("", *_wrapped(self.epilog, _width()))


class HelpGroup(_Help, TyperGroup):
    """A group of commands; its help lists them, each with the first sentence of its own help."""

    def help_lines(self, ctx: Click, *, is_full: bool) -> Iterator[str]:
        """Yield the lines of the help."""
        is_root = ctx.parent is None
        yield from _head(ctx, ["COMMAND", "[OPTIONS]"], self.help)
        widest = max(map(len, self.commands))
        panels: dict[str, dict[str, str]] = {}
        commands: dict[str, Click] = dict(self.commands)
        for name, command in commands.items():
            panel = (is_root and command.rich_help_panel) or "Commands"
            panels.setdefault(panel, {})[f"{name:{widest}}"] = _first_sentence(command.help)
        for panel, rows in panels.items():
            yield from _section(panel, rows.items())
        if is_full:
            yield from _section("Options", map(_option_row, self.get_params(ctx)))
        elif is_root:
            names = _names(self.get_params(ctx), _width() - len("Options: "))
            yield from ("", f"Options: {names}")
            yield from _wrapped(f"Topics (proxyctl help TOPIC): {', '.join(TOPICS)}", _width())


def topic_help(topic: str, commands: Mapping[str, Click], context: Click) -> str:
    """Return the help of a topic. `commands`: every command by its words."""
    options: dict[tuple[str, str], Click] = {}
    words = []
    for name, command in commands.items():
        panels = _panels(command.get_params(context))
        for option in panels.get(TOPICS[topic], ()):
            options.setdefault((option.opts[0], option.help), option)
        if TOPICS[topic] in panels:
            words.append(name)
    of = "every command" if len(words) == len(commands) else ", ".join(words)
    lines = _section(TOPICS[topic], map(_option_row, options.values()))
    return _joined([*lines, "", *_wrapped(f"Options of: {of}.", _width())], context)


def show_all(context: typer.Context, is_asked: bool) -> None:
    """Write the full help and end, for the option --help-all. Raises: typer.Exit."""
    if is_asked:
        command: Click = context.command
        typer.echo(command.full_help(context), color=context.color)
        raise typer.Exit


def value_name(parameter: Click) -> str:
    """Return the word for the value of an option or argument; empty for a flag."""
    if getattr(parameter, "is_flag", False):
        return ""
    return str(parameter.metavar or parameter.name.upper())


def argument_shape(argument: Click) -> str:
    """Return an argument as the usage line shows it: in brackets if it can be left out."""
    name = value_name(argument)
    return name if argument.required else f"[{name}]"


def default_text(parameter: Click) -> str:
    """Return the default as text; empty for none and for a flag that is off."""
    default = parameter.default
    if default is None or default is False:
        return ""
    if isinstance(default, Enum):
        return str(default.value)
    return f"{default:g}" if isinstance(default, float) else str(default)


def _panels(parameters: Iterable[Click]) -> dict[str, list[Click]]:
    """Return the options by the heading of their panel, those of the command itself first."""
    panels: dict[str, list[Click]] = {_OWN: []}
    for parameter in parameters:
        if parameter.param_type_name == "option":
            is_help = HELP_NAMES[1] in parameter.opts
            panel = EVERY_COMMAND if is_help else parameter.rich_help_panel or _OWN
            panels.setdefault(panel, []).append(parameter)
    return {panel: options for panel, options in panels.items() if options}


def _head(context: Click, pieces: Iterable[str], text: str | None) -> Iterator[str]:
    yield f"{_bold('Usage:')} {' '.join([context.command_path, *pieces])}"
    for paragraph in (text or "").split("\n\n"):
        yield from ("", *_wrapped(" ".join(paragraph.split()), _width()))


def _option_row(option: Click) -> tuple[str, str]:
    """Return the names of an option with its value, and its explanation."""
    names = ", ".join(sorted(option.opts, key=len))
    if option.secondary_opts:
        names += f"/{option.secondary_opts[0]}"
    remarks = []
    if option.envvar:
        remarks.append(f"env: {option.envvar}")
    if default := default_text(option):
        remarks.append(f"default: {names.partition('/')[0] if option.is_flag else default}")
    if option.required:
        remarks.append("required")
    name = f"{names} {value_name(option)}".rstrip()
    # No line break within the brackets.
    remark = f"[{'; '.join(remarks)}]".replace(" ", _NO_BREAK)
    return name, f"{option.help} {remark}" if remarks else option.help


def _section(title: str, rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield a heading and two columns. A long name has its line to itself."""
    listed = list(rows)
    first = max((len(name) for name, _ in listed if len(name) <= _FIRST_COLUMN), default=0)
    yield from ("", _bold(f"{title}:"))
    for name, text in listed:
        lines = _wrapped(text, _width() - first - 4)
        shown = typer.style(f"{name:{first}}", fg="cyan") if _is_coloured() else f"{name:{first}}"
        if len(name) > first:
            lines.insert(0, "")
        for number, line in enumerate(lines):
            yield f"  {shown if number == 0 else ' ' * first}  {line}".rstrip()


def _topic_section(topics: Mapping[str, list[Click]]) -> Iterator[str]:
    """Yield a line for each topic: the command that explains its options, and their names."""
    first = max(len(f"proxyctl help {topic}") for topic in topics)
    rows = []
    for topic, options in topics.items():
        rows.append((f"proxyctl help {topic}", _names(options, _width() - first - 4)))
    yield from _section("More options (--help-all explains all)", rows)


def _names(options: Iterable[Click], room: int) -> str:
    """Return the long names of options, as many as `room` characters hold."""
    names = [max(option.opts, key=len) for option in options]
    shown = ", ".join(names)
    while len(shown) > room:
        names.pop()
        shown = ", ".join([*names, "..."])
    return shown


def _first_sentence(text: str | None) -> str:
    return " ".join((text or "").split()).partition(". ")[0].removesuffix(".")


def _joined(lines: Iterable[str], context: Click) -> str:
    """Return the lines as one text. Changes: context, which colours a pipe with FORCE_COLOR."""
    if _is_coloured() and os.environ.get("FORCE_COLOR"):
        context.color = True
    return "\n".join(lines).strip("\n")


def _is_coloured() -> bool:
    """Return whether to colour; Typer takes colours out where stdout is no terminal."""
    return not os.environ.get("NO_COLOR")


def _bold(text: str) -> str:
    return typer.style(text, bold=True) if _is_coloured() else text


def _width() -> int:
    return min(columns(), _WIDEST)


def _wrapped(text: str, width: int) -> list[str]:
    lines = textwrap.wrap(text, width, break_on_hyphens=False, break_long_words=False)
    return [line.replace(_NO_BREAK, " ") for line in lines] or [""]
