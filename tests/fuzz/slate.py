"""What a process that fuzzes is doing: a file that outlives it, whatever ends it."""

from __future__ import annotations

import mmap
import struct
from pathlib import Path

from tests.fuzz.mutation import LONGEST

_FIELDS = struct.Struct("<QdQI")
"""Inputs begun, seconds of processor time of the slowest one, peak KB, length of the input."""


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
