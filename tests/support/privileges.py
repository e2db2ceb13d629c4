"""Lets the mode of a file count for root as for everybody else."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

_DAC_OVERRIDE, _DAC_READ_SEARCH = 1, 2
_VERSION_3 = 0x20080522


@contextmanager
def modes_count() -> Iterator[None]:
    """Give up for a while what lets root read any file: in this thread, and those it starts."""
    if os.geteuid():
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(_VERSION_3, 0)
    # effective, permitted, inheritable: each of them is two words long
    before = (ctypes.c_uint32 * 6)()
    assert libc.capget(header, before) == 0
    without = (ctypes.c_uint32 * 6)(*before)
    without[0] &= ~(1 << _DAC_OVERRIDE | 1 << _DAC_READ_SEARCH)
    assert libc.capset(header, without) == 0
    try:
        yield
    finally:
        assert libc.capset(header, before) == 0
