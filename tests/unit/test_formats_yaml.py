"""Our YAML: what is written reads back, with our own reader and with PyYAML."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from proxyctl.config.mistakes import Mistakes
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


def test_ten_thousand_rules_are_written_fast() -> None:
    rows = [
        row(RULES, rule_id=n, match_digest=f"^SELECT .* t{n}", destination_hostgroup=n % 9, apply=1)
        for n in range(10_000)
    ]
    begin = time.process_time()
    text = write_document({RULES: (layout(RULES), rows)}, {})
    assert time.process_time() - begin < 1
    assert text.count("\n") > 10_000
