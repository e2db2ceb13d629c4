"""Sharding: names, placement, and that every table hits its own rule in both regex engines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pcre2
import pytest
import re2
from hypothesis import given, settings
from hypothesis import strategies as st

from proxyctl.catalog import Value
from proxyctl.config.models import ShardingModel
from proxyctl.config.sections.shard_names import (
    MAX_PATTERN,
    alternatives,
    fits,
    split,
)
from proxyctl.config.sections.sharding import assign
from proxyctl.config.sections.sharding import generate as generated

SHARDS = [100, 101]

FORMS = (
    "SELECT c FROM {t} WHERE id=?", "SELECT c FROM {t}", "SELECT c FROM `{t}`",
    "SELECT c FROM `{t}` WHERE id=?", "SELECT c FROM db.{t} WHERE id=?",
    "SELECT c FROM `db`.`{t}` WHERE id=?", "SELECT c FROM db.`{t}`",
    "SELECT a.c FROM zz a JOIN {t} b ON a.id=b.id", "SELECT a.c FROM zz,{t} WHERE a.id=?",
    "INSERT INTO {t}(id,c) VALUES (?,?)", "INSERT INTO {t} (id) VALUES (?)",
    "REPLACE INTO `{t}`(id) VALUES (?)", "UPDATE {t} SET c=?", "DELETE FROM {t}",
    "select c from {t} where id=?", "{t}",
)  # fmt: skip


OTHERS = (
    *("sbtest61", "sbtest0", "sbtest600", "sbtest01", "sbtest"),
    *("my_sbtest1", "sbtest1_old", "sbtest1$", "xsbtest1"),
)

Matcher = Callable[[str], bool]
Engine = Callable[[str], Matcher]


def pcre_matcher(pattern: str) -> Matcher:
    """Match as ProxySQL's default engine does: bytes, CASELESS, a partial match."""
    compiled: Any = pcre2.compile(pattern.encode(), pcre2.I)
    return lambda text: compiled.search(text.encode()) is not None


def re2_matcher(pattern: str) -> Matcher:
    """Match as mysql-query_processor_regex=2 does: UTF-8, CASELESS, a partial match."""
    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    compiled = re2.compile(pattern, options)
    return lambda text: compiled.search(text) is not None


ENGINES = pytest.mark.parametrize("engine", [pcre_matcher, re2_matcher])


def generate(spec: ShardingModel) -> list[dict[str, Value]]:
    rows, problems = generated(spec)
    assert not problems
    return rows


def scheme(**options: Any) -> ShardingModel:
    return ShardingModel.model_validate({"name": "s"} | options)


def sbtest(**options: Any) -> ShardingModel:
    given = {"hostgroups": SHARDS, "tables": "sbtest{1..60}", "first_rule_id": 1000}
    return scheme(**given | {"name": "sbtest"} | options)


def destinations(spec: ShardingModel, engine: Engine) -> Callable[[str], set[object]]:
    """Return a function from a text to the hostgroups of all matching rules, not just the first."""
    rules = [
        (engine(str(rule.get("match_digest") or rule["match_pattern"])), rule)
        for rule in generate(spec)
    ]
    return lambda text: {rule["destination_hostgroup"] for match, rule in rules if match(text)}


@given(st.integers(1, 200), st.integers(1, 20))
def test_range_makes_equal_blocks(names: int, hostgroups: int) -> None:
    shards = list(range(hostgroups))
    placed = list(assign([f"t{n}" for n in range(names)], shards, "range").values())
    assert placed == sorted(placed)
    sizes = [placed.count(number) for number in range(hostgroups)]
    assert max(sizes) - min(sizes) <= 1


def test_a_rule_per_table_keeps_its_id_when_the_table_moves() -> None:
    one = generate(sbtest(rules="per_table"))
    two = generate(sbtest(rules="per_table", assign="range"))
    assert [rule["rule_id"] for rule in one] == list(range(1000, 1060))
    differing = {
        key
        for before, after in zip(one, two, strict=True)
        for key in before
        if before[key] != after[key]
    }
    assert differing == {"destination_hostgroup"}


@ENGINES
@pytest.mark.parametrize("rules", ["per_hostgroup", "per_table"])
@pytest.mark.parametrize("form", FORMS)
def test_digest_forms(engine: Engine, rules: str, form: str) -> None:
    find = destinations(sbtest(rules=rules), engine)
    for number in (1, 2, 10, 59, 60):
        assert find(form.format(t=f"sbtest{number}")) == {100 + number % 2}
        assert find(form.format(t=f"SBTEST{number}")) == {100 + number % 2}
    for other in OTHERS:
        assert find(form.format(t=other)) == set()


@ENGINES
def test_raw_text_has_any_white_space(engine: Engine) -> None:
    find = destinations(sbtest(match="pattern"), engine)
    assert find("SELECT c\nFROM\tsbtest1\n") == {101}
    assert find("SELECT c FROM sbtest2\r\n\tWHERE id=1") == {100}
    assert find("insert into sbtest2(id) values (10)") == {100}


@ENGINES
def test_names_with_special_characters(engine: Engine) -> None:
    names = ["x$y", "c-d", "e f", "größe", "東京", "t(1)", "q?", "p+", "[z]", "n^", "a|b", "it's"]
    spec = scheme(hostgroups=SHARDS, tables=names, assign="range", first_rule_id=1, match="pattern")
    find = destinations(spec, engine)
    for position, name in enumerate(names):
        assert find(f"SELECT ? FROM `{name}` WHERE ?") == {100 + position // 6}
    for other in ("cd", "qq", "q", "pp", "z", "a", "b", "x", "y"):
        assert find(f"SELECT ? FROM `{other}`") == set()


@ENGINES
@pytest.mark.parametrize("method", ["modulo", "range"])
def test_five_thousand_tables(engine: Engine, method: str) -> None:
    shards = list(range(6))
    spec = scheme(hostgroups=shards, tables="t{1..5000}", assign=method, first_rule_id=1)
    rules = generate(spec)
    assert len(rules) == 6
    assert all(len(str(rule["match_digest"])) <= MAX_PATTERN for rule in rules)
    find = destinations(spec, engine)
    placed = assign([f"t{n}" for n in range(1, 5001)], shards, method)
    for name, hostgroup in list(placed.items())[::37]:
        assert find(f"SELECT c FROM {name} WHERE id=?") == {hostgroup}
    assert find("SELECT c FROM t5001") == set()


NAMES = st.lists(
    st.text("ab1_$é", min_size=1, max_size=6).filter(lambda n: not n.isdigit()),
    min_size=1,
    max_size=40,
    unique=True,
)


@settings(deadline=None)
@given(NAMES, st.integers(1, 4), st.sampled_from(["per_hostgroup", "per_table"]))
def test_each_table_hits_its_own_hostgroup_and_no_other(
    names: list[str], count: int, rules: str
) -> None:
    shards = list(range(count))
    spec = scheme(
        hostgroups=shards,
        tables=names,
        assign="range",
        rules=rules,
        first_rule_id=1,
        match="pattern",
    )
    for engine in (pcre_matcher, re2_matcher):
        find = destinations(spec, engine)
        for name, hostgroup in assign(names, shards, "range").items():
            found = find(f"SELECT ? FROM `{name}` WHERE ?")
            # A letter beyond ASCII ends a name for the rules: others may match, too.
            assert hostgroup in found
            assert "é" in name or len(found) == 1


@settings(deadline=None)
@given(st.lists(st.text("abc.|é ", max_size=5), min_size=1, max_size=30, unique=True))
def test_alternatives_match_exactly_the_names(names: list[str]) -> None:
    expression = f"^({alternatives(names)})$"
    every = {*names, *(name + "a" for name in names), *(name[1:] for name in names)}
    for engine in (pcre_matcher, re2_matcher):
        match = engine(expression)
        assert {name for name in every if match(name)} == set(names)


def test_long_lists_are_split_over_rules() -> None:
    names = [f"{'abcdefghij'[n % 10]}x{n * 7919 % 100003:06d}" for n in range(9000)]
    parts = split(names, "(", ")")
    assert len(parts) > 1
    assert [name for _, group in parts for name in group] == names
    assert all(fits(pattern) for pattern, _ in parts)
