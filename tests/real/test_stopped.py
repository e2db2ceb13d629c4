"""PROXYSQL STOP leaves the admin interface open: a read of the rules at RUNTIME would end it."""

from __future__ import annotations

import socket
import time
from contextlib import suppress

import pytest

from tests.support.commands.cli import Outcome, Project, proxyctl
from tests.support.commands.story import FILES, ended
from tests.support.servers.instances import ProxySQL
from tests.support.waiting import until

pytestmark = pytest.mark.real


def answered(*command: str) -> Outcome:
    """Run a command again while the admin interface refuses connections: for some seconds."""
    for _ in range(100):
        found = proxyctl(*command)
        if "refused" not in found.err and "closed before" not in found.err:
            break
        time.sleep(0.1)
    return found


def listens(port: int) -> bool:
    """Return whether clients can connect: the last step of a start."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False


def test_a_stopped_proxysql_is_not_read(fresh_proxysql: ProxySQL, offline: Project) -> None:
    instance = fresh_proxysql.instance
    offline.connect(instance)
    offline.write(FILES)
    assert proxyctl("apply", "--auto-approve").code == 0
    with suppress(Exception):
        instance.execute("PROXYSQL STOP")
    instance.close()
    for command in (
        "plan",
        "drift",
        "apply --auto-approve",
        "export",
        "doctor",
        "nodes list",
        "rules",
        "digest top",
        "digest snapshot",
        "digest reset --auto-approve",
    ):
        found = answered(*command.split())
        ended(found, 1, "received PROXYSQL STOP", "send PROXYSQL START")
    instance.execute("PROXYSQL START")
    instance.close()
    until(lambda: listens(fresh_proxysql.traffic_port))
    found = answered("plan")
    assert found.code == 0, found.text
