"""The page of commands, in the groups of `--help`, from what Typer knows of them."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Any

from docs import markdown, notes
from proxyctl.cli.app import PANELS, build, commands_of
from proxyctl.cli.help import EVERY_COMMAND, argument_shape, default_text, value_name
from proxyctl.config.starters import starter_names

_SHARED = ("Files", "Connection")
"""Groups of options that stand in a section of their own, as those of every command."""


def commands() -> Iterator[str]:
    """Yield the lines of the page."""
    yield from markdown.head("Commands", notes.COMMANDS)
    shared: dict[str, list[Any]] = {}
    known = commands_of(build())
    for panel, name in [(panel, name) for panel, names in PANELS.items() for name in names]:
        command = known[name]
        if name == next(iter(PANELS[panel])):
            yield f"## {panel}"
            yield ""
        arguments = [p for p in command.params if p.param_type_name == "argument"]
        groups: dict[str | None, list[Any]] = {}
        for parameter in command.params:
            if parameter.param_type_name == "option":
                groups.setdefault(parameter.rich_help_panel, []).append(parameter)
        shared |= {group: groups[group] for group in (*_SHARED, EVERY_COMMAND) if group in groups}
        usage = [argument_shape(argument) for argument in arguments]
        yield f"### {name}"
        yield ""
        yield command.help or ""
        yield ""
        yield f"`proxyctl {' '.join([name, *usage, '[OPTIONS]'])}`"
        yield ""
        example = command.epilog.removeprefix("Example: ")
        yield f"For example `{example}`."
        yield ""
        own = [
            p
            for group, found in groups.items()
            if group not in (*_SHARED, EVERY_COMMAND)
            for p in found
        ]
        yield from _parameters([*arguments, *own])
        also = [f"[{group.lower()}](#{_anchor(group)})" for group in _SHARED if group in groups]
        if also:
            yield f"Also the options for {' and '.join(also)}."
            yield ""
    for group in _SHARED:
        yield f"## Options for {group.lower()}"
        yield ""
        yield from _parameters(shared[group])
    yield "## Options for every command"
    yield ""
    yield from _parameters(shared[EVERY_COMMAND])
    yield "## Environment"
    yield ""
    bound = {p.envvar: p.opts[0] for group in _SHARED for p in shared[group] if p.envvar}
    yield from markdown.table(
        ("variable", "what it does"),
        [
            *((f"`{name}`", f"as `{option}`") for name, option in sorted(bound.items())),
            *((f"`{name}`", text) for name, text in notes.ENVIRONMENT.items()),
        ],
    )


def _anchor(group: str) -> str:
    return f"options-for-{group.lower()}"


def _parameters(parameters: list[Any]) -> Iterator[str]:
    if parameters:
        head = ("option", "what it does", "default")
        yield from markdown.table(
            head, ((_spelled(p), p.help.replace("*", "\\*"), _default(p)) for p in parameters)
        )


def _spelled(parameter: Any) -> str:  # noqa: ANN401 - Typer's own type moved between its versions
    if parameter.param_type_name == "argument":
        return f"`{argument_shape(parameter)}`"
    names = ", ".join(f"`{name}`" for name in sorted(parameter.opts, key=len, reverse=True))
    if parameter.is_flag:
        return names
    value = value_name(parameter)
    if isinstance(parameter.default, Enum):
        value = "|".join(type(parameter.default))
    return f"{names} `{'|'.join(starter_names()) if parameter.name == 'template' else value}`"


def _default(parameter: Any) -> str:  # noqa: ANN401 - as above
    if default := default_text(parameter):
        return f"`{default}`"
    return "required" if parameter.required else ""
