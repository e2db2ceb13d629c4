"""Every table, column and variable of the catalogue has its sentence, and no other name has one."""

from __future__ import annotations

import tomllib

from proxyctl.catalog import TABLES
from proxyctl.catalog.sentences import (
    column_sentence,
    manual,
    table_sentence,
    variable_sentence,
)
from proxyctl.catalog.variables import VARIABLES
from tests.support.paths import ROOT

DATA = tomllib.loads((ROOT / "proxyctl/catalog/sentences.toml").read_text(encoding="utf-8"))
SECTIONS = {name: table for name, table in TABLES.items() if table.prefix is None}
COLUMNS = {
    f"{name}.{column.name}": column_sentence(name, column.name)
    for name, table in SECTIONS.items()
    for column in table.columns
}
SENTENCES = {
    **{name: table_sentence(name) for name in SECTIONS},
    **COLUMNS,
    **{name: variable_sentence(name) for name in VARIABLES},
}
"""Each key with its sentence."""
LONGEST = 160
UNKNOWN: frozenset[str] = frozenset()
"""Keys that nobody has looked into yet."""


def test_every_key_has_a_sentence() -> None:
    assert {name for name, sentence in SENTENCES.items() if sentence is None} == UNKNOWN


def test_a_sentence_is_short_and_whole() -> None:
    for name, sentence in SENTENCES.items():
        if sentence is not None:
            assert sentence.endswith("."), name
            assert sentence == " ".join(sentence.split()), name
            assert len(sentence) <= LONGEST, name
            assert sentence.count("`") % 2 == 0, name
            assert "{" not in sentence, name


def test_no_sentence_is_for_a_name_that_does_not_exist() -> None:
    assert set(DATA["variables"]) <= set(VARIABLES)
    assert set(DATA["tables"]) <= set(SECTIONS)
    for name, columns in DATA["columns"].items():
        tables = SECTIONS if name == "*" else {name: SECTIONS[name]}
        assert set(columns) <= {c.name for table in tables.values() for c in table.columns}, name


def test_every_table_has_its_page_of_the_manual() -> None:
    sides = {f"{name.partition('-')[0]}_variables" for name in VARIABLES}
    assert set(DATA["manual"]) == {*SECTIONS, *sides}
    assert all(address.startswith("https://proxysql.com/") for address in DATA["manual"].values())
    assert manual("mysql_servers") == DATA["manual"]["mysql_servers"]


def test_the_postgresql_side_shares_only_what_is_true_for_it() -> None:
    own = {*DATA["tables"], *DATA["variables"]}
    own |= {f"{name}.{column}" for name, columns in DATA["columns"].items() for column in columns}
    shared = [name for name in SENTENCES if name.startswith("pgsql") and name not in own]
    assert len(shared) > 100
    for name in shared:
        words = (SENTENCES[name] or "").replace("ProxySQL", "")
        assert "mysql" not in words.lower(), name
        assert "maria" not in words.lower(), name
        assert "galera" not in words.lower(), name


def test_a_sentence_names_the_variables_of_its_side() -> None:
    for side in ("mysql", "pgsql"):
        sentence = column_sentence(f"{side}_hostgroup_attributes", "init_connect")
        assert f"`{side}-init_connect`" in (sentence or "")


def test_a_name_that_does_not_exist_has_no_sentence() -> None:
    assert variable_sentence("no-such") is None
    assert column_sentence("mysql_servers", "no_such") is None
    assert table_sentence("no_such") is None
    assert manual("no_such") is None


def test_names_in_a_sentence_exist() -> None:
    """A name in backticks that looks like a variable is one."""
    for key, sentence in SENTENCES.items():
        for word in (sentence or "").split("`")[1::2]:
            if word.split("-")[0] in ("mysql", "pgsql", "admin") and "-" in word:
                assert any(name.startswith(word.rstrip("*")) for name in VARIABLES), (key, word)
