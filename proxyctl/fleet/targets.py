"""The instances of a command, and the same work on each of them."""

from __future__ import annotations

import logging
import queue
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from proxyctl.config.files import ConfigFiles, Instance
from proxyctl.errors import InstanceError, ProxyctlError, traceback_lines, unexpected
from proxyctl.fleet.failed import Failed
from proxyctl.instance.client import AdminClient
from proxyctl.instance.connect import Login
from proxyctl.text import os_reason

_LOGGER = logging.getLogger(__name__)

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, eq=False)
class Target:
    """One instance, and the files to compile for it."""

    login: Login
    """The instance."""
    files: ConfigFiles
    """The files, as rendered with the `vars` of the instance."""

    @property
    def name(self) -> str:
        """The name in the files, or the address."""
        return self.login.name or self.login.address

    def connect(self) -> AdminClient:
        """Open a connection. Raises: InstanceError; ConfigError for files that cannot be read."""
        self.files.raise_if_misread()
        return AdminClient(self.login)

    def expected_error(self, error: Exception) -> ProxyctlError:
        """Return an exception as a ProxyctlError; log the traceback of a bug."""
        if isinstance(error, ProxyctlError):
            return error
        is_debug = _LOGGER.isEnabledFor(logging.DEBUG)
        if is_debug:
            for line in traceback_lines(error):
                _LOGGER.debug("%s: %s", self.name, line)
        return unexpected(error, is_debug=is_debug)


def addresses(name: str) -> list[str]:
    """Return the IPv4 and IPv6 addresses of a DNS name, sorted. Raises: InstanceError."""
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise InstanceError(
            f"{name} has no address: {os_reason(error) if isinstance(error, OSError) else error}",
            fix=f"check whether the name resolves here: getent ahosts {name}",
        ) from error
    return sorted({str(address[0]) for *_, address in found})


def resolved(
    instances: Iterable[Instance],
    look_up: Callable[[str], list[str]] = addresses,
    unresolved: dict[str, InstanceError] | None = None,
) -> tuple[Instance, ...]:
    """Return the instances of the files; one with `dns` becomes one for each address.

    `look_up`: returns the addresses of a name. `unresolved`: receives the names without any; None
    raises. Raises: InstanceError.
    """
    found: list[Instance] = []
    for instance in instances:
        if instance.dns is None:
            found.append(instance)
            continue
        try:
            found_addresses = look_up(instance.dns)
        except InstanceError as error:
            if unresolved is None:
                raise
            unresolved[instance.dns] = error
        else:
            found += [replace(instance, name=address, host=address) for address in found_addresses]
    return tuple(found)


def at_all(
    targets: Sequence[Target],
    work: Callable[[Target], R],
    *,
    workers: int,
    done: Callable[[int], None] = lambda _count: None,
) -> tuple[list[R], list[Failed]]:
    """Run work on every instance; return the results and the failures, in the order of targets.

    At most `workers` run at the same time; `done` receives the number of finished instances. An
    unexpected exception at one instance is a failure of that instance alone.
    """
    results: dict[Target, R | BaseException] = {}
    for count, (target, result) in enumerate(_at_once(targets, work, workers=workers), 1):
        results[target] = result
        done(count)
    good: list[R] = []
    failed: list[Failed] = []
    for target in targets:
        result = results[target]
        if isinstance(result, Exception):
            error = target.expected_error(result)
            failed.append(Failed(target.name, target.login.address, error))
        elif isinstance(result, BaseException):
            raise result
        else:
            good.append(result)
    return good, failed


def _at_once(
    targets: Sequence[T], work: Callable[[T], R], *, workers: int
) -> Iterator[tuple[T, R | BaseException]]:
    """Yield each target with the result or the exception of its work, in the order of completion.

    The threads are daemons: an instance that hangs does not keep the process alive.
    """
    waiting: queue.SimpleQueue[T] = queue.SimpleQueue()
    for target in targets:
        waiting.put(target)
    finished: queue.SimpleQueue[tuple[T, R | BaseException]] = queue.SimpleQueue()
    is_over = threading.Event()

    def run() -> None:
        while not is_over.is_set():
            try:
                target = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                finished.put((target, work(target)))
            except BaseException as error:
                finished.put((target, error))

    for _ in range(min(workers, len(targets))):
        threading.Thread(target=run, daemon=True).start()
    try:
        for _ in targets:
            yield finished.get()
    finally:
        is_over.set()
