"""A replay's result for a digest, and the list of undecided digests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from proxyctl.catalog import REFERENCE, Value
from proxyctl.catalog.releases import PCRE2
from proxyctl.proxysql.configuration import BeforeAfter, ConfigTable, Configuration
from proxyctl.routing.digest import Digester, DigestOptions
from proxyctl.stats.model import DigestTable, SeenDigest
from proxyctl.stats.replay.comparison import (
    CUT,
    OTHER_OPTIONS,
    SET_VALUES,
    TOO_MANY,
    Comparison,
    DifferenceKind,
    ReplayVerdict,
)
from proxyctl.stats.replay.result import replay
from tests.support.build import layout, rows

Cells = Mapping[str, Value]
APP = {"username": "app", "default_hostgroup": 1}


def configuration(*rules: Cells, **variables: str) -> Configuration:
    values = {f"mysql-{name}": value for name, value in variables.items()}
    tables = {"mysql_query_rules": rules, "mysql_users": (APP,)}
    held = {name: ConfigTable(layout(name), rows(name, *cells)) for name, cells in tables.items()}
    return Configuration(REFERENCE, held, values)


def seen(query: str, *, hostgroup: int = 1, address: str = "", size: int = 2048) -> SeenDigest:
    made = Digester(DigestOptions(max_digest_length=size)).digest(query)
    text = made.text[:size].decode()
    cells = (hostgroup, "shop", "app", address, made.hexadecimal, text)
    return SeenDigest(*cells, 1, 0, 0, 1, 1, 1)


def verdict(before: Configuration, after: Configuration, one: SeenDigest) -> ReplayVerdict:
    return Comparison(BeforeAfter(before, after), before.variables).verdict(one)


def rule(number: int, **cells: Value) -> dict[str, Value]:
    return {"rule_id": number, "re_modifiers": "CASELESS", "apply": 1, **cells}


def test_client_addr_is_not_known_without_tracking() -> None:
    before, after = (
        configuration(rule(1, client_addr="10.0.%", destination_hostgroup=hostgroup))
        for hostgroup in (2, 3)
    )
    unknown = verdict(before, after, seen("SELECT 1"))
    assert unknown.is_open
    assert unknown.undecided == ((1, "client_addr"),)
    assert verdict(before, after, seen("SELECT 1", address="10.0.7.1")).certain == {
        DifferenceKind.HOSTGROUP
    }
    assert not verdict(before, after, seen("SELECT 1", address="10.1.7.1")).possible


@pytest.mark.parametrize(("column", "value"), [("proxy_addr", "10.0.0.1"), ("proxy_port", 6033)])
def test_what_the_client_connected_to_is_never_known(column: str, value: Value) -> None:
    before = configuration()
    after = configuration(rule(1, destination_hostgroup=2, **{column: value}))
    assert verdict(before, after, seen("SELECT 1")).undecided == ((1, column),)


def test_both_ways_lead_to_the_same_place() -> None:
    first = rule(1, match_pattern="id = 1", destination_hostgroup=2)
    before = configuration(first, rule(2, destination_hostgroup=3))
    after = configuration({**first, "destination_hostgroup": 4}, rule(2, destination_hostgroup=4))
    found = verdict(before, after, seen("SELECT 1"))
    assert found.certain == {DifferenceKind.HOSTGROUP}
    assert not found.possible
    assert {way.hostgroup for way in found.before} == {2, 3}


def test_every_query_begins_at_flag_0_and_the_report_notes_it() -> None:
    sets = rule(1, match_digest="^CALL", next_query_flagIN=7, apply=0)
    before = configuration(sets)
    after = configuration(sets, rule(2, flagIN=7, destination_hostgroup=2))
    table = DigestTable("x", "x", "2.7.1", 0, [seen("SELECT 1")])
    found = replay(table, BeforeAfter(before, after))
    assert found.unchanged.entries == 1
    assert found.flag_rules == [1]


def test_a_draw_by_weight_is_undecided() -> None:
    ways = '{"flagOUTs":[{"id":1,"weight":1},{"id":2,"weight":1}]}'
    rules = [rule(1, attributes=ways, apply=0), rule(2, flagIN=1, destination_hostgroup=2)]
    before = configuration(*rules)
    after = configuration(*rules, rule(3, flagIN=2, destination_hostgroup=3))
    found = verdict(before, after, seen("SELECT 1"))
    assert found.is_open
    assert found.undecided == ((1, "flagOUT"),)


def test_a_digest_that_a_rule_may_have_made_of_another_query_is_taken_as_it_is() -> None:
    rewrites = rule(1, match_pattern="^SELECT a", replace_pattern="SELECT b", apply=0)
    before = configuration(rewrites, rule(2, match_digest="^SELECT b", destination_hostgroup=2))
    table = DigestTable("x", "x", "2.7.1", 0, [seen("SELECT b FROM t")])
    found = replay(table, BeforeAfter(before, before))
    assert (found.unchanged.entries, found.rewriting_rules) == (1, [1])


def test_a_cut_text_is_undecided_where_rules_differ() -> None:
    variables = {"query_digests_max_digest_length": "16"}
    before = configuration(**variables)
    one = seen("SELECT name FROM users WHERE id = 1", size=16)
    after = configuration(rule(1, match_digest="users", destination_hostgroup=2), **variables)
    found = verdict(before, after, one)
    assert found.is_open
    assert found.notes == (CUT,)
    assert not verdict(before, before, one).is_open
    for other in ({"username": "batch"}, {"digest": "0x1"}):
        after = configuration(
            rule(1, match_digest="users", destination_hostgroup=2, **other), **variables
        )
        assert not verdict(before, after, one).is_open


def test_digests_of_other_options_are_not_what_rules_see_now() -> None:
    lower = configuration(query_digests_lowercase="true")
    after = configuration(
        rule(1, match_digest="FROM t", destination_hostgroup=2), query_digests_lowercase="true"
    )
    found = verdict(lower, after, seen("SELECT a FROM t"))
    assert found.is_open
    assert found.notes == (OTHER_OPTIONS,)
    assert verdict(lower, after, seen("select a from t")).certain == {DifferenceKind.HOSTGROUP}


def test_files_that_change_how_digests_are_made_leave_all_open() -> None:
    same = {"match_digest": "FROM t", "re_modifiers": None, "destination_hostgroup": 2}
    before = configuration(rule(1, **same))
    after = configuration(rule(1, **same), query_digests_lowercase="true")
    found = verdict(before, after, seen("SELECT a FROM t"))
    assert found.is_open
    assert found.notes == (OTHER_OPTIONS,)


def test_two_releases_compile_patterns_with_their_own_engines() -> None:
    before = configuration(rule(1, match_digest=r"^SELECT [\w-.]+ FROM", destination_hostgroup=2))
    after = replace(before, version=PCRE2)
    assert verdict(before, after, seen("SELECT a FROM t")).certain == {DifferenceKind.HOSTGROUP}
    unchanged = verdict(before, after, seen("INSERT INTO t VALUES (1)"))
    assert not unchanged.is_open
    assert unchanged.notes == ()


@pytest.mark.parametrize("text", ["COMMIT", "SET NAMES utf8mb4", "USE shop", "SHOW WARNINGS"])
def test_what_proxysql_answers_by_itself_stays(text: str) -> None:
    after = configuration(rule(1, destination_hostgroup=2))
    assert verdict(configuration(), after, seen(text)).certain == frozenset()


@pytest.mark.parametrize("text", ["SET NAMES ?", "SET autocommit=?", "SET TRANSACTION READ ONLY"])
def test_a_set_that_proxysql_answers_whatever_its_value_is_stays(text: str) -> None:
    after = configuration(rule(1, destination_hostgroup=2))
    found = verdict(configuration(), after, seen(text))
    assert (found.certain, found.possible, found.notes) == (frozenset(), frozenset(), ())


@pytest.mark.parametrize("text", ["SET @a=?", "SET nosuch=?", "SET sql_mode=?; SELECT ?"])
def test_a_set_that_locks_goes_where_the_rules_say(text: str) -> None:
    after = configuration(rule(1, destination_hostgroup=2))
    assert verdict(configuration(), after, seen(text)).certain == {DifferenceKind.HOSTGROUP}
    unlocked = configuration(
        rule(1, destination_hostgroup=2), set_query_lock_on_hostgroup="0"
    )  # default_hostgroup on both sides
    found = verdict(configuration(set_query_lock_on_hostgroup="0"), unlocked, seen(text))
    assert (found.certain, found.possible) == (frozenset(), frozenset())


@pytest.mark.parametrize("text", ["SET sql_mode=?", "SET SESSION wait_timeout=?"])
def test_a_set_of_unknown_values_is_undecided(text: str) -> None:
    after = configuration(rule(1, destination_hostgroup=2))
    found = verdict(configuration(), after, seen(text))
    assert (found.certain, found.possible) == (frozenset(), {DifferenceKind.HOSTGROUP})
    assert found.notes == (SET_VALUES,)
    assert verdict(configuration(), configuration(), seen(text)).notes == ()


def test_more_open_questions_than_can_be_followed() -> None:
    many = [
        rule(number, match_pattern=f"id = {number}", destination_hostgroup=number % 9, apply=0)
        for number in range(1, 40)
    ]
    before = configuration(*many)
    same = verdict(before, before, seen("SELECT 1"))
    assert (same.certain, same.is_open) == (frozenset(), False)
    other = configuration(*many, rule(50, match_digest="^SELECT", destination_hostgroup=9))
    found = verdict(before, other, seen("SELECT 1"))
    assert found.is_open
    assert found.notes == (TOO_MANY,)
