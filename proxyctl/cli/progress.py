"""A progress bar on stderr, where a person looks at it."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Self

from proxyctl.cli.output import is_terminal

_WIDTH = 30


class Progress:
    """Shows how much of something is done; nothing where stderr is no terminal.

    Call it with the number that is done. At the end the line is wiped out.
    """

    def __init__(self, label: str, total: int, noun: str) -> None:
        self._label = label
        self._total = total
        self._noun = noun
        self._is_shown = is_terminal(sys.stderr) and total > 0
        self._percent = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._is_shown and self._percent >= 0:
            self._write("\r\x1b[K")

    def __call__(self, done: int) -> None:
        """Show how much is done, if that is another percentage than before."""
        if not self._is_shown:
            return
        percent = done * 100 // self._total
        if percent == self._percent:
            return
        self._percent = percent
        bar = "#" * (_WIDTH * percent // 100)
        self._write(
            f"\r{self._label} [{bar:<{_WIDTH}}] {percent:>3}%  {done:,} of {self._total:,}"
            f" {self._noun}"
        )

    def _write(self, text: str) -> None:
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except OSError:
            self._is_shown = False  # nobody looks any more
