"""doctor over many instances: servers behind several of them are asked once."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from proxyctl.sandbox import Sandbox
from tests.journeys.test_fleet import listed
from tests.support.cli import Project, proxyctl


class Door:
    """A port that takes connections, counts them, and says nothing."""

    def __init__(self) -> None:
        self.count = 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._socket.getsockname()[1])
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        with suppress(OSError):
            while True:
                taken, _ = self._socket.accept()
                self.count += 1
                taken.close()

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def door() -> Iterator[Door]:
    found = Door()
    yield found
    found.close()


def test_a_shared_server_is_asked_once_with_each_account(offline: Project, door: Door) -> None:
    with Sandbox() as one, Sandbox() as two, Sandbox() as other:
        files = f"""\
version: 1
mysql_servers: [{{hostgroup_id: 10, hostname: 127.0.0.1, port: {door.port}}}]
"""
        offline.write(files + listed([one.port, two.port, other.port]))
        assert proxyctl("apply", "--all", "--auto-approve", "--settle", "0").code == 0
        proxyctl("doctor", "--instance", "px1")
        alone, door.count = door.count, 0
        assert alone
        found = proxyctl("doctor", "--all")
        assert "px1, px2, px3  3 instances alike" in found.out, found.text
        assert door.count == alone

        offline.write("version: 1\nvariables: {mysql-monitor_username: somebody}\n", "other.yaml")
        there = ("--port", str(other.port), "--host", "127.0.0.1", "-f", "other.yaml")
        password = ("--user", "admin", "--password-file", "password")
        offline.write("admin", "password")
        assert proxyctl("apply", "--auto-approve", *there, *password).code == 0
        door.count = 0
        proxyctl("doctor", "--all")
        assert door.count == 2 * alone
