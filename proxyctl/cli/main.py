"""Run one command line: the only place that catches everything and decides the exit code."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from itertools import pairwise

import typer

from proxyctl.cli.debug import asks_for_debug, say_traceback
from proxyctl.cli.output import report_error, say
from proxyctl.cli.wrong_command_line import WrongCommandLine, usage_error
from proxyctl.errors import ExitCode, ProxyctlError, unexpected

_HELP = frozenset({"-h", "--help"})


def run(arguments: Sequence[str]) -> int:
    """Run the command and return the exit code. Everything is written when it returns."""
    # A command builds large tables that form no cycles, and then ends: collecting costs time only.
    gc.disable()
    as_json = _asks_for_json(arguments)
    if list(arguments[:1]) == ["help"]:
        arguments = [*arguments[1:], "--help"]
    try:
        from proxyctl.cli.app import build

        code = build(arguments)(list(arguments), standalone_mode=False, prog_name="proxyctl")
    except ProxyctlError as error:
        report_error(error, as_json=as_json)
        return error.exit_code
    except WrongCommandLine as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            error.show()  # type: ignore[attr-defined]  # the help
        else:
            report_error(usage_error(error, arguments), as_json=as_json)
        return ExitCode.USAGE
    except typer.Exit as error:
        return error.exit_code
    except SystemExit:
        # Typer exits with 1 when the reader of its help went away, as `head` does.
        if _HELP.intersection(arguments):
            return ExitCode.DONE
        raise
    except (typer.Abort, KeyboardInterrupt):
        say("interrupted; nothing was changed")
        return ExitCode.INTERRUPTED
    except Exception as error:
        is_debug = asks_for_debug(arguments)
        if is_debug:
            say_traceback(error)
        said = unexpected(error, is_debug=is_debug)
        report_error(said, as_json=as_json)
        return said.exit_code
    return int(code or 0)


def _asks_for_json(arguments: Sequence[str]) -> bool:
    pairs = pairwise([*arguments, ""])
    return any(
        one == "--format=json" or (one == "--format" and other == "json") for one, other in pairs
    )
