"""The live view: rates and notes of looks that are made by hand, and the tables it shows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from proxyctl.render.live import (
    DIGESTS,
    SERVERS,
    Arrangement,
    LiveTable,
    arranged,
    bytes_text,
    duration_text,
    instance_parts,
    load_parts,
    part_text,
    short_text,
    size_parts,
)
from proxyctl.stats.live.read import seconds_between, seconds_between_sizes
from proxyctl.stats.live.view import (
    DigestLine,
    DigestLook,
    DigestMeter,
    DigestRates,
    DigestState,
    Look,
    Meter,
    ServerCounters,
    ServerLine,
    View,
    hostgroup_lines,
    notes_of,
)
from proxyctl.stats.model import Load, SeenDigest
from proxyctl.stats.rule_hits import Sample

CLOCK = 1_800_000_000
"""The instance's time at the moment 0 of the looks."""

RULE = {"rule_id": 1, "match_digest": "^SELECT", "destination_hostgroup": 20, "apply": 1}
STATE = DigestState(memory=1_000, look_s=0.1, every_s=2.0, is_rare=False, is_on=True)


def server(**other: Any) -> ServerCounters:
    cells = {
        **{"hostgroup": 10, "hostname": "db1", "port": 3306, "status": "ONLINE"},
        **{"conn_used": 2, "conn_free": 3, "conn_ok": 5, "conn_err": 0, "queries": 100},
        **{"bytes_sent": 1_000, "bytes_recv": 2_000, "latency_us": 400},
    }
    return ServerCounters(**{**cells, **other})


def entry(digest: str = "0x1", count: int = 10, time: int = 1_000, **other: Any) -> SeenDigest:
    cells = {
        **{"hostgroup": 10, "schemaname": "shop", "username": "app", "client_address": ""},
        **{"digest": digest, "digest_text": "SELECT ?", "first_seen": CLOCK - 100},
        **{"last_seen": CLOCK, "min_time": 1, "max_time": time},
    }
    return SeenDigest(**{**cells, **other}, count_star=count, sum_time=time)


def digest_look(
    at: float, *entries: SeenDigest, whole: Load | None = None, is_cut: bool = False
) -> DigestLook:
    everything = Load(
        len(entries), sum(one.count_star for one in entries), sum(one.sum_time for one in entries)
    )
    return DigestLook(
        taken_at=at,
        clock=CLOCK + int(at),
        entries=entries,
        busy=len(entries),
        is_cut=is_cut,
        whole=whole or everything,
    )


def look(at: float, **other: Any) -> Look:
    """A look at a ProxySQL that had been running for 1,000 seconds at the moment 0."""
    counters = {"ProxySQL_Uptime": 1_000 + int(at), **other.pop("counters", {})}
    found: dict[str, Any] = {
        **{"memory": {}, "servers": (server(),), "state": STATE},
        **{"rules": Sample(at, {1: 10}, {1: RULE}, 1, CLOCK)},
        **other,
    }
    return Look(taken_at=at, counters=counters, **found)


def view(*looks: Look) -> View:
    """Return the view of the last look."""
    meter = Meter("shop", "127.0.0.1:6032")
    return [meter.advance(one, "2.7.1") for one in looks][-1]


def test_two_looks_make_rates() -> None:
    found = view(
        look(0, counters={"Questions": 100, "Slow_queries": 1, "Client_Connections_connected": 7}),
        look(2, counters={"Questions": 300, "Slow_queries": 2, "Client_Connections_connected": 8}),
    )
    assert found.span_s == 2
    assert (found.per_s("Questions"), found.per_s("Slow_queries")) == (100, 0.5)
    assert found.look.counters["Client_Connections_connected"] == 8


def test_rates_of_servers_and_rules() -> None:
    found = view(
        look(0),
        look(
            2,
            servers=(server(queries=150, bytes_sent=2_000, conn_err=1), server(hostgroup=20)),
            rules=Sample(2, {1: 30}, {1: RULE}, 1, CLOCK),
        ),
    )
    known, new = found.servers
    assert (known.queries_per_s, known.sent_per_s, known.errors_per_s) == (25, 500, 0.5)
    assert new.queries_per_s is None
    assert [one.per_s for one in found.rules.rules] == [10]


def test_a_server_whose_counters_somebody_reset_has_no_rates_for_once() -> None:
    reset = server(queries=40, bytes_sent=5_000, conn_ok=1)
    found = view(look(0), look(2, servers=(reset,)))
    [line] = found.servers
    assert (line.queries_per_s, line.sent_per_s) == (None, None)


def test_a_restart_begins_all_rates_again() -> None:
    before = look(0, counters={"Questions": 5_000}, digests=digest_look(0, entry(count=9)))
    restarted = replace(
        look(10, digests=digest_look(10, entry(count=50_000))),
        counters={"ProxySQL_Uptime": 4, "Questions": 90_000},
    )
    found = view(before, restarted)
    assert found.was_restarted
    assert found.per_s("Questions") is None
    assert [one.queries_per_s for one in found.servers] == [None]
    assert [one.calls_per_s for one in found.digests.lines] == [None]
    assert list(notes_of(found)) == ["ProxySQL was restarted: rates start over"]


def test_digests_stay_until_it_is_their_turn_again() -> None:
    found = view(look(0, digests=digest_look(0, entry(count=9))), look(2))
    assert [one.count_star for one in found.digests.lines] == [9]


def test_a_slow_table_is_read_less_often_with_a_note() -> None:
    assert seconds_between(2, 0.05) == 2
    assert seconds_between(2, 1.5) == 30
    rare = replace(STATE, look_s=1.5, every_s=30, is_rare=True)
    assert list(notes_of(view(look(0, state=rare)))) == [
        "digests are read every 30 s: one reading takes ProxySQL about 1.50 s"
    ]


def test_the_size_of_the_table_is_asked_for_rarely_where_that_takes_its_time() -> None:
    """Every query waits while ProxySQL adds up: 0.3 s for 300,000 digests."""
    assert seconds_between_sizes(0.001) == 10
    assert seconds_between_sizes(0.02) == 200
    assert seconds_between_sizes(1) == 3_600


def test_reloaded_rules_have_no_rates_but_a_note() -> None:
    found = view(look(0), look(2, rules=Sample(2, {1: 3}, {1: RULE}, 2, CLOCK + 1)))
    assert [one.per_s for one in found.rules.rules] == [None]
    assert list(notes_of(found)) == ["rules were loaded: their hits started at 0 again"]


def text(parts: list[tuple[str, str]]) -> str:
    return "  ".join(f"{label} {value}".strip() for label, value in parts)


def test_the_header_in_80_columns() -> None:
    first = {"Questions": 0, "Slow_queries": 0, "Queries_frontends_bytes_recv": 0}
    second = {
        **{"Questions": 24_690, "Slow_queries": 1, "Queries_frontends_bytes_recv": 2_000_000},
        **{"Client_Connections_connected": 1_200, "Client_Connections_non_idle": 12},
    }
    found = view(
        look(0, counters=first), look(2, counters=second, memory={"jemalloc_resident": 123_000_000})
    )
    assert text(instance_parts(found)) == ("shop  127.0.0.1:6032  ProxySQL 2.7.1  up 16 min 42 s")
    assert text(load_parts(found)) == (
        "queries 12.3k/s  slow 0.50/s  clients 1.20k, 12 active  servers 2 used, 3 free"
    )
    assert text(size_parts(found)) == (
        "in 1.00 MB/s  out -/s  transactions -  memory 123 MB  digests 1.00 kB"
    )
    assert len(text(load_parts(found))) <= 80


def test_names_from_the_server_move_no_cursor() -> None:
    found = view(look(0))
    evil = replace(found, name="a\x1b[2J", version="2.7\x07")
    assert text(instance_parts(evil)).isprintable()


def test_digests_that_are_switched_off_are_named() -> None:
    off = replace(STATE, is_on=False)
    assert "mysql-query_digests is false" in " ".join(notes_of(view(look(0, state=off))))


def a_server(
    hostgroup: int, name: str, queries_per_s: float | None = 1, **other: Any
) -> ServerLine:
    return ServerLine(
        server(hostgroup=hostgroup, hostname=name, **other), queries_per_s, queries_per_s, 2.0, 0.0
    )


def cells(table: LiveTable[Any], one: Any) -> dict[str, str]:
    return {column.title: column.text(one) for column in table.columns}


def names(lines: list[ServerLine], order: str, **how: Any) -> list[str]:
    return [
        cells(SERVERS, one)["server"] for one in arranged(SERVERS, lines, Arrangement(order, **how))
    ]


def table(*servers: ServerLine) -> list[ServerLine]:
    return [*servers, *hostgroup_lines(servers)]


def test_counts_and_rates_of_its_servers_are_added_up() -> None:
    [found] = hostgroup_lines(
        (
            a_server(20, "a", 10, conn_used=2, conn_free=5, conn_err=1),
            a_server(20, "b", 5, conn_used=1, conn_free=0, conn_err=2),
            a_server(20, "c", 0, conn_used=0, conn_free=0, status="SHUNNED"),
        )
    )
    one = found.counters
    assert (found.online, found.servers) == (2, 3)
    assert (one.conn_used, one.conn_free, one.conn_err) == (3, 5, 3)
    assert (found.queries_per_s, found.sent_per_s, found.recv_per_s) == (15, 15, 6)
    shown = cells(SERVERS, found)
    assert (shown["hg"], shown["server"]) == ("20", "all: 2 online, 1 other")
    assert (shown["used"], shown["free"], shown["q/s"]) == ("3", "5", "15")


def test_a_server_alone_is_its_own_sum() -> None:
    assert hostgroup_lines((a_server(10, "a"), a_server(20, "a"))) == ()


def test_a_rate_that_is_not_known_of_all_servers_is_not_known() -> None:
    [found] = hostgroup_lines((a_server(20, "a", 10), a_server(20, "new", None)))
    assert found.queries_per_s is None
    assert cells(SERVERS, found)["q/s"] == "-"


def test_it_stands_before_its_servers_and_otherwise_at_the_end() -> None:
    lines = table(a_server(20, "a", 5), a_server(20, "b", 9), a_server(10, "c", 1))
    everything = "all: 2 online"
    assert names(lines, "hg") == ["c:3306", everything, "a:3306", "b:3306"]
    assert names(lines, "q/s") == ["b:3306", "a:3306", "c:3306", everything]
    assert names(lines, "server") == ["a:3306", "b:3306", "c:3306", everything]


@pytest.mark.parametrize(
    ("statuses", "kind"),
    [(("ONLINE", "SHUNNED"), "bold"), (("SHUNNED", "OFFLINE_SOFT"), "refuse")],
)
def test_a_hostgroup_without_a_server_that_answers_stands_out(
    statuses: tuple[str, str], kind: str
) -> None:
    [found] = hostgroup_lines([a_server(20, name, status=name) for name in statuses])
    assert SERVERS.kind(found) == kind


def test_names_of_the_files_stand_with_the_hostgroups() -> None:
    servers = tuple(server(hostgroup=20, hostname=name) for name in ("a", "b"))
    digests = digest_look(0, entry(hostgroup=20), entry(hostgroup=-1))
    meter = Meter("shop", "127.0.0.1:6032", {20: "reader"})
    found = meter.advance(look(0, servers=servers, digests=digests), "2.7.1")
    [everything] = found.hostgroups
    assert cells(SERVERS, everything)["server"] == "reader: 2 online"
    for one in (everything, *found.servers):
        assert dict(SERVERS.details(one))["hostgroup"] == "20 (reader)"
    shown = [dict(DIGESTS.details(one))["hostgroup"] for one in found.digests.lines]
    assert shown == ["20 (reader)", "query cache"]


def a_digest(digest: str, **other: Any) -> DigestLine:
    cells = {
        **{"hostgroup": 10, "text": "SELECT ?", "schemanames": ("shop",), "usernames": ("app",)},
        **{"count_star": 10, "sum_time": 1_000},
    }
    return DigestLine(digest=digest, **{**cells, **other})


def digests(lines: list[DigestLine], how: Arrangement) -> list[str]:
    return [one.digest for one in arranged(DIGESTS, lines, how)]


def test_the_largest_comes_first_and_what_is_not_known_last() -> None:
    lines = [
        a_digest("0x1", time_per_s=5.0),
        a_digest("0x2"),
        a_digest("0x3", time_per_s=90.0),
        a_digest("0x4", time_per_s=0.0),
    ]
    assert digests(lines, Arrangement("time/s")) == ["0x3", "0x1", "0x4", "0x2"]
    reverse = Arrangement("time/s", is_reversed=True)
    assert digests(lines, reverse) == ["0x4", "0x1", "0x3", "0x2"]


def test_a_rate_that_may_be_higher_says_so() -> None:
    found = cells(DIGESTS, a_digest("0x1", calls_per_s=3.0, time_per_s=2_000.0, is_least=True))
    assert (found["queries/s"], found["time/s"]) == (">3", ">2.00 ms")


def test_texts_of_the_server_cannot_move_the_cursor() -> None:
    evil = "\x1b[2J\x1b]0;title\x07 \u202e"
    texts = [
        *cells(DIGESTS, a_digest(evil, text=evil, usernames=(evil,), schemanames=(evil,))).values(),
        *(text for _, text in DIGESTS.details(a_digest(evil, text=evil, usernames=(evil,)))),
        *cells(SERVERS, ServerLine(server(hostname=evil, status=evil))).values(),
        *(text for _, text in SERVERS.details(ServerLine(server(hostname=evil, status=evil)))),
    ]
    assert all(text.isprintable() for text in texts)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (None, "-"), (0, "0"), (0.05, "0.05"), (9.999, "10.0"), (99.99, "100"), (999, "999"),
        (1_000, "1.00k"), (9_999, "10.0k"), (123_456, "123k"), (1_500_000_000, "1.50G"),
    ],
)  # fmt: skip
def test_numbers_take_five_characters_at_most(number: float | None, text: str) -> None:
    assert short_text(number) == text
    assert len(text) <= 5


def test_what_is_not_known_is_a_dash() -> None:
    assert [duration_text(None), part_text(None), bytes_text(None)] == ["-"] * 3
    found = cells(DIGESTS, a_digest("0x1", is_least=True))
    assert (found["queries/s"], found["time/s"]) == ("-", "-")


def rates(*looks: DigestLook) -> DigestRates:
    """Return the rates of the last look."""
    meter = DigestMeter()
    return [meter.advance(look) for look in looks][-1]


def only(found: DigestRates) -> DigestLine:
    [line] = found.lines
    return line


def test_two_looks_have_rates_and_shares() -> None:
    found = rates(
        digest_look(0, entry("0x1", 10, 1_000), entry("0x2", 1, 50)),
        digest_look(2, entry("0x1", 30, 4_000), entry("0x2", 2, 1_050)),
    )
    one, other = found.lines
    assert found.span_s == 2
    assert (one.calls_per_s, one.time_per_s, one.average) == (10, 1_500, 150)
    assert (one.share, other.share) == (0.75, 0.25)


def test_what_nothing_hit_has_rates_of_zero_and_its_old_average() -> None:
    line = only(rates(digest_look(0, entry()), digest_look(2, entry())))
    assert (line.calls_per_s, line.time_per_s, line.average) == (0, 0, 100)
    assert not line.is_least


def test_entries_of_several_users_and_schemas_are_one_line_of_a_hostgroup() -> None:
    found = rates(
        digest_look(
            0,
            entry(count=1, username="app"),
            entry(count=2, username="report", schemaname="stats"),
            entry(count=4, hostgroup=20),
        )
    )
    first, second = found.lines
    assert (first.hostgroup, first.count_star) == (10, 3)
    assert (first.usernames, first.schemanames) == (("app", "report"), ("shop", "stats"))
    assert (second.hostgroup, second.count_star) == (20, 4)


def test_an_entry_that_was_idle_is_compared_with_when_it_was_seen_last() -> None:
    """Only what was hit is looked at: the counters of the others stand still."""
    line = only(
        rates(
            digest_look(0, entry("0x1", 10), whole=Load(2, 20, 0)),
            digest_look(2, entry("0x2", 10), whole=Load(2, 20, 0)),
            digest_look(4, entry("0x1", 16), whole=Load(2, 26, 0)),
        )
    )
    assert line.calls_per_s == 3
    assert not line.is_least


def test_a_new_entry_counts_from_nothing() -> None:
    line = only(
        rates(digest_look(0), digest_look(2, entry(count=8, time=80, first_seen=CLOCK + 1)))
    )
    assert (line.calls_per_s, line.time_per_s) == (4, 40)
    assert not line.is_least


def test_an_old_entry_that_was_never_looked_at_has_a_rate_from_the_second_time_on() -> None:
    before = digest_look(0, whole=Load(1, 1_000, 0))
    first = digest_look(2, entry(count=1_010), whole=Load(1, 1_010, 0))
    line = only(rates(before, first))
    assert line.calls_per_s == 0
    assert line.is_least
    line = only(rates(before, first, digest_look(4, entry(count=1_030))))
    assert line.calls_per_s == 10
    assert not line.is_least


def test_a_look_that_was_cut_forgets_what_it_did_not_bring() -> None:
    """It is not known whether the others were hit meanwhile."""
    found = rates(
        digest_look(0, entry("0x1", 10), whole=Load(2, 20, 0)),
        digest_look(2, entry("0x2", 10), whole=Load(2, 30, 0), is_cut=True),
        digest_look(4, entry("0x1", 50), whole=Load(2, 60, 0)),
    )
    assert only(found).is_least
    assert only(found).calls_per_s == 0


def test_cleared_counters_that_grew_past_the_old_ones_show_by_when_they_began() -> None:
    found = rates(
        digest_look(0, entry(count=100)), digest_look(2, entry(count=500, first_seen=CLOCK + 1))
    )
    assert found.was_cleared
    assert only(found).calls_per_s == 250


def test_first_seen_that_jitters_by_a_second_is_no_reset() -> None:
    found = rates(
        digest_look(0, entry(count=100)), digest_look(2, entry(count=104, first_seen=CLOCK - 99))
    )
    assert not found.was_cleared
    assert only(found).calls_per_s == 2
