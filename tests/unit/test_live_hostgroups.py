"""The live view's totals of a hostgroup."""

from __future__ import annotations

from typing import Any

import pytest

from proxyctl.render.live import DIGESTS, SERVERS, arranged
from proxyctl.stats.live.view import Meter, ServerLine, hostgroup_lines
from tests.unit.live_looks import digest_look, entry, look, server


def line(hostgroup: int, name: str, queries_per_s: float | None = 1, **other: Any) -> ServerLine:
    return ServerLine(
        server(hostgroup=hostgroup, hostname=name, **other), queries_per_s, queries_per_s, 2.0, 0.0
    )


def cells(one: ServerLine) -> dict[str, str]:
    return {column.title: column.text(one) for column in SERVERS.columns}


def names(lines: list[ServerLine], order: str) -> list[str]:
    return [cells(row)["server"] for row in arranged(SERVERS, lines, order)]


def table(*servers: ServerLine) -> list[ServerLine]:
    return [*servers, *hostgroup_lines(servers)]


def test_counts_and_rates_of_its_servers_are_added_up() -> None:
    [found] = hostgroup_lines(
        (
            line(20, "a", 10, conn_used=2, conn_free=5, conn_err=1),
            line(20, "b", 5, conn_used=1, conn_free=0, conn_err=2),
            line(20, "c", 0, conn_used=0, conn_free=0, status="SHUNNED"),
        )
    )
    one = found.counters
    assert (found.online, found.servers) == (2, 3)
    assert (one.conn_used, one.conn_free, one.conn_err) == (3, 5, 3)
    assert (found.queries_per_s, found.sent_per_s, found.recv_per_s) == (15, 15, 6)
    shown = cells(found)
    assert (shown["hg"], shown["server"]) == ("20", "all: 2 online, 1 other")
    assert (shown["used"], shown["free"], shown["q/s"]) == ("3", "5", "15")


def test_a_server_alone_is_its_own_sum() -> None:
    assert hostgroup_lines((line(10, "a"), line(20, "a"))) == ()


def test_a_rate_that_is_not_known_of_all_servers_is_not_known() -> None:
    [found] = hostgroup_lines((line(20, "a", 10), line(20, "new", None)))
    assert found.queries_per_s is None
    assert cells(found)["q/s"] == "-"


def test_a_hostgroup_precedes_its_servers_or_comes_last() -> None:
    lines = table(line(20, "a", 5), line(20, "b", 9), line(10, "c", 1))
    everything = "all: 2 online"
    assert names(lines, "hg") == ["c:3306", everything, "a:3306", "b:3306"]
    assert names(lines, "q/s") == ["b:3306", "a:3306", "c:3306", everything]
    assert names(lines, "server") == ["a:3306", "b:3306", "c:3306", everything]


@pytest.mark.parametrize(
    ("statuses", "kind"),
    [(("ONLINE", "SHUNNED"), "bold"), (("SHUNNED", "OFFLINE_SOFT"), "refuse")],
)
def test_a_hostgroup_without_an_online_server_is_highlighted(
    statuses: tuple[str, str], kind: str
) -> None:
    [found] = hostgroup_lines([line(20, name, status=name) for name in statuses])
    assert SERVERS.kind(found) == kind


def test_hostgroups_show_their_names_from_the_files() -> None:
    servers = tuple(server(hostgroup=20, hostname=name) for name in ("a", "b"))
    digests = digest_look(0, entry(hostgroup=20), entry(hostgroup=-1))
    meter = Meter("shop", "127.0.0.1:6032", {20: "reader"})
    found = meter.advance(look(0, servers=servers, digests=digests), "2.7.1")
    [everything] = found.hostgroups
    assert cells(everything)["server"] == "reader: 2 online"
    for row in (everything, *found.servers):
        assert dict(SERVERS.details(row))["hostgroup"] == "20 (reader)"
    shown = [dict(DIGESTS.details(row))["hostgroup"] for row in found.digests.lines]
    assert shown == ["20 (reader)", "query cache"]
