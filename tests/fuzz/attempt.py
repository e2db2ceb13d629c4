"""One input after the other, under watch: what is raised, how long it takes, how much memory."""

from __future__ import annotations

import faulthandler
import hashlib
import mmap
import os
import resource
import signal
import struct
import time
import traceback
from dataclasses import dataclass
from pathlib import Path

from proxyctl.errors import InternalError, ProxyctlError
from tests.fuzz.mutation import LONGEST
from tests.fuzz.target import Run

LIMIT_S = 2.0
"""Longest time for one input. Units: seconds of processor time, since machines are shared."""
LIMIT_MB = 500
TOO_LARGE = 77
"""Exit code of a process that took more memory than the limit."""
_FIELDS = struct.Struct("<QdQI")
"""Inputs begun, seconds of processor time of the slowest one, peak KB, length of the input."""


@dataclass(frozen=True)
class Defect:
    """Shape: two defects with the same `sign` are taken for one."""

    sign: str
    text: str
    data: bytes

    @classmethod
    def of(cls, error: BaseException, data: bytes) -> Defect:
        """Return the defect that an exception shows: its kind, and the last places it passed."""
        frames = traceback.extract_tb(error.__traceback__)
        ours = [frame for frame in frames if "/proxyctl/" in frame.filename]
        places = (f"{Path(frame.filename).name}:{frame.lineno}" for frame in (ours or frames)[-1:])
        text = "".join(traceback.format_exception(error))
        return cls(f"{type(error).__name__} at {' '.join(places)}", text, data)

    def save(self, folder: Path) -> Path:
        """Write the input and what happened beside it, once for each sign. Return its path."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / hashlib.sha256(self.sign.encode()).hexdigest()[:12]
        if not path.exists():
            path.write_bytes(self.data)
            path.with_suffix(".txt").write_text(f"{self.sign}\n\n{self.text}", errors="replace")
        return path


class Slate:
    """A file in memory, written by the process and read by whoever started it."""

    def __init__(self, path: Path) -> None:
        with path.open("a+b") as file:
            file.truncate(_FIELDS.size + LONGEST)
            self._map = mmap.mmap(file.fileno(), 0)

    def begin(self, data: bytes) -> None:
        """Note the input that is tried next."""
        inputs, slowest_s, peak_kb, _ = self._read()
        self._map[_FIELDS.size : _FIELDS.size + len(data)] = data
        self._write(inputs + 1, slowest_s, peak_kb, len(data))

    def end(self, took_s: float, peak_kb: int) -> None:
        """Note what the input took."""
        inputs, slowest_s, highest_kb, length = self._read()
        self._write(inputs, max(slowest_s, took_s), max(highest_kb, peak_kb), length)

    @property
    def inputs(self) -> int:
        """How many inputs were begun."""
        return self._read()[0]

    @property
    def slowest_s(self) -> float:
        """Processor time of the slowest input, in seconds."""
        return self._read()[1]

    @property
    def peak_mb(self) -> float:
        """The most memory that the process had, in MB."""
        return self._read()[2] / 1024

    @property
    def data(self) -> bytes:
        """The last input that was begun."""
        return self._map[_FIELDS.size : _FIELDS.size + self._read()[3]]

    def _read(self) -> tuple[int, float, int, int]:
        return _FIELDS.unpack_from(self._map)

    def _write(self, inputs: int, slowest_s: float, peak_kb: int, length: int) -> None:
        _FIELDS.pack_into(self._map, 0, inputs, slowest_s, peak_kb, length)


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
