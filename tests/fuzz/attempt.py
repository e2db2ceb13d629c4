"""One input after the other, under watch: what is raised, how long it takes, how much memory."""

from __future__ import annotations

import faulthandler
import os
import resource
import signal
import time
from pathlib import Path

from proxyctl.errors import InternalError, ProxyctlError
from tests.fuzz.defect import Defect
from tests.fuzz.slate import Slate
from tests.fuzz.target import Run

LIMIT_S = 2.0
"""Longest time for one input. Units: seconds of processor time, since machines are shared."""
LIMIT_MB = 500
TOO_LARGE = 77
"""Exit code of a process that took more memory than the limit."""


def defect_in(run: Run, data: bytes) -> Defect | None:
    """Return the defect that the input shows, if any. A refusal is none, but for a bug that is."""
    try:
        run(data)
    except InternalError as error:
        return Defect.of(error, data)
    except ProxyctlError as error:
        if not all(line.strip() for line in error.lines()):
            return Defect.of(AssertionError(f"an empty message: {error.lines()}"), data)
    except Exception as error:
        return Defect.of(error, data)
    return None


class Watch:
    """Tries inputs, and ends the process on one that takes too long or too much memory.

    An input that takes too long is met by a signal that no code can keep off, compiled code
    included; `trace` then holds where it was.
    """

    def __init__(self, run: Run, slate: Slate, found: Path, trace: Path) -> None:
        self._run = run
        self._slate = slate
        self._found = found
        self._trace = trace.open("w")
        faulthandler.register(signal.SIGPROF, self._trace, all_threads=True, chain=True)

    def attempt(self, data: bytes) -> None:
        """Try one input. Changes: slate, and the folder of what was found."""
        self._slate.begin(data)
        signal.setitimer(signal.ITIMER_PROF, LIMIT_S)
        start = time.process_time()
        defect = defect_in(self._run, data)
        took_s = time.process_time() - start
        signal.setitimer(signal.ITIMER_PROF, 0)
        peak_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        self._slate.end(took_s, peak_kb)
        if defect is not None:
            defect.save(self._found)
        if peak_kb > LIMIT_MB * 1024:
            # Not by an exception: what called us might catch it.
            os._exit(TOO_LARGE)
