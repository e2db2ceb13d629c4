"""Edits that somebody makes while `nodes drain` moves the writer, neither before nor after.

The drain goes by a proxy that holds its answer back until the edits are made.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.faults.proxy import FaultyProxy
from tests.support.servers import Instance

_FIRST_OF_THE_WAIT = "'mysql-monitor_galera_healthcheck_interval'"
"""What a drain asks for behind its first LOAD, with MEMORY as it was: how long to wait at least."""


@contextmanager
def edited_meanwhile(here: Instance, *statements: str) -> Iterator[int]:
    """Run these once the weights that move the writer are loaded, and MEMORY is as it was.

    Commands go by the proxy. Yields its port, for who connects by himself.
    """
    loads: list[str] = []
    edited: list[str] = []

    def edit(_connection: int, sql: str, _answer: bytes) -> None:
        if sql == "LOAD MYSQL SERVERS TO RUNTIME":
            loads.append(sql)
        elif loads and not edited and _FIRST_OF_THE_WAIT in sql:
            edited.append(sql)
            for one in statements:
                here.execute(one)

    with FaultyProxy(here.host, here.port) as proxy, pytest.MonkeyPatch.context() as patched:
        proxy.watch = edit
        patched.setenv("PROXYCTL_PORT", str(proxy.port))
        yield proxy.port
        proxy.settle()
    assert edited, "the drain did not wait for another writer"
