"""The grammar of LOAD and SAVE, in every spelling that ProxySQL accepts."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from proxyctl.sandbox.replies import AdminError, not_modelled


class Direction(StrEnum):
    """Where a LOAD or SAVE takes the rows from, and where it puts them."""

    MEMORY_TO_RUNTIME = "memory to runtime"
    RUNTIME_TO_MEMORY = "runtime to memory"
    DISK_TO_MEMORY = "disk to memory"
    MEMORY_TO_DISK = "memory to disk"


@dataclass(frozen=True)
class Command:
    """One LOAD or SAVE of an admin module."""

    module: str
    direction: Direction


_DIRECTIONS = {
    "LOAD": {
        "TO RUNTIME": Direction.MEMORY_TO_RUNTIME,
        "TO RUN": Direction.MEMORY_TO_RUNTIME,
        "FROM MEMORY": Direction.MEMORY_TO_RUNTIME,
        "FROM MEM": Direction.MEMORY_TO_RUNTIME,
        "FROM DISK": Direction.DISK_TO_MEMORY,
        "TO MEMORY": Direction.DISK_TO_MEMORY,
        "TO MEM": Direction.DISK_TO_MEMORY,
    },
    "SAVE": {
        "TO MEMORY": Direction.RUNTIME_TO_MEMORY,
        "TO MEM": Direction.RUNTIME_TO_MEMORY,
        "FROM RUNTIME": Direction.RUNTIME_TO_MEMORY,
        "FROM RUN": Direction.RUNTIME_TO_MEMORY,
        "TO DISK": Direction.MEMORY_TO_DISK,
        "FROM MEMORY": Direction.MEMORY_TO_DISK,
        "FROM MEM": Direction.MEMORY_TO_DISK,
    },
}

_SHAPE = re.compile(r"(LOAD|SAVE) (.+) ((?:TO|FROM) (?:RUNTIME|RUN|MEMORY|MEM|DISK))")

_UNMODELLED = re.compile(
    r"LOAD .+ FROM CONFIG|LOAD MYSQL USER \S+ TO RUNTIME|SAVE MYSQL DIGEST TO DISK"
    r"|(LOAD|SAVE) (COREDUMP|SQLITESERVER VARIABLES) .+"
    r"|SAVE CONFIG TO FILE .+|SELECT CONFIG (FILE|INTO OUTFILE .+)"
    r"|SELECT GLOBAL_CHECKSUM\(\)|CHECKSUM .+|KILL CONNECTION .+|PULL VERSION MYSQL SERVERS .+"
    r"|PROXYSQLTEST.*|PROXYSQL (?!READONLY|READWRITE).+"
)
"""Commands of ProxySQL that the sandbox does not have."""


def parse(text: str, modules: Collection[str]) -> Command | None:
    """Return the LOAD or SAVE that a normalised text asks for, or None when it is neither.

    A module that this version lacks is no command: ProxySQL hands such a text to SQLite.
    """
    shape = _SHAPE.fullmatch(text.upper())
    if shape is None:
        return None
    verb, module, direction = shape.groups()
    if module not in modules or direction not in _DIRECTIONS[verb]:
        return None
    return Command(module, _DIRECTIONS[verb][direction])


def unmodelled(text: str) -> AdminError | None:
    """Return the error for a command that ProxySQL has and the sandbox does not."""
    upper = text.upper()
    if _UNMODELLED.fullmatch(upper):
        return not_modelled(" ".join(upper.split()[:4]))
    return None
