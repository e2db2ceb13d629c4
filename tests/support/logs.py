"""The records that proxyctl logs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class _Receiver(logging.Handler):
    def __init__(self, receive: Callable[[logging.LogRecord], object]) -> None:
        super().__init__()
        self._receive = receive

    def emit(self, record: logging.LogRecord) -> None:
        self._receive(record)


@contextmanager
def logged(
    receive: Callable[[logging.LogRecord], object], name: str, level: int = logging.DEBUG
) -> Iterator[None]:
    """Pass each record of a logger and of those below it to a function while the block runs."""
    logger, handler = logging.getLogger(name), _Receiver(receive)
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(level)
    try:
        yield
    finally:
        logger.setLevel(before)
        logger.removeHandler(handler)
