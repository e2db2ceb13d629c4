"""The grammar of LOAD and SAVE, in every spelling that ProxySQL accepts."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from proxyctl.sandbox.replies import AdminError, not_modelled

COREDUMP = "COREDUMP"
"""The module that can only be loaded from MEMORY to RUNTIME."""


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

_UNMODELLED = (
    re.compile(r"LOAD .+ FROM CONFIG"),
    re.compile(r"LOAD MYSQL USER \S+ TO RUNTIME"),
    re.compile(r"SAVE MYSQL DIGEST TO DISK"),
    re.compile(r"SAVE CONFIG TO FILE .+"),
    re.compile(r"SELECT CONFIG (FILE|INTO OUTFILE .+)"),
    re.compile(r"SELECT GLOBAL_CHECKSUM\(\)"),
    re.compile(r"CHECKSUM .+"),
    re.compile(r"KILL CONNECTION .+"),
    re.compile(r"PROXYSQLTEST.*"),
    re.compile(r"PULL VERSION MYSQL SERVERS \S.*"),
    re.compile(r"SHOW PROMETHEUS METRICS.*"),
)
_PROXYSQL = re.compile(
    r"PROXYSQL (START|STOP|RESTART|PAUSE|RESUME|SHUTDOWN( SLOW)?|KILL|RELOAD TLS"
    r"|FLUSH (LOGS|QUERY CACHE|MYSQL CLIENT HOSTS|CONFIGDB)|(COMPRESSED)?COREDUMP.*"
    r"|CLUSTER_NODE_UUID .*)"
)


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
    command = Command(module, _DIRECTIONS[verb][direction])
    is_known = module != COREDUMP or command.direction is Direction.MEMORY_TO_RUNTIME
    return command if is_known else None


def unmodelled(text: str) -> AdminError | None:
    """Return the error for a command that ProxySQL has and the sandbox does not."""
    upper = text.upper()
    if _PROXYSQL.fullmatch(upper) or any(shape.fullmatch(upper) for shape in _UNMODELLED):
        return not_modelled(" ".join(upper.split()[:4]))
    return None
