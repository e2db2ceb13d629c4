"""Run one command line: the only place that catches everything and decides the exit code."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from itertools import pairwise

import typer

from proxyctl.cli.output import report_error, say
from proxyctl.errors import ExitCode, ProxyctlError

_WrongCommandLine: type[Exception] = typer.BadParameter.__mro__[1]
"""Typer's UsageError, which has another path in every version of Typer."""


def run(arguments: Sequence[str]) -> int:
    """Run the command and return the exit code. Everything is written when it returns."""
    from proxyctl.cli.app import build

    # A command builds large tables that form no cycles, and then ends: collecting costs time only.
    gc.disable()
    as_json = _asks_for_json(arguments)
    try:
        code = build()(list(arguments), standalone_mode=False, prog_name="proxyctl")
    except ProxyctlError as error:
        report_error(error, as_json=as_json)
        return error.exit_code
    except _WrongCommandLine as error:
        error.show()  # type: ignore[attr-defined]
        return ExitCode.USAGE
    except typer.Exit as error:
        return error.exit_code
    except (typer.Abort, KeyboardInterrupt):
        say("interrupted; nothing was changed")
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        # The reader of a pipe went away, as `head` does: nothing is wrong.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.DONE
    except Exception as error:
        if "--debug" in arguments:
            raise
        say(f"internal error, a bug in proxyctl: {type(error).__name__}: {error}")
        say("hint: run again with --debug and report the traceback")
        return ExitCode.ERROR
    return int(code or 0)


def _asks_for_json(arguments: Sequence[str]) -> bool:
    pairs = pairwise([*arguments, ""])
    return any(
        one == "--format=json" or (one == "--format" and other == "json") for one, other in pairs
    )
