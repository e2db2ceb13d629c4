"""Every error a user can meet, and the exit code of each.

    ProxyctlError                 exit  meaning
      UsageError                  64    wrong command line
      ConfigError                  1    the files are wrong: carries every mistake, sorted by place
      InstanceError                1    connect, log in, read: nothing was changed
      RefusedError                 3    a guard, pending edits, a stale plan, a lock: no change
      ApplyError                   4    stopped part way: says what each layer holds
      InternalError                1    a broken invariant: a bug in proxyctl

Exit code 2 (differences) is no error: commands return it. 130 is an interrupt.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar

from proxyctl.text import counted, os_fix, os_reason


def bug_text(error: BaseException) -> str:
    """Return the kind of an unexpected exception, and the place in proxyctl that raised it.

    Its message is left out: a KeyError or a driver repeats values, which may be passwords.
    """
    place, tb = "", error.__traceback__
    while tb is not None:
        _, is_ours, path = tb.tb_frame.f_code.co_filename.rpartition("/proxyctl/")
        if is_ours:
            place = f" at {path}:{tb.tb_lineno}"
        tb = tb.tb_next
    return f"{type(error).__name__}{place}"


def traceback_lines(error: BaseException) -> Iterator[str]:
    """Yield the tracebacks of an exception and of its causes, without messages (see `bug_text`)."""
    chain: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in chain:
        chain.append(link)
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    for cause in reversed(chain):
        for frame in traceback.extract_tb(cause.__traceback__):
            yield f"{frame.filename}:{frame.lineno} in {frame.name}: {frame.line}"
        yield bug_text(cause)


class ExitCode(IntEnum):
    """The exit codes. 1 to 3 and 64: no instance was changed."""

    DONE = 0
    ERROR = 1
    DIFFERENCES = 2
    REFUSED = 3
    INCOMPLETE = 4
    USAGE = 64
    INTERRUPTED = 130


class ProxyctlError(Exception):
    """Base of all expected errors: a message, and how to fix it.

    `then`: further lines. A line break inside a text comes from a host or a comment, not from us.
    """

    exit_code: ClassVar[ExitCode] = ExitCode.ERROR

    def __init__(self, message: str, *, then: Iterable[str] = (), fix: str | None = None) -> None:
        self.message = message
        self.then = list(then)
        super().__init__("\n".join([message, *self.then]))
        self.fix = fix

    def lines(self) -> list[str]:
        """Return the text shown to a person, one entry per line."""
        return [self.message, *self.then, *self._fix_lines()]

    def _fix_lines(self) -> list[str]:
        return [f"fix: {self.fix}"] if self.fix else []


class UsageError(ProxyctlError):
    """The command line asks for something that does not exist or does not fit together."""

    exit_code = ExitCode.USAGE


@dataclass(frozen=True, slots=True, order=True)
class Mistake:
    """One mistake in a file.

    Units: line and column count from 1; 0 means that the place inside the file is not known.
    """

    path: str
    line: int
    column: int
    key: str
    message: str
    fix: str | None = None

    def lines(self) -> list[str]:
        """Return `file:line:col: key: what is wrong`, then the fix."""
        place = f"{self.path}:{self.line}:{self.column}: " if self.line else f"{self.path}: "
        key = f"{self.key}: " if self.key else ""
        fix = [f"  fix: {self.fix}"] if self.fix else []
        return [f"{place}{key}{self.message}", *fix]

    def text(self) -> str:
        """Return the lines as one text."""
        return "\n".join(self.lines())


class ConfigError(ProxyctlError):
    """The files cannot be used. Carries all mistakes, sorted by file and line."""

    def __init__(self, mistakes: Iterable[Mistake]) -> None:
        self.mistakes = sorted(mistakes, key=lambda m: (m.path, m.line, m.column, m.key, m.message))
        super().__init__(f"{counted(len(self.mistakes), 'mistake')} in the files")

    def lines(self) -> list[str]:
        """Return every mistake; the summary comes last."""
        return [*(line for mistake in self.mistakes for line in mistake.lines()), self.message]

    def of_whole_file(self) -> ProxyctlError | None:
        """Return the only mistake as an error if it is about a file as a whole, else None."""
        only = self.mistakes[0] if len(self.mistakes) == 1 else None
        if only is None or only.line or only.key:
            return None
        return ProxyctlError(f"{only.path}: {only.message}", fix=only.fix)


class InstanceError(ProxyctlError):
    """The instance cannot be reached, refuses the login, or does not answer as ProxySQL does."""


class ConnectionLostError(InstanceError):
    """The connection broke during a statement: it is not known whether the statement ran."""


class StatementError(InstanceError):
    """ProxySQL answered a statement with an error packet."""

    def __init__(
        self,
        message: str,
        *,
        code: int,
        statement: str,
        then: Iterable[str] = (),
        fix: str | None = None,
    ) -> None:
        super().__init__(message, then=then, fix=fix)
        self.code = code
        self.statement = statement
        """The statement with every literal masked."""


class RefusedError(ProxyctlError):
    """proxyctl refused to act: a guard, pending edits, a stale plan, a lock. Nothing changed."""

    exit_code = ExitCode.REFUSED

    def __init__(
        self, message: str, *, fix: str | None = None, reasons: Iterable[str] = ()
    ) -> None:
        super().__init__(message, fix=fix)
        self.reasons = list(reasons)

    def lines(self) -> list[str]:
        """Return the message, one line per reason, then the fix."""
        reasons = [f"  {reason}" for reason in self.reasons]
        return [self.message, *self.then, *reasons, *self._fix_lines()]


class ApplyError(ProxyctlError):
    """An apply stopped part way and may have changed layers.

    `layers`: the state of the layers by admin module.
    """

    exit_code = ExitCode.INCOMPLETE
    snapshot: str | None = None
    """The snapshot of the state before the apply."""

    def __init__(
        self,
        message: str,
        *,
        then: Iterable[str] = (),
        fix: str | None = None,
        layers: Iterable[str] = (),
    ) -> None:
        super().__init__(message, then=then, fix=fix)
        self.layers = list(layers)

    def lines(self) -> list[str]:
        """Return the message, what each layer holds now, then the fix."""
        layers = [f"  {layer}" for layer in self.layers]
        return [self.message, *self.then, *layers, *self._fix_lines()]


class InterruptedApplyError(ApplyError):
    """An apply was interrupted from the keyboard."""

    exit_code = ExitCode.INTERRUPTED


class InternalError(ProxyctlError):
    """A broken invariant or an unexpected exception: a bug in proxyctl."""


def error_texts(error: BaseException) -> list[str]:
    """Return the lines of any error, without a fix; the first one is the message."""
    if isinstance(error, KeyboardInterrupt):
        return ["interrupted"]
    if isinstance(error, ProxyctlError):
        return [error.message, *error.then]
    return [f"internal error, a bug in proxyctl: {bug_text(error)}"]


def unexpected(error: Exception, *, is_debug: bool) -> ProxyctlError:
    """Return the error to report for an exception that nothing caught."""
    if isinstance(error, PermissionError) and error.filename:
        # `Path.exists` raises this for a file in a folder that cannot be read.
        return ProxyctlError(
            f"{os.fsdecode(error.filename)}: {os_reason(error)}", fix=os_fix(error)
        )
    return InternalError(
        error_texts(error)[0],
        fix=f"{'' if is_debug else 'run again with --debug and '}report the output: it contains no"
        " passwords",
    )
