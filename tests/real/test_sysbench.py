"""top and digest report on a real ProxySQL show the numbers that sysbench counted."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterator

import pytest

from proxyctl.cli.top.app import TopApp
from proxyctl.instance.client import AdminClient
from proxyctl.instance.connect import Login
from proxyctl.stats.live.read import Looker
from proxyctl.stats.live.view import Meter, View
from tests.support.paths import ROOT
from tests.support.servers.instances import ProxySQL
from tests.support.servers.mariadb import MISSING, running_sysbench, sysbench, sysbench_rig

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
    [rule] = [rule for rule in view.rules.rules if rule.rule_id == rule_id]
    return rule.hits


def test_rates_are_what_sysbench_sent(proxysql: ProxySQL, client: AdminClient) -> None:
    watcher = Watcher(client)
    first = watcher.look()
    before = watcher.look()  # which knows how long the digests took
    time.sleep(before.look.state.every_s or 0)  # until it is their turn again
    output = sysbench(proxysql.traffic_port, "--time=60", "--events=40", "run")
    queries, reads = (
        int(re.search(rf"{name}: +(\d+)", output)[1])  # type: ignore[index]
        for name in ("queries", "read")
    )
    view = watcher.look()
    last, now = before.look.digests or first.look.digests, view.look.digests
    assert last is not None
    assert now is not None
    calls = {
        line.text: round((line.calls_per_s or 0) * (now.taken_at - last.taken_at))
        for line in view.digests.lines
        if line.calls_per_s
    }
    assert sum(calls.values()) == queries
    assert calls["COMMIT"] == calls["BEGIN"] == 40
    assert sum(line.share or 0 for line in view.digests.lines) == pytest.approx(1)
    assert view.per_s("Questions") is not None
    assert view.span_s is not None
    assert round(view.per_s("Questions") * view.span_s) >= queries
    by_hostgroup = {
        server.counters.hostgroup: round((server.queries_per_s or 0) * view.span_s)
        for server in view.servers
        if server.counters.hostname == "127.0.0.1"
    }
    assert by_hostgroup[20] == reads
    deadline = time.monotonic() + 30  # they come late
    while hits(view, 200) - hits(before, 200) != reads:
        assert time.monotonic() < deadline
        view = watcher.look()
    [resting] = [server for server in view.servers if server.counters.hostname == "127.0.0.2"]
    assert resting.counters.status == "OFFLINE_SOFT"


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
            if seen == "restart" and any(view.was_restarted for view in views):
                return
            assert time.monotonic() < deadline, views[-1:]
            await asyncio.sleep(0.02)

    async def story() -> None:
        async with app.run_test(size=(80, 24)):
            with running_sysbench(proxysql.traffic_port, "--rate=20"):
                await until_seen("rates")
            await asyncio.sleep(5)  # a start within three seconds of the last one is none
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
            *(server.queries_per_s for server in view.servers),
            *(line.calls_per_s for line in view.digests.lines),
            *(rule.per_s for rule in view.rules.rules),
        ]
        assert all(rate is None or rate >= 0 for rate in rates)


def test_the_picture_loads_nothing() -> None:
    picture = (ROOT / "docs" / "pictures" / "top.svg").read_text(encoding="utf-8")
    assert "@font-face" not in picture
    assert "url(" not in picture.replace("url(#", "")
