"""A replay of an event log: the text of a query decides what its digest leaves open."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from proxyctl.catalog import REFERENCE, Value, parse_version
from proxyctl.proxysql.configuration import BeforeAfter, ConfigTable, Configuration
from proxyctl.routing.router import router_of
from proxyctl.stats.events.event import EventTally, QueryEvent
from proxyctl.stats.events.log import read_files
from proxyctl.stats.model import DigestTable
from proxyctl.stats.replay.comparison import DifferenceKind, ReplayVerdict, outcome_of
from proxyctl.stats.replay.event_comparison import OTHER_TEXT, EventComparison
from proxyctl.stats.replay.result import Replay, replay_events
from tests.support.build import layout, rows
from tests.support.digests.events import line, write_log
from tests.support.parameters import some
from tests.support.routing.cases import random_case
from tests.support.routing.shapes import FAST, RULES, USERS, VARIABLES, Case

APP = {"username": "app", "default_hostgroup": 1}
PORTS = (6033, 6034)


def configuration(*rules: Mapping[str, Value], **variables: str) -> Configuration:
    values = {f"mysql-{name}": value for name, value in variables.items()}
    tables = {"mysql_query_rules": rules, "mysql_users": (APP,)}
    held = {name: ConfigTable(layout(name), rows(name, *cells)) for name, cells in tables.items()}
    return Configuration(REFERENCE, held, values)


def rule(number: int, **cells: Value) -> dict[str, Value]:
    return {"rule_id": number, "re_modifiers": "CASELESS", "apply": 1, **cells}


def read(path: Path, *lines: bytes) -> list[QueryEvent]:
    return list(read_files([write_log(path / "ev", lines)], EventTally()))


def event(path: Path, query: str, **cells: object) -> QueryEvent:
    (found,) = read(path, line(query, **cells))
    return found


def verdict(before: Configuration, after: Configuration, one: QueryEvent) -> ReplayVerdict:
    return EventComparison(BeforeAfter(before, after), before.variables).verdict(one)


def replayed(before: Configuration, after: Configuration, events: Iterable[QueryEvent]) -> Replay:
    table = DigestTable("px1", "px1:6032", "3.0.3", 0, ())
    return replay_events(events, EventTally(), table, BeforeAfter(before, after))


def test_each_release_makes_its_own_digest(tmp_path: Path) -> None:
    after = configuration(rule(7, digest="0x0D606F0A70E52E6E", destination_hostgroup=2))
    before = replace(after, version=parse_version("2.7.1"))
    for query, changes in (("SELECT 1 -- tail", True), ("SELECT 1 tail", False)):
        logged = event(tmp_path, query, digest="0x0D606F0A70E52E6E")
        assert verdict(before, after, logged).is_changed == changes, query


def test_the_text_decides_match_pattern(tmp_path: Path) -> None:
    before = configuration()
    after = configuration(rule(7, match_pattern="id=[0-4]$", destination_hostgroup=2))
    queries = [f"SELECT name FROM items WHERE id={number}" for number in range(10)]
    report = replayed(before, after, read(tmp_path, *map(line, queries)))
    assert report.undecided.entries == 0
    assert (report.changed.count_star, report.unchanged.count_star) == (5, 5)
    assert report.total.count_star == 10
    (entry,) = report.entries
    assert entry.seen.count_star == 5
    assert entry.seen.digest_text == "SELECT name FROM items WHERE id=?"
    assert entry.verdict.after[0].rule_id == 7


def test_hints_in_a_comment_are_seen(tmp_path: Path) -> None:
    after = configuration(rule(1, match_digest="^SELECT", destination_hostgroup=2))
    plain, hinted = (
        verdict(configuration(), after, event(tmp_path, query))
        for query in ("SELECT 1", "/* hostgroup=5 */ SELECT 1")
    )
    assert plain.certain == {DifferenceKind.HOSTGROUP}
    assert (hinted.certain, hinted.after[0].hostgroup) == (frozenset(), 5)


@pytest.mark.parametrize(
    ("query", "is_changed"), [("SET sql_mode='ANSI'", False), ("SET nosuch=1", True)]
)
def test_the_value_of_a_set_decides(tmp_path: Path, query: str, is_changed: bool) -> None:
    after = configuration(rule(1, destination_hostgroup=2))
    found = verdict(configuration(), after, event(tmp_path, query))
    assert (found.is_changed, found.is_open) == (is_changed, False)


def test_a_prepared_statement_is_not_rewritten_when_it_is_executed(tmp_path: Path) -> None:
    after = configuration(rule(1, match_pattern="FROM a", replace_pattern="FROM b"))
    query = "SELECT 1 FROM a"
    sent = verdict(configuration(), after, event(tmp_path, query))
    executed = verdict(configuration(), after, event(tmp_path, query, event="COM_STMT_EXECUTE"))
    assert sent.certain == {DifferenceKind.REWRITTEN}
    assert (executed.certain, executed.possible) == (frozenset(), frozenset())


def test_rules_that_rewrite_alike_are_no_difference(tmp_path: Path) -> None:
    before = configuration(rule(1, match_pattern="FROM a", replace_pattern="FROM b"))
    after = configuration(rule(1, match_pattern="FROM (a)", replace_pattern="FROM b"))
    same = verdict(before, after, event(tmp_path, "SELECT 1 FROM a"))
    assert (same.certain, same.is_open) == (frozenset(), False)
    other = configuration(rule(1, match_pattern="FROM a", replace_pattern="FROM c"))
    assert verdict(before, other, event(tmp_path, "SELECT 1 FROM a")).certain == {
        DifferenceKind.REWRITTEN
    }


def test_a_later_rule_sees_the_rewritten_text(tmp_path: Path) -> None:
    rewrites = rule(1, match_pattern="FROM a", replace_pattern="FROM b", apply=0)
    before = configuration(rewrites)
    after = configuration(rewrites, rule(2, match_pattern="FROM b", destination_hostgroup=2))
    found = verdict(before, after, event(tmp_path, "SELECT 1 FROM a"))
    assert found.certain == {DifferenceKind.HOSTGROUP}


@pytest.mark.parametrize("column", ["proxy_addr", "proxy_port"])
def test_what_the_log_lacks_stays_open(tmp_path: Path, column: str) -> None:
    value: Value = "10.0.0.1" if column == "proxy_addr" else 6033
    after = configuration(rule(1, match_pattern="1", destination_hostgroup=2, **{column: value}))
    found = verdict(configuration(), after, event(tmp_path, "SELECT 1"))
    assert (found.is_open, found.undecided) == (True, ((1, column),))


def test_the_client_is_known(tmp_path: Path) -> None:
    after = configuration(rule(1, client_addr="10.0.%", destination_hostgroup=2))
    lines = [line("SELECT 1", client=f"10.0.0.{n}:5") for n in range(3)] + [line("SELECT 1")]
    report = replayed(configuration(), after, read(tmp_path, *lines))
    assert (report.changed.count_star, report.unchanged.count_star) == (3, 1)


def test_a_text_without_the_logged_digest_leaves_all_open(tmp_path: Path) -> None:
    after = configuration(rule(1, match_pattern="1", destination_hostgroup=2))
    for digest, notes in (("0x" + "12" * 8, (OTHER_TEXT,)), ("0x" + "00" * 8, ())):
        found = verdict(configuration(), after, event(tmp_path, "SELECT 1", digest=digest))
        assert found.notes == notes
        assert found.is_open is bool(notes)


def test_sums_are_those_of_the_log(tmp_path: Path) -> None:
    after = configuration(rule(1, match_pattern="=[13]$", destination_hostgroup=2))
    lines = [
        line(f"DELETE FROM t WHERE id={n}", n, duration_us=10 * n, rows_affected=2, rows_sent=0)
        for n in range(5)
    ]
    report = replayed(configuration(), after, read(tmp_path, *lines))
    assert report.total.sum_time == 100
    assert report.changed.sum_time == 40
    assert report.total.sum_rows_affected == 10
    (entry,) = report.entries
    assert (entry.seen.min_time, entry.seen.max_time) == (10, 30)
    assert entry.seen.last_seen - entry.seen.first_seen == 2
    assert report.taken_at - entry.seen.last_seen == 1


@pytest.mark.parametrize("number", some(range(40)))
def test_a_cached_verdict_is_that_of_the_text(tmp_path: Path, number: int) -> None:
    """Queries that share a digest share a verdict only if their texts do not matter."""
    random = Random(f"events:{number}")
    cases = [random_case(random, PORTS, queries=25) for _ in range(2)]
    before, after = map(_configuration, cases)
    judge = EventComparison(BeforeAfter(before, after), before.variables)
    routers = router_of(before), router_of(after)
    for client, query in cases[0].queries:
        text = query.decode("utf-8", "replace")
        cells = {
            "username": client.username,
            "schemaname": client.schemaname or "",
            "client": f"{client.client_addr}:1",
        }
        logged = event(tmp_path, text, **cells)
        found = judge.verdict(logged)
        if found.is_unknown or found.undecided:
            continue
        for router, outcomes in zip(routers, (found.before, found.after), strict=True):
            route = router.evaluate(logged.request())
            outcome = outcome_of(route, (), route.special)
            assert (outcome.hostgroup, outcome.answer) in {
                (way.hostgroup, way.answer) for way in outcomes
            }, (text, route, found)


def _configuration(case: Case) -> Configuration:
    tables = {
        name: ConfigTable(layout(name), rows(name, *cells))
        for name, cells in (
            (RULES, case.rules),
            (FAST, case.fast_routing),
            ("mysql_users", list(USERS)),
        )
    }
    return Configuration(REFERENCE, tables, VARIABLES | case.variables)
