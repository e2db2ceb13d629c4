"""Sharding: names, placement, and that every table hits its own rule in both regex engines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pcre2
import pytest
import re2
from hypothesis import given, settings
from hypothesis import strategies as st

from proxyctl.config.models import ShardingModel
from proxyctl.config.sections.shard_names import (
    MAX_PATTERN,
    ShardingError,
    alternatives,
    fits,
    split,
)
from proxyctl.config.sections.shard_rules import (
    Generated,
    assign,
    generate,
)

SHARDS = [100, 101]

FORMS = (
    "SELECT c FROM {t} WHERE id=?",
    "SELECT c FROM {t}",
    "SELECT c FROM `{t}`",
    "SELECT c FROM `{t}` WHERE id=?",
    "SELECT c FROM db.{t} WHERE id=?",
    "SELECT c FROM `db`.`{t}` WHERE id=?",
    "SELECT c FROM db.`{t}`",
    "SELECT a.c FROM zz a JOIN {t} b ON a.id=b.id",
    "SELECT a.c FROM zz,{t} WHERE a.id=?",
    "INSERT INTO {t}(id,c) VALUES (?,?)",
    "INSERT INTO {t} (id) VALUES (?)",
    "REPLACE INTO `{t}`(id) VALUES (?)",
    "UPDATE {t} SET c=?",
    "DELETE FROM {t}",
    "select c from {t} where id=?",
    "{t}",
)

NOT_THESE = ("sbtest10", "my_sbtest1", "sbtest1_old", "sbtest1$", "xsbtest1", "sbtest")

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


def scheme(**options: Any) -> ShardingModel:
    return ShardingModel.model_validate({"name": "s"} | options)


def sbtest(**options: Any) -> ShardingModel:
    given = {"hostgroups": SHARDS, "tables": "sbtest{1..60}", "first_rule_id": 1000}
    return scheme(**given | {"name": "sbtest"} | options)


def destinations(generated: Generated, engine: Engine) -> Callable[[str], set[object]]:
    """Return a function that tells where the rules send a text: all of them, not the first."""
    rules = [
        (engine(str(rule.get("match_digest") or rule["match_pattern"])), rule)
        for rule in generated.rules
    ]
    return lambda text: {rule["destination_hostgroup"] for match, rule in rules if match(text)}


# Placement ----------------------------------------------------------------------------------------


def test_modulo_takes_the_last_number() -> None:
    placed = assign(["sbtest1", "sbtest2", "v2_t3", "t0010"], SHARDS, "modulo")
    assert list(placed.values()) == [101, 100, 101, 100]


def test_modulo_without_a_number_takes_the_position() -> None:
    assert list(assign(["a", "b", "c"], SHARDS, "modulo").values()) == [100, 101, 100]


@given(st.integers(1, 200), st.integers(1, 20))
def test_range_makes_equal_blocks(names: int, hostgroups: int) -> None:
    shards = list(range(hostgroups))
    placed = list(assign([f"t{n}" for n in range(names)], shards, "range").values())
    assert placed == sorted(placed)
    sizes = [placed.count(number) for number in range(hostgroups)]
    assert max(sizes) - min(sizes) <= 1


def test_explicit_is_the_mapping_only() -> None:
    mapping = {"orders{1..2}": 100, "users": 101}
    generated = generate(scheme(hostgroups=SHARDS, tables=mapping, first_rule_id=1))
    assert generated.placement == {"orders1": 100, "orders2": 100, "users": 101}


@pytest.mark.parametrize(
    ("options", "key", "message"),
    [
        ({"tables": None}, "tables", "either tables or schemas"),
        ({"schemas": "x"}, "tables", "either tables or schemas"),
        ({"assign": "explicit"}, "assign", "needs a mapping"),
        ({"tables": {"a": 100}, "assign": "modulo"}, "assign", "has no say"),
        ({"tables": {"a": 7}}, "hostgroups", "which is not listed"),
        ({"tables": {"a1": 100, "a{1..2}": 100}}, "tables", "named twice"),
        ({"tables": {}}, "tables", "no name at all"),
        ({"first_rule_id": None}, "first_rule_id", "id of its first rule"),
        ({"rule_ids": "1-999"}, "first_rule_id", "outside rule_ids"),
        ({"rule_ids": "1000-1000"}, "rule_ids", "2 rules from 1000 on do not fit"),
        ({"rule_ids": "1999-1000"}, "rule_ids", "runs backwards"),
        ({"tables": ["Orders", "orders"]}, "tables", "upper and lower case"),
        ({"tables": ["db.orders"]}, "tables", "is no table name"),
        ({"tables": ["`orders`"]}, "tables", "is no table name"),
        ({"tables": ["x" * 65]}, "tables", "is longer than a name can be"),
        ({"tables": ["orders-2024"]}, "tables", "does not stand in digests"),
        ({"tables": ["1e5"]}, "tables", "does not stand in digests"),
        ({"tables": ["it's"]}, "tables", "does not stand in digests"),
        ({"tables": ["é1"]}, "tables", "does not stand in digests"),
    ],
)
def test_sections_that_cannot_be(options: Mapping[str, Any], key: str, message: str) -> None:
    with pytest.raises(ShardingError, match=message) as caught:
        generate(sbtest(**options))
    assert caught.value.key == key


def test_hostgroups_are_needed() -> None:
    with pytest.raises(ShardingError, match="needs hostgroups"):
        generate(scheme(tables="t{1..2}", first_rule_id=1))


def test_a_hostgroup_twice_takes_twice_its_share() -> None:
    shards = [1, 1, 2]
    spec = scheme(hostgroups=shards, tables="t{0..5}", first_rule_id=1)
    assert [rule["destination_hostgroup"] for rule in generate(spec).rules] == [1, 2]
    assert list(generate(spec).placement.values()) == [1, 1, 2, 1, 1, 2]


# Rules --------------------------------------------------------------------------------------------


def test_rules_of_sixty_tables() -> None:
    assert generate(sbtest(username="app")).rules == [
        {
            "rule_id": 1000,
            "active": 1,
            "username": "app",
            "match_digest": "(^|[^0-9A-Za-z_$])sbtest([135][02468]|[24][02468]?|60?|8)"
            "($|[^0-9A-Za-z_$])",
            "destination_hostgroup": 100,
            "apply": 1,
            "comment": "sharding sbtest: sbtest2, sbtest4 ... sbtest60 (30 tables)",
        },
        {
            "rule_id": 1001,
            "active": 1,
            "username": "app",
            "match_digest": "(^|[^0-9A-Za-z_$])sbtest([135][13579]?|[24][13579]|[79])"
            "($|[^0-9A-Za-z_$])",
            "destination_hostgroup": 101,
            "apply": 1,
            "comment": "sharding sbtest: sbtest1, sbtest3 ... sbtest59 (30 tables)",
        },
    ]


def test_rule_columns_that_the_section_may_set() -> None:
    spec = sbtest(
        tables=["a", "b", "c"],
        schema="shop",
        match="pattern",
        comment="moved in May",
        flagIN=7,
        rule_ids="2000-2999",
        first_rule_id=None,
        assign="range",
    )
    first, second = generate(spec).rules
    assert first["rule_id"] == 2000
    assert (first["schemaname"], first["flagIN"]) == ("shop", 7)
    assert "username" not in first
    assert "match_digest" not in first
    assert first["match_pattern"] == "(^|[^0-9A-Za-z_$])[ab]($|[^0-9A-Za-z_$])"
    assert second["comment"] == "sharding sbtest: c; moved in May"


def test_a_rule_per_table_keeps_its_id_when_the_table_moves() -> None:
    one = generate(sbtest(rules="per_table")).rules
    two = generate(sbtest(rules="per_table", assign="range")).rules
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
    find = destinations(generate(sbtest(rules=rules)), engine)
    for number in (1, 2, 10, 59, 60):
        assert find(form.format(t=f"sbtest{number}")) == {100 + number % 2}
        assert find(form.format(t=f"SBTEST{number}")) == {100 + number % 2}
    for other in ("sbtest61", "sbtest0", "sbtest600", "sbtest01", "sbtest"):
        assert find(form.format(t=other)) == set()


@ENGINES
@pytest.mark.parametrize("form", FORMS)
def test_names_that_only_look_alike(engine: Engine, form: str) -> None:
    spec = scheme(hostgroups=SHARDS, tables=["sbtest1"], first_rule_id=1)
    find = destinations(generate(spec), engine)
    for other in NOT_THESE:
        assert find(form.format(t=other)) == set()


@ENGINES
def test_raw_text_has_any_white_space(engine: Engine) -> None:
    find = destinations(generate(sbtest(match="pattern")), engine)
    assert find("SELECT c\nFROM\tsbtest1\n") == {101}
    assert find("SELECT c FROM sbtest2\r\n\tWHERE id=1") == {100}
    assert find("insert into sbtest2(id) values (10)") == {100}


@ENGINES
def test_names_with_special_characters(engine: Engine) -> None:
    names = ["x$y", "c-d", "e f", "größe", "東京", "t(1)", "q?", "p+", "[z]", "n^", "a|b", "it's"]
    spec = scheme(hostgroups=SHARDS, tables=names, assign="range", first_rule_id=1, match="pattern")
    find = destinations(generate(spec), engine)
    for position, name in enumerate(names):
        assert find(f"SELECT ? FROM `{name}` WHERE ?") == {100 + position // 6}
    for other in ("cd", "qq", "q", "pp", "z", "a", "b", "x", "y"):
        assert find(f"SELECT ? FROM `{other}`") == set()


@ENGINES
@pytest.mark.parametrize("method", ["modulo", "range"])
def test_five_thousand_tables(engine: Engine, method: str) -> None:
    spec = scheme(hostgroups=list(range(6)), tables="t{1..5000}", assign=method, first_rule_id=1)
    generated = generate(spec)
    assert len(generated.rules) == 6
    assert all(len(str(rule["match_digest"])) <= MAX_PATTERN for rule in generated.rules)
    find = destinations(generated, engine)
    for name, hostgroup in list(generated.placement.items())[::37]:
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
    spec = scheme(
        hostgroups=list(range(count)),
        tables=names,
        assign="range",
        rules=rules,
        first_rule_id=1,
        match="pattern",
    )
    generated = generate(spec)
    for engine in (pcre_matcher, re2_matcher):
        find = destinations(generated, engine)
        for name, hostgroup in generated.placement.items():
            # A letter beyond ASCII ends a name for the rules, so names made of it are left out.
            if "é" not in name:
                found = find(f"SELECT ? FROM `{name}` WHERE ?")
                assert found == {hostgroup}
            else:
                assert hostgroup in find(f"SELECT ? FROM `{name}` WHERE ?")


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


def check_fast_routing(rows: Sequence[Mapping[str, Any]], count: int) -> None:
    assert len(rows) == count
    assert set(rows[0]) == {"username", "schemaname", "flagIN", "destination_hostgroup", "comment"}


def test_schemas_become_fast_routing() -> None:
    spec = scheme(
        name="tenants",
        hostgroups=SHARDS,
        schemas="tenant_{0001..5000}",
        assign="range",
        username="app",
    )
    generated = generate(spec)
    assert generated.rules == []
    check_fast_routing(generated.fast_routing, 5000)
    assert generated.fast_routing[0] == {
        "username": "app",
        "schemaname": "tenant_0001",
        "flagIN": 0,
        "destination_hostgroup": generated.placement["tenant_0001"],
        "comment": "sharding tenants",
    }
    assert 2300 < list(generated.placement.values()).count(100) < 2700


def test_schemas_of_any_user() -> None:
    spec = scheme(hostgroups=SHARDS, schemas={"a": 100}, comment="by hand")
    (row,) = generate(spec).fast_routing
    assert (row["username"], row["comment"]) == ("", "sharding s; by hand")
