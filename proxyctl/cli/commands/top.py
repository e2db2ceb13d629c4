"""The command top: it checks the terminal, runs the live view, and exits as the view ended."""

from __future__ import annotations

import gc
import os
import signal
import sys

from proxyctl.cli.connect import SelectionOptions
from proxyctl.cli.option_kinds import value
from proxyctl.cli.output import is_terminal, wants_colour
from proxyctl.errors import ExitCode, UsageError

_INSTEAD = "use digest top, digest diff or rules, for scripts with --format json"


def top(
    selection: SelectionOptions,
    interval: float = value("SECONDS", "Time between two readings.", default=2, min=0.5, max=3600),
) -> int:
    """Watch servers, digests and rules live. Sends only SELECTs."""
    _need_terminal()
    client, names = selection.connect(), selection.hostgroup_names()

    from proxyctl.cli.top.app import TopApp

    gc.enable()  # the view may run for days
    _prepare_environment()
    app = TopApp(client, interval, names)
    # With the mouse off, people can select and copy queries in the terminal.
    ended_by = app.run(mouse=False)
    if app.failure is not None:
        raise app.failure
    if ended_by is not None:
        _end_as(ended_by)
    return ExitCode.DONE


def _need_terminal() -> None:
    """Raise UsageError unless all streams are terminals. The view is drawn on stderr."""
    streams = {"stdin": sys.stdin, "stdout": sys.stdout, "stderr": sys.stderr}
    reasons = [f"{name} is not one" for name, stream in streams.items() if not is_terminal(stream)]
    term = os.environ.get("TERM", "")
    if term in ("", "dumb", "unknown"):
        reasons.append(f"TERM is {term or 'not set'}")
    if reasons:
        raise UsageError(f"top needs a terminal: {reasons[0]}", fix=_INSTEAD)


def _prepare_environment() -> None:
    """Let Textual colour as other commands do, and take the size from the terminal."""
    if wants_colour(stream_is_terminal=True):
        os.environ.pop("NO_COLOR", None)  # Textual treats an empty value as set
    else:
        os.environ["NO_COLOR"] = "1"
    for name in ("COLUMNS", "LINES"):
        os.environ.pop(name, None)


def _end_as(number: signal.Signals) -> None:
    """End the process by the signal that ended the view, so that the parent process sees it."""
    if number is signal.SIGINT:
        raise KeyboardInterrupt
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
