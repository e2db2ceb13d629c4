"""Our YAML: what is written reads back, with our own reader and with PyYAML."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from proxyctl.catalog import Kind, Layout, Value
from proxyctl.config.files import Sources
from proxyctl.config.mistakes import Mistakes
from proxyctl.config.project import load_project
from proxyctl.config.yaml import read_yaml
from proxyctl.formats.yaml import (
    Commented,
    EnvRef,
    quoted,
    write_document,
)
from proxyctl.state.row import KEEP
from tests.support.build import layout, row

RULES = "mysql_query_rules"

AWKWARD = (
    *("", " ", " lead", "trail ", "it's", 'say "x"', "back\\slash", "x" * 5000),
    *("010", "8.10", "12:30:45", "2024-01-01", "1e5", "1_000", "0x1f", ".5", ".inf", "+1", "-"),
    *("on", "Yes", "n", "NULL", "~", "null", "True", "=", "<<", "--- ", "?", "? x"),
    *("*alias", "&anchor", "!tag", "%dir", "@at", "`tick`", "{env: X}", "[a]", "a,b"),
    *("a: b", "a:", "#x", "a #b", "a#b", "^SELECT .* FROM `t\\d+` WHERE {{ x }}"),
    *("tab\tinside", "line\nbreak", "carriage\rreturn", "\r\n", "\x01\x1b\x7f"),
    *("\x85\u2028\u2029\ufeff", "größe 東京 🐬", "\ufffe\uffff", "\udce9t\udce9", "\udc80"),
)

TEXTS = st.one_of(
    st.sampled_from(AWKWARD),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30),
    st.binary(max_size=8).map(lambda b: b.replace(b"\0", b"").decode("utf-8", "surrogateescape")),
    st.text("'\"\\\n\t :#{}[],&*!|>%@`-?0159.exon~ ", max_size=12),
)


def expected(text: str) -> object:
    """What a YAML reader finds for a text."""
    if any("\ud800" <= character <= "\udfff" for character in text):
        return {"hex": text.encode("utf-8", "surrogateescape").hex()}
    return text


def both_readers(text: str) -> Any:
    """Read with our own reader and with PyYAML, which must agree."""
    mistakes = Mistakes()
    document = read_yaml(text, "x.yaml", mistakes)
    mistakes.raise_if_any()
    assert document is not None
    assert document.root == yaml.safe_load(text)
    return document.root


@pytest.mark.parametrize("text", AWKWARD)
def test_awkward_texts(text: str) -> None:
    assert both_readers(f"k: [{quoted(text)}, {{a: {quoted(text)}}}]\n") == {
        "k": [expected(text), {"a": expected(text)}]
    }


@given(TEXTS)
def test_any_text(text: str) -> None:
    assert both_readers(f"- {quoted(text)}\n- {{a: {quoted(text)}}}\n") == [
        expected(text),
        {"a": expected(text)},
    ]


@pytest.mark.parametrize("text", ["app", "10.0.0.1", "db-1.example.org", "/etc/x", "a_b"])
def test_plain_where_it_is_safe(text: str) -> None:
    assert quoted(text) == text


def test_a_document() -> None:
    users, servers = layout("mysql_users"), layout("mysql_servers")
    user = list(row("mysql_users", username="app", password="x", default_hostgroup=10))
    user[users.index["password"]] = EnvRef("APP_PASSWORD")  # type: ignore[call-overload]
    server = list(row("mysql_servers", hostname="db1"))
    server[servers.index["status"]] = KEEP  # type: ignore[call-overload]
    text = write_document(
        {
            "mysql_servers": (servers, [server]),
            "mysql_users": (users, [user]),
            "mysql_query_rules": (
                layout(RULES),
                [row(RULES, rule_id=1, active=0, apply=1, match_digest="^SELECT", OK_msg="")],
            ),
            "scheduler": (layout("scheduler"), []),
        },
        {
            "mysql-server_version": "8.0.36",
            "mysql-max_connections": "4096",
            "mysql-multiplexing": "1",
            "mysql-monitor_password": EnvRef("MONITOR_PASSWORD"),
            "mysql-threads": Commented("4", "works after a restart"),
        },
        header=["exported", "", "by hand\nversion: 2"],
        remarks={"mysql_users": ["hashes"]},
    )
    assert text == (
        "# exported\n"
        "#\n"
        "# by hand?version: 2\n"
        "version: 1\n"
        "\n"
        "variables:\n"
        "  mysql-server_version: '8.0.36'\n"
        "  mysql-max_connections: 4096\n"
        "  mysql-multiplexing: true\n"
        "  mysql-monitor_password: {env: MONITOR_PASSWORD}\n"
        "  # mysql-threads: 4   # works after a restart\n"
        "\n"
        "mysql_servers:\n"
        "  - {hostgroup_id: 0, hostname: db1}\n"
        "\n"
        "# hashes\n"
        "mysql_users:\n"
        "  - {username: app, password: {env: APP_PASSWORD}, default_hostgroup: 10}\n"
        "\n"
        "mysql_query_rules:\n"
        "  - {rule_id: 1, active: false, match_digest: '^SELECT', OK_msg: '', apply: true}\n"
        "\n"
        "scheduler: []\n"
    )
    both_readers(text)


def test_only_comments_under_variables() -> None:
    text = write_document({}, {"mysql-threads": Commented("4")})
    assert both_readers(text) == {"version": 1}
    assert "#   mysql-threads" in text or "# mysql-threads" in text


def test_null_is_not_empty() -> None:
    rows = [
        row("mysql_users", username="a", password=None, default_schema=None),
        row("mysql_users", username="b", password="", default_schema=""),
        row(RULES, rule_id=1, re_modifiers=None),
    ]
    users, rules = layout("mysql_users"), layout(RULES)
    text = write_document({"mysql_users": (users, rows[:2]), RULES: (rules, rows[2:])}, {})
    found = both_readers(text)
    assert found["mysql_users"] == [
        {"username": "a", "password": None},
        {"username": "b", "password": "", "default_schema": ""},
    ]
    assert found[RULES] == [{"rule_id": 1, "re_modifiers": None}]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('{"flagOUTs":[{"id":1,"weight":50}]}', '{"flagOUTs": [{"id": 1, "weight": 50}]}'),
        ('{"on": true, "a b": null, "1": "x"}', '{"on": true, "a b": null, "1": "x"}'),
        ("{}", "{}"),
        ("[]", "[]"),
        ('{"a": 1.50}', "'{\"a\": 1.50}'"),
        ('{"a": 1, "a": 2}', '\'{"a": 1, "a": 2}\''),
        ('{"a": 99999999999999999999}', "'{\"a\": 99999999999999999999}'"),
        ('"text"', "'\"text\"'"),
        ("not json", "'not json'"),
        ('{"hex":"7b7d"}', """'{"hex":"7b7d"}'"""),
        ('{"a": "\\ud800"}', '\'{"a": "\\ud800"}\''),
        (json.dumps({"k" * 2000: 1}), "'" + json.dumps({"k" * 2000: 1}) + "'"),
    ],
)
def test_json_columns(text: str, shown: str) -> None:
    users = layout("mysql_users")
    found = write_document(
        {"mysql_users": (users, [row("mysql_users", username="u", attributes=text)])}, {}
    )
    assert f"attributes: {shown}}}" in found
    read = both_readers(found)["mysql_users"][0]["attributes"]
    assert read == text or read == json.loads(text)


# Rows through the whole reader ----------------------------------------------------------------


def loaded(text: str, folder: Path) -> dict[str, list[tuple[object, ...]]]:
    """Compile a document; KEEP becomes the default, as an INSERT would have it."""
    path = folder / "proxyctl.yaml"
    path.write_text(text, encoding="utf-8")
    project = load_project(Sources((str(path),)))
    return {
        name: [
            tuple(
                column.default if value is KEEP else value
                for column, value in zip(table.layout.columns, desired, strict=True)
            )
            for desired in table.rows.values()
        ]
        for name, table in project.desired.tables.items()
    }


JSON_TEXTS = st.one_of(
    st.just(""),
    st.dictionaries(
        st.text(max_size=5),
        st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=8), st.floats(0, 1)),
        max_size=3,
    ).map(json.dumps),
)


def value_strategy(of: Layout, name: str) -> st.SearchStrategy[Value]:
    column = of.column(name)
    match column.kind:
        case Kind.BOOL:
            values: st.SearchStrategy[Value] = st.integers(0, 1)
        case Kind.INT:
            low, high = column.bounds
            values = st.integers(low or 0, min(high or 2**31 - 1, 2**31 - 1))
        case Kind.JSON:
            return JSON_TEXTS
        case Kind.TEXT:
            values = TEXTS
    return values if column.notnull else st.none() | values


FREE = {
    RULES: (
        *("active", "username", "schemaname", "flagIN", "proxy_addr", "match_digest"),
        *("negate_match_pattern", "flagOUT", "destination_hostgroup", "cache_ttl", "timeout"),
        *("error_msg", "OK_msg", "log", "apply", "attributes", "comment"),
    ),
    "mysql_users": (
        *("password", "active", "default_hostgroup", "default_schema", "transaction_persistent"),
        *("max_connections", "attributes", "comment"),
    ),
    "mysql_servers": ("port", "weight", "max_connections", "use_ssl", "comment"),
    "mysql_hostgroup_attributes": (
        *("init_connect", "ignore_session_variables", "comment", "multiplex"),
    ),
    "mysql_servers_ssl_params": ("username", "ssl_ca", "tls_version", "comment"),
    "scheduler": ("active", "arg1", "arg5", "comment"),
}
"""Columns whose values no check of the files judges, but for patterns, which are escaped here."""


@st.composite
def tables(draw: st.DrawFn) -> dict[str, list[tuple[Value, ...]]]:
    found: dict[str, list[tuple[Value, ...]]] = {}
    for table, columns in FREE.items():
        for number in range(draw(st.integers(0, 2))):
            of = layout(table)
            values = {name: draw(value_strategy(of, name)) for name in columns}
            match table:
                case "mysql_query_rules":
                    values["rule_id"] = number
                    if values["match_digest"] is not None:
                        values["match_digest"] = "x"
                case "mysql_users":
                    values["username"] = f"user{number}"
                case "mysql_servers" | "mysql_servers_ssl_params":
                    values["hostname"] = f"host{number}"
                case "mysql_hostgroup_attributes":
                    values["hostgroup_id"] = number
                case "scheduler":
                    # A quote in an argument is refused: RUNTIME would not show the row as it is.
                    values |= {
                        name: value.replace('"', "'")
                        for name, value in values.items()
                        if name.startswith("arg") and isinstance(value, str)
                    }
                    values |= {"id": number, "interval_ms": 1000, "filename": "/bin/true"}
            found.setdefault(table, []).append(row(table, **values))
    return found


@given(found=tables())
def test_rows_come_back(
    found: dict[str, list[tuple[Value, ...]]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    text = write_document({name: (layout(name), rows) for name, rows in found.items()}, {})
    both_readers(text)
    back = loaded(text, tmp_path_factory.mktemp("yaml"))
    for name, rows in found.items():
        of = layout(name)
        json_columns = [of.index[c.name] for c in of.columns if c.kind is Kind.JSON]
        for before, after in zip(rows, back[name], strict=True):
            for position, (old, new) in enumerate(zip(before, after, strict=True)):
                if position in json_columns and old:
                    assert json.loads(str(old)) == json.loads(str(new))
                else:
                    assert old == new, of.names[position]


def test_variables_come_back(tmp_path: Path) -> None:
    variables = {
        "mysql-server_version": "8.0.36",
        "mysql-max_connections": "4096",
        "mysql-multiplexing": "false",
        "mysql-init_connect": "SET sql_mode='ANSI'; SET x=\"y\"",
        "mysql-monitor_password": "on",
        "admin-admin_credentials": "admin:admin;radmin:it's",
    }
    back = loaded(write_document({}, variables), tmp_path)
    assert dict(map(tuple, back["mysql_variables"] + back["admin_variables"])) == variables  # type: ignore[arg-type]


def test_ten_thousand_rules_are_written_fast() -> None:
    rows = [
        row(RULES, rule_id=n, match_digest=f"^SELECT .* t{n}", destination_hostgroup=n % 9, apply=1)
        for n in range(10_000)
    ]
    begin = time.process_time()
    text = write_document({RULES: (layout(RULES), rows)}, {})
    assert time.process_time() - begin < 1
    assert text.count("\n") > 10_000
