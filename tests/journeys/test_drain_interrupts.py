"""What cuts off a drain or a restore, at any statement, leaves nothing half done unsaid."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.faults.proxy import Exchange, Fault, FaultyProxy, Place
from tests.faults.wire import error_packet
from tests.support.cli import Outcome, Project, proxyctl
from tests.support.servers import Instance

FILES = """\
version: 1
mysql_servers:
  - {hostgroup_id: 10, hostname: db1, weight: 5}
  - {hostgroup_id: 10, hostname: db2}
"""
EVERY = 3
"""One statement in so many is tried. With 1, all of them."""
LAST = 3
"""So many at the end are tried in any case."""
LAYERS = ("runtime_mysql_servers", "mysql_servers", "disk.mysql_servers")


@pytest.fixture
def proxy(project: Project, instance: Instance) -> Iterator[FaultyProxy]:
    """An instance that holds the servers of the files, behind a proxy that counts."""
    with FaultyProxy(instance.host, instance.port) as running:
        project.connect(instance)
        project.write(FILES)
        assert proxyctl("apply", "--auto-approve").code == 0
        project.connect(replace(instance, host="127.0.0.1", port=running.port))
        yield running


def layers(instance: Instance) -> list[list[tuple[str | None, ...]]]:
    return [
        instance.query(f"SELECT * FROM {table} ORDER BY hostgroup_id, hostname") for table in LAYERS
    ]


def status(instance: Instance) -> str | None:
    return instance.query("SELECT status FROM runtime_mysql_servers WHERE hostname='db2'")[0][0]


def ended(exchange: Exchange) -> None:
    """Answer the statement, and end the process that sent it as a pipeline does."""
    answer = exchange.ask()
    os.kill(os.getpid(), signal.SIGTERM)
    exchange.deliver(answer)


def lost(exchange: Exchange) -> None:
    """Let the statement run, and the connection break before its answer."""
    exchange.ask()
    exchange.hang_up()


def refused(exchange: Exchange) -> None:
    """Let ProxySQL answer that it could not."""
    exchange.deliver(error_packet("a fault of the test"))


def statements(proxy: FaultyProxy, first: str, last: str, *arguments: str) -> list[Place]:
    """Return places of a run from the first statement with a text to the last with another.

    Before, a signal ends the process at once with nothing to put back. One statement in so many,
    and the last ones: those come when all is done.
    """
    proxy.arm({})
    assert proxyctl(*arguments).code == 0
    proxy.settle()
    begin = next(n for n, (_, sql) in enumerate(proxy.log) if first in sql)
    end = max(n for n, (_, sql) in enumerate(proxy.log) if last in sql)
    places = [place for place, _ in proxy.log[begin : end + 1]]
    assert len(places) > 10
    return [*dict.fromkeys([*places[::EVERY], *places[-LAST:]])]


def drained_once() -> None:
    """Drain and restore it: there are as many statements each time once the record is there."""
    for command in ("drain", "restore"):
        assert proxyctl("nodes", command, "db2").code == 0


def with_fault(proxy: FaultyProxy, place: Place, fault: Fault, *arguments: str) -> Outcome:
    proxy.arm({place: fault})
    outcome = proxyctl(*arguments)
    proxy.arm({})
    return outcome


@pytest.mark.parametrize("fault", [ended, lost, refused])
def test_a_drain_that_is_cut_off_is_taken_back_or_said(
    proxy: FaultyProxy, instance: Instance, fault: Fault
) -> None:
    before = layers(instance)
    drain = ("nodes", "drain", "db2", "--no-wait")
    drained_once()
    places = statements(proxy, "INTO proxyctl_drains", "FROM proxyctl_drains", *drain)
    for place in places:
        assert proxyctl("nodes", "restore", "db2").code == 0
        assert layers(instance) == before
        outcome = with_fault(proxy, place, fault, *drain)
        record = instance.query("SELECT is_done FROM proxyctl_drains")
        if outcome.code == 0:  # held back until the drain was done, or the answer was not needed
            assert (status(instance), record) == ("OFFLINE_SOFT", [("1",)]), place
            continue
        assert outcome.code in ((130,) if fault is ended else (1, 4)), (place, outcome.text)
        assert "nothing was changed" not in outcome.text, place
        assert "run of apply" not in outcome.text, place
        if outcome.code == 1 or not record:
            assert layers(instance) == before, (place, outcome.text)
        if record:
            assert "nodes restore db2:3306 puts it back" in outcome.text, place


def test_a_wait_that_is_cut_off_says_that_the_node_was_drained(
    proxy: FaultyProxy, instance: Instance
) -> None:
    """With 1 it would say that nothing was changed."""
    drain, counts = ("nodes", "drain", "db2", "--format", "json"), "stats_mysql_connection_pool"
    drained_once()
    place = statements(proxy, "INTO proxyctl_drains", counts, *drain)[-1]
    assert proxyctl("nodes", "restore", "db2").code == 0
    outcome = with_fault(proxy, place, lost, *drain)
    assert outcome.code == 4, outcome.text
    assert "db2:3306 was drained; whether it is in use is not known" in outcome.err
    assert "run the command again to go on waiting" in outcome.err
    assert (outcome.json["unused"], outcome.json["in_use"]) == (False, None)
    assert outcome.json["drain"]["is_done"] is True
    assert status(instance) == "OFFLINE_SOFT"


@pytest.mark.parametrize("fault", [ended, lost, refused])
def test_a_restore_that_is_cut_off_says_where_it_stands(
    proxy: FaultyProxy, instance: Instance, fault: Fault
) -> None:
    before = layers(instance)
    restore = ("nodes", "restore", "db2")
    assert proxyctl("nodes", "drain", "db2").code == 0
    places = statements(proxy, "UPDATE proxyctl_lock", "DELETE FROM proxyctl_drains", *restore)
    for place in places:
        assert proxyctl("nodes", "drain", "db2").code == 0
        outcome = with_fault(proxy, place, fault, *restore)
        record = instance.query("SELECT is_done FROM proxyctl_drains")
        if outcome.code == 0:
            assert (layers(instance), record) == (before, []), place
            continue
        assert outcome.code in ((130,) if fault is ended else (1, 4)), (place, outcome.text)
        assert "nothing was changed" not in outcome.text, place
        assert "run of apply" not in outcome.text, place
        if outcome.code == 1:  # stopped before the LOAD
            assert (status(instance), record) == ("OFFLINE_SOFT", [("1",)]), place
        if "everything was restored" in outcome.text:
            assert (status(instance), record) == ("OFFLINE_SOFT", [("1",)]), place
        if not record:
            assert "is not drained" in outcome.text, (place, outcome.text)
            assert layers(instance) == before, place
        assert proxyctl("nodes", "restore", "db2").code == 0, place
        assert layers(instance) == before, place
