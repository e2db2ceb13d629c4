"""The records that proxyctl logs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def logged(
    receive: Callable[[logging.LogRecord], object], name: str, level: int = logging.DEBUG
) -> Iterator[None]:
    """Pass each record of a logger and of those below it to a function while the block runs."""
    logger, handler = logging.getLogger(name), logging.Handler()
    before, handler.emit = logger.level, receive
    logger.addHandler(handler)
    logger.setLevel(level)
    try:
        yield
    finally:
        logger.setLevel(before)
        logger.removeHandler(handler)
