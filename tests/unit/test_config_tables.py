"""Sections, and tables that come from CSV and JSON lines."""

from __future__ import annotations

import json

import pytest

from proxyctl.catalog import parse_version
from proxyctl.errors import ConfigError
from proxyctl.rows.row import KEEP
from tests.unit.config_files import load, mistakes, row


def tables_of(folder, text, **options):
    return load(folder, text, **options).desired.tables


@pytest.mark.parametrize("text", ["", "version: 1\n", "hostgroups: {writer: {id: 10}}"])
def test_a_file_without_a_table_manages_nothing(tmp_path, text):
    assert tables_of(tmp_path, text) == {}


def test_rows_follow_the_layout_of_the_version(tmp_path):
    text = "mysql_hostgroup_attributes: [{hostgroup_id: 1}]"
    old = tables_of(tmp_path, text, version=parse_version("2.5.5"))["mysql_hostgroup_attributes"]
    assert "hostgroup_settings" not in old.layout.index
    assert len(old.rows[(1,)]) == len(old.layout.columns)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mysql_users: [{username: a, attributes: '{\"a\": NaN}'}]", "NaN is not a JSON number"),
        ("mysql_servers: {csv: a, jsonl: b}", "expected a list of rows"),
        # What stands there may be a password: its type is enough.
        ("mysql_users: sesame", "mysql_users: expected a list, got text"),
        ("sesame", "expected a mapping of sections, got text"),
        ("global_variables: {}", "write `variables:`"),
        ("sharding: [{tables: [a], hostgroups: [1], first_rule_id: 1}]", "name is missing"),
    ],
)
def test_sections_of_the_wrong_shape(tmp_path, text, message):
    (found,) = mistakes(tmp_path, text)
    assert message in found
    assert "sesame" not in found


ROUTING = "hostgroups: {s0: {id: 100}}\nmysql_query_rules_fast_routing: {csv: rows.csv}\n"


def test_a_table_from_csv(tmp_path):
    content = "schemaname,username,destination_hostgroup\nt1,app,s0\nt2,b,101\n"
    table = load(tmp_path, ROUTING, rows__csv=content).desired.tables[
        "mysql_query_rules_fast_routing"
    ]
    assert table.rows == {
        ("app", "t1", 0): ("app", "t1", 0, 100, ""),
        ("b", "t2", 0): ("b", "t2", 0, 101, ""),
    }
    assert str(table.where[("b", "t2", 0)]) == f"{tmp_path}/rows.csv:3:1"
    assert str(table.used["schemaname"]) == f"{tmp_path}/rows.csv:2:1"
    assert "comment" not in table.used


def test_empty_is_absent_and_backslash_n_is_null(tmp_path):
    content = (
        "username,password,active,default_schema,attributes,comment\n"
        'a,,,,,"with, comma"\n'
        r'b,\N,false,\N,"{""a"": 1}",' + "\n"
        "c,x,true,db,,\n"
    )
    users = load(tmp_path, "mysql_users: {csv: u.csv}", u__csv=content).desired.tables[
        "mysql_users"
    ]
    a, b, c = (row(users, name, 1) for name in "abc")
    assert (a["password"], a["active"], a["default_schema"]) == (KEEP, 1, None)
    assert (b["password"], b["active"], b["default_schema"]) == (None, 0, None)
    assert (c["password"], c["active"], c["default_schema"]) == ("x", 1, "db")
    assert (a["attributes"], b["attributes"]) == ("", '{"a": 1}')
    assert a["comment"] == "with, comma"


def test_lines_are_those_of_the_file_also_behind_a_field_of_two_lines(tmp_path):
    content = 'username,comment\na,"one\ntwo"\n\nb,x\nb,y\n'
    found = mistakes(tmp_path, "mysql_users: {csv: u.csv}", u__csv=content)
    assert found == [
        f"6: mysql_users: duplicate username b, backend 1 (first defined at {tmp_path}/u.csv:5:1)"
    ]


def test_line_separators_inside_text_do_not_count_as_lines(tmp_path):
    content = "username,comment\na,one\x0bstill one\u2028still\nb,x\nb,y\n"
    (found,) = mistakes(tmp_path, "mysql_users: {csv: u.csv}", u__csv=content)
    assert found.startswith("4: ")


@pytest.mark.parametrize(
    "content",
    [
        "username,password,default_hostgroup,active\na,x,,\nb,,s0,false\nc,x,5,1\n",
        'attributes,username,comment\n,a,\n"{""a"": 1}",b,"c, d"\n',
        "username,default_schema\na,\\N\nb,\n",
    ],
)
def test_a_file_with_a_blank_line_holds_the_same_rows(tmp_path, content):
    """A blank line means that the rows are validated one by one, not column by column."""
    files = "hostgroups: {s0: {id: 100}}\nmysql_users: {csv: u.csv}"
    by_column, by_row = (
        load(tmp_path, files, u__csv=text).desired.tables["mysql_users"]
        for text in (content, content + "\n")
    )
    assert by_column == by_row
    assert {key: str(where) for key, where in by_column.where.items()} == {
        key: f"{tmp_path}/u.csv:{line}:1" for line, key in enumerate(by_column.rows, 2)
    }


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("\n\n", "1: username: the header lacks the column username"),
        ("username\nab\0c\n", "2: username: a NUL character cannot be stored in ProxySQL"),
        ("password\nx\n", "1: username: the header lacks the column username"),
        ("username,max_connections\na,99999999999\n", "2: max_connections: expected an integer"),
        ("username,attributes\na,{\n", "2: attributes: not JSON"),
        ('username\n"a\n', "not CSV"),
    ],
)
def test_what_is_wrong_in_a_csv_file(tmp_path, content, message):
    (found,) = mistakes(tmp_path, "mysql_users: {csv: u.csv}", u__csv=content)
    assert message in found


def test_a_table_from_jsonl(tmp_path, monkeypatch):
    monkeypatch.setenv("APP_PASSWORD", "x")
    rows = [
        {"username": "a", "password": {"env": "APP_PASSWORD"}, "active": True},
        {"username": "b", "attributes": {"a": 1}},
    ]
    content = "\n".join(map(json.dumps, rows)) + "\n\n"
    users = load(tmp_path, "mysql_users: {jsonl: u.jsonl}", u__jsonl=content).desired.tables[
        "mysql_users"
    ]
    assert row(users, "a", 1)["password"] == "x"
    assert row(users, "b", 1)["attributes"] == '{"a":1}'
    assert str(users.where[("b", 1)]) == f"{tmp_path}/u.jsonl:2:1"


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_a_byte_that_is_no_utf_8_is_a_mistake_in_its_own_file(tmp_path, kind):
    (tmp_path / "rows").write_bytes(b"username\nab\xe9\n")
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, f"mysql_users: {{{kind}: rows}}")
    (mistake,) = caught.value.mistakes
    assert mistake.lines()[0].startswith(f"{tmp_path}/rows:2:3: not UTF-8: byte 0xE9")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"rule_id": 1, "comment": "\\ud800"}', "not JSON: text that is not UTF-8"),
        ('{"rule_id": 1, "comment": "\\udcff"}', "not JSON: text that is not UTF-8"),
        ('{"rule_id": 1, "\\ud800": 1}', "not JSON: text that is not UTF-8"),
        ('{"rule_id": 1, "attributes": {"a": ["\\ud800"]}}', "not JSON: text that is not UTF-8"),
        ('{"rule_id": 1, "attributes": ' + "[" * 100_000, "not JSON: nested too deeply"),
        (
            '{"rule_id": ' + "9" * 5000 + "}",
            "not JSON: Exceeds the limit",
        ),
        ('{"rule_id": NaN}', "not JSON: NaN is not a JSON number"),
    ],
)
def test_json_that_only_python_understands(tmp_path, content, message):
    text = "mysql_query_rules: {jsonl: r.jsonl}"
    (found,) = mistakes(tmp_path, text, r__jsonl=f'{{"rule_id": 7}}\n{content}\n')
    assert found.startswith(f"2: : {message}")


def test_a_whole_surrogate_pair_is_a_character(tmp_path):
    content = '{"rule_id": 1, "comment": "\\ud83d\\ude00"}'
    project = load(tmp_path, "mysql_query_rules: {jsonl: r.jsonl}", r__jsonl=content)
    assert row(project.desired.tables["mysql_query_rules"], 1)["comment"] == "\U0001f600"
