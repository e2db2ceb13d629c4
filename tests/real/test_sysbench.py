"""top and digest report on a real ProxySQL: their numbers are those that sysbench counted."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from proxyctl.cli.top.app import TopApp
from proxyctl.instance.client import AdminClient
from proxyctl.instance.connect import Login
from proxyctl.stats.digest_file import read_digest_file
from proxyctl.stats.live.read import Looker
from proxyctl.stats.live.view import Meter, View
from proxyctl.stats.report import make_report
from tests.docs.pictures import TOP
from tests.support.cli import Project, proxyctl
from tests.support.mariadb_server import MISSING, running_sysbench, sysbench, sysbench_rig
from tests.support.servers import ProxySQL
from tests.support.waiting import until

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]


@pytest.fixture(scope="module")
def proxysql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProxySQL]:
    with sysbench_rig(tmp_path_factory.mktemp("top")) as (server, _):
        yield server


@pytest.fixture
def client(proxysql: ProxySQL) -> Iterator[AdminClient]:
    with AdminClient(Login(port=proxysql.port, password="admin")) as opened:
        yield opened


class Watcher:
    """Looks on demand."""

    def __init__(self, client: AdminClient) -> None:
        self._client = client
        self._looker = Looker(client)
        self._meter = Meter("real", client.address)

    def look(self) -> View:
        return self._meter.advance(self._looker.look(0.0), self._client.version_text)


def hits(view: View, rule_id: int) -> int:
    [rule] = [one for one in view.rules.rules if one.rule_id == rule_id]
    return rule.hits


def test_rates_are_what_sysbench_sent(proxysql: ProxySQL, client: AdminClient) -> None:
    watcher = Watcher(client)
    first = watcher.look()
    before = watcher.look()  # which knows how long the digests took
    time.sleep(before.look.state.every_s or 0)  # until it is their turn again
    said = sysbench(proxysql.traffic_port, "--time=60", "--events=40", "run")
    queries, reads = (
        int(re.search(rf"{name}: +(\d+)", said)[1])  # type: ignore[index]
        for name in ("queries", "read")
    )
    view = watcher.look()
    last, now = before.look.digests or first.look.digests, view.look.digests
    assert last is not None
    assert now is not None
    calls = {
        one.text: round((one.calls_per_s or 0) * (now.taken_at - last.taken_at))
        for one in view.digests.lines
        if one.calls_per_s
    }
    assert sum(calls.values()) == queries
    assert calls["COMMIT"] == calls["BEGIN"] == 40
    assert sum(one.share or 0 for one in view.digests.lines) == pytest.approx(1)
    assert view.per_s("Questions") is not None
    assert view.span_s is not None
    assert round(view.per_s("Questions") * view.span_s) >= queries
    by_hostgroup = {
        one.counters.hostgroup: round((one.queries_per_s or 0) * view.span_s)
        for one in view.servers
        if one.counters.hostname == "127.0.0.1"
    }
    assert by_hostgroup[20] == reads
    deadline = time.monotonic() + 30  # they come late
    while hits(view, 200) - hits(before, 200) != reads:
        assert time.monotonic() < deadline
        view = watcher.look()
    [resting] = [one for one in view.servers if one.counters.hostname == "127.0.0.2"]
    assert resting.counters.status == "OFFLINE_SOFT"


def send(proxysql: ProxySQL, events: int) -> None:
    sysbench(proxysql.traffic_port, "--time=600", f"--events={events}", "run")


def snapshot(proxysql: ProxySQL, name: str) -> tuple[int, int]:
    """Take one, in a second of its own; return the sums that the admin interface has itself."""
    assert proxyctl("digest", "snapshot", "-o", name).code == 0
    clock = "SELECT strftime('%s','now')"
    taken = proxysql.instance.query(clock)
    [row] = proxysql.instance.query(
        "SELECT sum(count_star), sum(sum_time) FROM stats_mysql_query_digest"
    )
    until(lambda: proxysql.instance.query(clock) != taken)
    return int(row[0] or 0), int(row[1] or 0)


def test_a_report_between_snapshots_has_the_sums_of_the_admin_interface(
    proxysql: ProxySQL, offline: Project
) -> None:
    offline.connect(proxysql.instance)
    send(proxysql, 10)
    first = snapshot(proxysql, "1.gz")
    send(proxysql, 40)
    second = snapshot(proxysql, "2.gz")
    send(proxysql, 20)
    third = snapshot(proxysql, "3.gz")
    said = proxyctl("digest", "report", "1.gz", "2.gz", "3.gz", "-o", "report.html")
    report = make_report([read_digest_file(Path(name)) for name in ("1.gz", "2.gz", "3.gz")])
    total = report.total
    assert (total.count_star, total.sum_time) == (third[0] - first[0], third[1] - first[1])
    assert [(one.load.count_star, one.load.sum_time) for one in report.intervals] == [
        (second[0] - first[0], second[1] - first[1]),
        (third[0] - second[0], third[1] - second[1]),
    ]
    assert not any(one.is_cleared for one in report.intervals)
    assert sum(one.load.sum_time for one in report.digests) == total.sum_time
    assert f"{report.count} digests reported in report.html" in said.err
    page = Path("report.html").read_text(encoding="utf-8")
    assert "Load over time" in page
    assert f"{total.count_star:,}" in page


def test_a_restart_is_seen_and_gives_no_negative_rates(proxysql: ProxySQL) -> None:
    login = Login(port=proxysql.port, password="admin")
    app = TopApp(AdminClient(login), 0.5)
    views: list[View] = []

    async def until_seen(seen: str) -> None:
        deadline = time.monotonic() + 120
        while True:
            if app.view is not None and (not views or views[-1] is not app.view):
                views.append(app.view)
            if seen == "rates" and views and views[-1].per_s("Questions"):
                return
            if seen == "restart" and any(one.was_restarted for one in views):
                return
            assert time.monotonic() < deadline, views[-1:]
            await asyncio.sleep(0.02)

    async def story() -> None:
        async with app.run_test(size=(80, 24)):
            with running_sysbench(proxysql.traffic_port, "--rate=20"):
                await until_seen("rates")
            await asyncio.to_thread(proxysql.restart)
            await until_seen("restart")
            del views[:]
            with running_sysbench(proxysql.traffic_port, "--rate=20"):
                await until_seen("rates")

    asyncio.run(story())
    assert app.failure is None
    for view in views:
        rates = [
            view.per_s("Questions"),
            *(one.queries_per_s for one in view.servers),
            *(one.calls_per_s for one in view.digests.lines),
            *(one.per_s for one in view.rules.rules),
        ]
        assert all(rate is None or rate >= 0 for rate in rates)


def test_the_picture_loads_nothing() -> None:
    picture = TOP.read_text(encoding="utf-8")
    assert "@font-face" not in picture
    assert "url(" not in picture.replace("url(#", "")
