"""Samples of a Galera family's placement at RUNTIME, as frequent as possible."""

from __future__ import annotations

import threading
import time
from typing import Self

from tests.support.servers.instances import Instance
from tests.support.waiting import until

Placement = dict[int, set[tuple[str, str]]]
"""Host and status of every server, by hostgroup."""


def placement(instance: Instance, *, usable: bool = False) -> Placement:
    """Return the hosts by hostgroup, without servers that drain their last connections.

    `usable`: only servers whose limits allow new connections.
    """
    and_usable = " AND max_connections>0 AND weight>0" if usable else ""
    found: Placement = {10: set(), 20: set(), 30: set(), 40: set()}
    for hostgroup, host, status in instance.query(
        "SELECT hostgroup_id, hostname, status FROM runtime_mysql_servers"
        f" WHERE status<>'OFFLINE_HARD'{and_usable}"
    ):
        found.setdefault(int(hostgroup or 0), set()).add((host or "", status or ""))
    return found


def online(found: set[tuple[str, str]]) -> set[str]:
    """Return the hosts that serve."""
    return {host for host, status in found if status == "ONLINE"}


def settle(instance: Instance, hosts: list[str]) -> None:
    """Wait until the monitor has one writer and the others are readers."""

    def is_settled() -> bool:
        now = placement(instance)
        return len(online(now[10])) == 1 and len(online(now[30])) == len(hosts) - 1

    until(is_settled, what="the monitor did not settle")


class Sampler:
    """Reads RUNTIME every few milliseconds, on a connection of its own, until the context ends."""

    def __init__(self, instance: Instance, *, usable: bool = False) -> None:
        self._usable = usable
        self._instance = Instance(
            instance.host, instance.port, user=instance.user, password=instance.password
        )
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.samples: list[Placement] = []

    def _run(self) -> None:
        while not self._stop.is_set():
            self.samples.append(placement(self._instance, usable=self._usable))
            time.sleep(0.005)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop.set()
        self._thread.join()
        self._instance.close()

    def check(self) -> None:
        """Assert that every sample has one writer, and a reader.

        Raises: AssertionError.
        """
        assert len(self.samples) > 20
        for sample in self.samples:
            assert len(online(sample[10])) == 1, sample
            assert online(sample[30]), sample
