"""A day of three ProxySQL without disks, a watch that keeps them at the files, and their clients.

In each chapter something happens. Log, metrics and clients then have to say what it was, and
nothing else. DAY_MINUTES is the length of the day: without it, the test is skipped.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.real.day.clients import Scraper, Traffic
from tests.real.day.fleet import LOGIN, Fleet, running_fleet
from tests.real.day.story import Day
from tests.real.watched_pods import GRACE_S, HAND_EDIT, Pod, uptime
from tests.support.commands.cli import Project
from tests.support.servers.mariadb import MISSING
from tests.support.waiting import until

MINUTES = os.environ.get("DAY_MINUTES")
pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not MINUTES, reason="it takes twenty minutes: make test-day"),
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]

CHAPTERS = 9
FILLED = ("differs", "applied")
HEALED = ("edited", "differs", "applied")


@pytest.fixture
def fleet(offline: Project, tmp_path: Path) -> Iterator[Fleet]:
    with running_fleet(offline, tmp_path) as found:
        yield found


@pytest.fixture
def day(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> Iterator[Day]:
    with Scraper(fleet.watcher) as scraper:
        made = Day(60 * float(MINUTES or 0), CHAPTERS, fleet.watcher, scraper)
        yield made
    with capsys.disabled():
        print(f"\n{made.table()}")  # noqa: T201


def test_a_day(fleet: Fleet, day: Day) -> None:
    first, second, third = fleet.pods
    with ExitStack() as clients:
        pods_are_filled(fleet, day, clients)
        a_pod_is_replaced(fleet, day, first)
        a_pod_is_edited(fleet, day, second)
        files_are_broken_and_repaired(fleet, day)
        a_change_is_refused(fleet, day)
        the_writer_is_lost(fleet, day)
        the_watch_is_killed(fleet, day, third)
    assert len(day.rows) == CHAPTERS
    assert fleet.watcher.end(signal.SIGTERM) == 0
    assert fleet.watcher.events(None)[-1] == "stopped"


def pods_are_filled(fleet: Fleet, day: Day, clients: ExitStack) -> None:
    says = {None: ["serving"], **fleet.of_all(*FILLED)}
    with day.chapter("a watch finds three empty pods; clients come", says):
        fleet.commit()
        fleet.watcher.start()
        day.hears(fleet.addresses, *FILLED)
        day.sees(*((("instance_state", pod.address, "in_sync"), 1) for pod in fleet.pods))
        fleet.wait_for(fleet.writer, fleet.reader)
        for pod in fleet.pods:
            day.traffic[pod.address] = clients.enter_context(Traffic(pod, **LOGIN))


def a_pod_is_replaced(fleet: Fleet, day: Day, pod: Pod) -> None:
    says = {pod.address: ("unreachable", *FILLED)}
    with day.chapter("a pod is killed, an empty one comes", says, harmed=[pod.address]):
        pod.kill()
        pod.instance.close()
        day.hears([pod.address], "unreachable")
        day.sees((("instance_up", pod.address), 0))
        pod.start(initial=True)
        day.hears([pod.address], *FILLED)
        in_sync = ("instance_state", pod.address, "in_sync")
        day.sees((("instance_up", pod.address), 1), (in_sync, 1))
        fleet.wait_for(fleet.writer, fleet.reader)


def a_pod_is_edited(fleet: Fleet, day: Day, pod: Pod) -> None:
    with day.chapter("somebody edits a pod by hand", {pod.address: HEALED}):
        pod.instance.execute(*HAND_EDIT)
        is_healed(day, pod)


def is_healed(day: Day, pod: Pod) -> None:
    """Wait until the watch takes a hand edit back."""
    in_sync = ("instance_in_sync", pod.address, "MYSQL SERVERS")
    day.sees((("instance_state", pod.address, "edited"), 1), (in_sync, 0))
    day.hears([pod.address], *HEALED)
    day.sees((in_sync, 1))
    assert pod.instance.query("SELECT DISTINCT weight FROM runtime_mysql_servers") == [("100",)]


def files_are_broken_and_repaired(fleet: Fleet, day: Day) -> None:
    with day.chapter("a commit breaks the files", {None: ["files_invalid"]}):
        fleet.commit("default_hostgroup", "defualt_hostgroup")
        day.hears([None], "files_invalid")
        day.sees((("files_valid",), 0), (("files_mistakes",), 1))
        line = fleet.watcher.lines()[-1]
        assert line["details"][0].startswith("proxyctl.yaml:7:"), line

    says = {None: ["files_valid"], **fleet.of_all(*FILLED)}
    with day.chapter("the next one is right, and changes limits", says):
        fleet.commit("max_connections: 200", "max_connections: 150")
        day.hears(fleet.addresses, *FILLED)
        day.sees((("files_valid",), 1))
        assert fleet.limits() == {("150",)}


def a_change_is_refused(fleet: Fleet, day: Day) -> None:
    says = fleet.of_all("refused", *FILLED)
    with day.chapter("a guard refuses a commit, which is then taken back", says):
        fleet.commit("destination_hostgroup: 20", "destination_hostgroup: 30")
        day.hears(fleet.addresses, "refused")
        refusals = [("instance_refusals", pod.address, "empty_hostgroup") for pod in fleet.pods]
        day.sees(*((refusal, 1) for refusal in refusals))
        assert fleet.limits() == {("150",)}
        fleet.commit()
        day.hears(fleet.addresses, *FILLED)
        day.sees(*((refusal, None) for refusal in refusals))
        assert fleet.limits() == {("200",)}


def the_writer_is_lost(fleet: Fleet, day: Day) -> None:
    """The monitors move servers, and the watch leaves them there."""
    stays = [(("instance_state", address, "in_sync"), 1) for address in fleet.addresses]
    with day.chapter(
        "the writer is lost, the reader takes over", {}, harmed=day.traffic, stays=stays
    ):
        fleet.writer.kill()
        fleet.reader.run("SET GLOBAL read_only = 0")
        fleet.wait_for(fleet.reader, fleet.reader)

    says = fleet.of_all(*FILLED)
    with day.chapter("it comes back as a reader; a commit changes limits", says):
        fleet.writer.start("--read-only")
        fleet.wait_for(fleet.reader, fleet.reader, fleet.writer)
        fleet.commit("max_connections: 200", "max_connections: 180")
        day.hears(fleet.addresses, *FILLED)
        fleet.wait_for(fleet.reader, fleet.reader, fleet.writer)
        assert fleet.limits() == {("180",)}


def the_watch_is_killed(fleet: Fleet, day: Day, edited: Pod) -> None:
    others = [pod for pod in fleet.pods if pod is not edited]
    says = {None: ["serving"], edited.address: HEALED}
    says |= {pod.address: ("in_sync",) for pod in others}
    with day.chapter(
        "the watch is killed; an edit; it starts again", says, harmed=[edited.address]
    ):
        assert fleet.watcher.end(signal.SIGKILL) == -signal.SIGKILL
        day.sees((("watch_rounds_total",), None))
        # Older than the grace: then only an empty instance is known to have no hand edit.
        until(lambda: uptime(edited) > GRACE_S + 1)
        # By hand, a LOAD also makes the server that came back the writer, which it must not be.
        edited.instance.execute(*HAND_EDIT)
        fleet.wait_for(fleet.reader, fleet.reader, fleet.writer)
        day.recovers()
        fleet.watcher.start()
        is_healed(day, edited)
        fleet.wait_for(fleet.reader, fleet.reader, fleet.writer)
        applies = [("instance_applies_total", pod.address, "success") for pod in others]
        healed = ("instance_applies_total", edited.address, "success")
        day.sees((healed, 1), *((counter, 0) for counter in applies))
