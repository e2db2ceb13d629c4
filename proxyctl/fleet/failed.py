"""Instances of a fleet that failed, and the exit code of several instances. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from proxyctl.errors import ExitCode, ProxyctlError


@dataclass(frozen=True)
class Failed:
    """An instance that could not be read or changed, and the error."""

    name: str
    """The name of the instance in the files, or its address."""
    address: str
    """`host:port`, or the path of the socket."""
    error: ProxyctlError
    """The reason."""


_WORST_FIRST = (
    ExitCode.INTERRUPTED,
    ExitCode.INCOMPLETE,
    ExitCode.REFUSED,
    ExitCode.USAGE,
    ExitCode.ERROR,
    ExitCode.DIFFERENCES,
    ExitCode.DONE,
)


def worst(codes: Iterable[ExitCode]) -> ExitCode:
    """Return the exit code of a command over several instances."""
    return min(codes, key=_WORST_FIRST.index, default=ExitCode.DONE)


def worst_of(failed: Iterable[Failed]) -> ExitCode:
    """Return the exit code of a command that could not read some instances."""
    return worst(failure.error.exit_code for failure in failed)
