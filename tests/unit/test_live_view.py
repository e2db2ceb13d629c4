"""The live view of looks: rates of the instance and of servers, restarts, notes."""

from __future__ import annotations

from dataclasses import replace

from proxyctl.render.live import header_lines, instance_line
from proxyctl.stats.live.read import seconds_between, seconds_between_sizes
from proxyctl.stats.live.view import LiveStatistics, Meter, View, notes_of
from proxyctl.stats.rule_hits import RuleHitsSample
from tests.unit.live_looks import CLOCK, RULE, STATE, digest_look, entry, look, server


def view(*looks: LiveStatistics) -> View:
    """Return the view of the last look."""
    meter = Meter("shop", "127.0.0.1:6032")
    return [meter.advance(statistics, "2.7.1") for statistics in looks][-1]


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
            rules=RuleHitsSample(2, {1: 30}, {1: RULE}, 1, CLOCK),
        ),
    )
    known, new = found.servers
    assert (known.queries_per_s, known.sent_per_s, known.errors_per_s) == (25, 500, 0.5)
    assert new.queries_per_s is None
    assert [rule.per_s for rule in found.rules.rules] == [10]


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
    assert [line.queries_per_s for line in found.servers] == [None]
    assert [line.calls_per_s for line in found.digests.lines] == [None]
    assert list(notes_of(found)) == ["ProxySQL was restarted: rates start over"]


def test_digests_stay_until_it_is_their_turn_again() -> None:
    found = view(look(0, digests=digest_look(0, entry(count=9))), look(2))
    assert [line.count_star for line in found.digests.lines] == [9]


def test_a_slow_table_is_read_less_often_with_a_note() -> None:
    assert seconds_between(2, 0.05) == 2
    assert seconds_between(2, 1.5) == 30
    rare = replace(STATE, look_s=1.5, every_s=30, is_rare=True)
    assert list(notes_of(view(look(0, state=rare)))) == [
        "digests are read every 30 s: one reading takes ProxySQL about 1.50 s"
    ]


def test_the_size_of_the_table_is_asked_for_rarely_where_that_takes_its_time() -> None:
    """Every query waits while ProxySQL counts: 0.3 s for 300,000 digests."""
    assert seconds_between_sizes(0.001) == 10
    assert seconds_between_sizes(0.02) == 200
    assert seconds_between_sizes(1) == 3_600


def test_reloaded_rules_have_no_rates_but_a_note() -> None:
    found = view(look(0), look(2, rules=RuleHitsSample(2, {1: 3}, {1: RULE}, 2, CLOCK + 1)))
    assert [rule.per_s for rule in found.rules.rules] == [None]
    assert list(notes_of(found)) == ["rules were loaded: their hits restarted at 0"]


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
    load, sizes = map(text, header_lines(found))
    assert instance_line(found) == "shop  127.0.0.1:6032  ProxySQL 2.7.1  up 16.7 min"
    assert load == (
        "queries 12.3k/s  slow 0.50/s  clients 1.20k, 12 active  servers 2 used, 3 free"
    )
    assert sizes == ("in 1.00 MB/s  out -/s  transactions -  memory 123 MB  digests 1.00 kB")
    assert len(load) <= 80


def test_names_from_the_server_move_no_cursor() -> None:
    found = view(look(0))
    evil = replace(found, name="a\x1b[2J", version="2.7\x07")
    assert instance_line(evil).isprintable()


def test_digests_that_are_switched_off_are_named() -> None:
    off = replace(STATE, is_on=False)
    assert "mysql-query_digests is false" in " ".join(notes_of(view(look(0, state=off))))
