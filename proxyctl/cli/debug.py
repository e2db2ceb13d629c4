"""What --debug says on stderr: versions, decisions, statements, and when. No secret is in it.

It is made to be pasted into a ticket: statements come masked by field, options without values, and
of an exception that nobody expected only its kind and the lines of code that it passed through.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import takewhile
from typing import Any

from proxyctl import __version__
from proxyctl.cli.output import say
from proxyctl.errors import traceback_lines
from proxyctl.text import printable


class DebugLog:
    """One line for each call. Units: each begins with the seconds since the command began."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def __call__(self, text: str) -> None:
        """Say one thing, on one line whatever a name or a statement holds."""
        say(f"debug: {time.monotonic() - self._began:7.3f}  {printable(text)}")


@contextmanager
def debugged(context: Any) -> Iterator[DebugLog]:  # noqa: ANN401 - Typer's type moved with versions
    """Say what is run, on what, and how it ends."""
    tell = DebugLog()
    tell(f"proxyctl {__version__}, Python {platform.python_version()}, {platform.platform()}")
    tell(f"command {context.command_path}; {_given(context)}")
    try:
        yield tell
    except BaseException as error:
        tell(f"ended by {type(error).__name__}")
        raise


def _given(context: Any) -> str:  # noqa: ANN401 - as above
    """Return which options were given, and where. Not their values: --var may hold anything."""
    given: dict[str, list[str]] = {"COMMANDLINE": [], "ENVIRONMENT": []}
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name)
        if source is not None and source.name in given:
            spelled = parameter.opts[0]
            from_variable = source.name == "ENVIRONMENT"
            given[source.name].append(str(parameter.envvar) if from_variable else spelled)
    typed, variables = (", ".join(names) or "none" for names in given.values())
    return f"options: {typed}; from the environment: {variables}"


def say_traceback(error: BaseException) -> None:
    """Say where an exception came from, in lines of code only."""
    for line in traceback_lines(error):
        say(f"debug: {line}")


def asks_for_debug(arguments: Sequence[str]) -> bool:
    """Return whether --debug is among the options."""
    return "--debug" in takewhile(lambda argument: argument != "--", arguments)
