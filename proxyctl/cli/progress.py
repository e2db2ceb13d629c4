"""A progress bar on stderr, where a person looks at it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer

from proxyctl.cli.output import is_terminal


@contextmanager
def progress(label: str, total: int) -> Iterator[Callable[[int], None]]:
    """Yield what is to be told how much is done; it shows nothing where stderr is no terminal."""
    if not is_terminal(sys.stderr) or total == 0:
        yield lambda _done: None
        return
    with typer.progressbar(length=total, label=label, show_pos=True, file=sys.stderr) as bar:
        yield lambda done: bar.update(done - bar.pos)
