"""One option: its kinds, its parser, and the error for a word that it does not take."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, get_args

import typer

from proxyctl.errors import UsageError
from proxyctl.text import nearest


# ruff: noqa: ANN401 - Typer's types are not public
def value(metavar: str, help: str, *names: str, default: object = None, **settings: Any) -> Any:
    """Return an option with a value; `settings`: see `typer.Option`."""
    return typer.Option(default, *names, metavar=metavar, help=help, **settings)


def spelled(name: str) -> str:
    """Return an option as typed on the command line."""
    return f"--{name.replace('_', '-')}"


def at_most_one(**given: object) -> None:
    """Refuse several of these options; one is given if its value is true. Raises: UsageError."""
    names = [spelled(name) for name, value in given.items() if value]
    if len(names) > 1:
        raise UsageError(
            f"{names[0]} cannot be used with {names[1]}", fix=f"leave out {' or '.join(names)}"
        )


def flag(name: str, help: str, *aliases: str, default: bool = False) -> Any:
    """Return an option without a value. `name`: `--a`, or `--a/--no-a`."""
    return typer.Option(default, name, *aliases, help=help)


def choice(words: Any, name: str = "--format", help: str = "Output format.") -> Any:
    """Return an option that takes one word of a Literal; help shows every word."""
    return typer.Option(name, metavar="|".join(get_args(words)), help=help)


def file_option(*names: str, help: str, fix: str = "name a file") -> Any:
    """Return an option for a file to write. Refuses `-`, which would name a file."""

    def check(path: str | None) -> str | None:
        if path == "-":
            raise UsageError(f"{names[0]} -: expected a file", fix=fix)
        return path

    return typer.Option(*names, metavar="FILE", help=help, callback=check)


out_option = functools.partial(file_option, "--out", "-o")
OR_STDOUT = "leave out -o to write to stdout"
"""The fix for `out_option` where stdout is the default."""


def no_such(
    option: str,
    word: str,
    noun: str,
    known: Iterable[str],
    *,
    fix: str,
    misnamed: Mapping[str, str] = MappingProxyType({}),
) -> UsageError:
    """Return the error for an unknown word.

    `fix`: used if no known word is near. `misnamed`: what people mean by other words.
    """
    near = misnamed.get(word) or nearest(word, known, cutoff=0.6)
    return UsageError(
        f"{option} {word}: no such {noun}", fix=f"did you mean {near}?" if near else fix
    )


def parsed(option: str, parse: Callable[[str], object]) -> Callable[[str], object]:
    """Return `parse` for the values of an option, with UsageError in place of ValueError."""

    def parser(text: str) -> object:
        try:
            return parse(text)
        except ValueError as error:
            raise UsageError(f"{option}: {error}") from error

    return parser
