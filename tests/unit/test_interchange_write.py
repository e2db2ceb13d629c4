"""Export of passwords, of rows that files cannot hold, and of secrets."""

from __future__ import annotations

import re

import pytest

from proxyctl.catalog import REFERENCE, TABLES, Column, Deviations, Version, layout_of
from proxyctl.config.files import mistakes_in
from proxyctl.errors import Mistake
from proxyctl.interchange.content import FileContent, with_secrets
from proxyctl.interchange.fold import from_runtime
from proxyctl.interchange.write import written_file
from proxyctl.interchange.yaml import Commented, write_document
from proxyctl.proxysql.passwords import native_hash
from proxyctl.rows.row import KEEP, Layer
from tests.support import build
from tests.support.build import layout, row

VERSION = Version(3, 0, 0)
SCRAM = "SCRAM-SHA-256$4096:c2FsdA==$c3RvcmVk:c2VydmVy"
MD5 = "md5" + "0123456789abcdef" * 2
NATIVE = native_hash("secret")


def exported_password(table: str, password: str | None, secrets: str):
    layout = layout_of(TABLES[table], VERSION)
    cells = dict(zip(layout.names, layout.defaults, strict=True))
    row = tuple((cells | {"username": "u", "password": password}).values())
    content = FileContent(VERSION)
    (found,) = with_secrets(content, layout, [row], secrets)
    return found[layout.index["password"]], content.warnings


@pytest.mark.parametrize(
    ("table", "password", "expected"),
    [
        ("mysql_users", "secret", NATIVE),
        ("mysql_users", NATIVE, NATIVE),
        ("mysql_users", SCRAM, native_hash(SCRAM)),
        ("pgsql_users", SCRAM, SCRAM),
        ("pgsql_users", MD5, MD5),
        ("pgsql_users", "", ""),
        ("pgsql_users", None, None),
    ],
)
def test_a_hash_is_exported_as_it_is_and_mysql_clear_text_hashed(table, password, expected):
    assert exported_password(table, password, "hash") == (expected, [])


@pytest.mark.parametrize("password", ["secret", NATIVE])
def test_a_clear_text_password_of_postgresql_is_left_out_with_a_warning(password):
    found, (warning,) = exported_password("pgsql_users", password, "hash")
    assert found is KEEP
    assert warning.startswith("pgsql user u: password is left out")
    assert password not in warning


def test_a_server_that_memory_switched_off_and_nobody_loaded_is_what_runs():
    layout = build.layout("mysql_servers")
    runtime = build.rows(layout.name, {"hostname": "h", "status": "ONLINE"})
    memory = build.rows(layout.name, {"hostname": "h", "status": "OFFLINE_HARD"})
    layers = {Layer.RUNTIME: runtime, Layer.MEMORY: memory, Layer.DISK: memory}
    assert from_runtime(layout, layers) == runtime


RULES, USERS = "mysql_query_rules", "mysql_users"


def written(content: FileContent) -> str:
    return written_file(
        content,
        "yaml",
        "clear",
        check=lambda text: mistakes_in(text, content.version, content.deviations),
    ).text


def content_of(table, *given, of=None):
    content = FileContent(REFERENCE)
    content.layouts[table] = of or layout(table)
    content.tables[table] = [row(table, **values) for values in given]
    return content


def test_only_one_of_two_conflicting_rows_is_left_out():
    table = "mysql_galera_hostgroups"
    hostgroups = ("writer", "backup_writer", "reader", "offline")
    given = [
        {f"{role}_hostgroup": first + n for n, role in enumerate(hostgroups)} for first in (1, 4)
    ]
    content = content_of(table, *given)
    assert "  - {writer_hostgroup: 1," in written(content)
    assert list(content.left_out[table]) == [(4,)]


def test_a_column_that_only_the_instance_knows_is_written():
    colour = Column("colour", "VARCHAR", default="red", kept=True, is_listed=False)
    deviations = Deviations(frozenset({(RULES, colour)}))
    newer = deviations.layout_of(TABLES[RULES], REFERENCE)
    content = FileContent(REFERENCE, {RULES: newer}, deviations)
    content.tables[RULES] = [
        (*row(RULES, rule_id=1), "red"),
        (*row(RULES, rule_id=2), "blue"),
    ]
    assert re.findall("colour: .*(?=})", written(content)) == ["colour: blue"]
    assert content.warnings == [
        "rule 2: colour: proxyctl does not know this column; plan and apply accept it for an"
        " instance that has it, but validate refuses it"
    ]


def test_a_mistake_of_the_whole_file_is_a_warning():
    content = content_of(RULES, {"rule_id": 1})
    written_file(content, "yaml", "clear", check=lambda _: [Mistake("", 1, 1, "", "odd")])
    assert content.warnings == ["the file will be refused: odd"]


def test_a_large_table_is_left_to_validate():
    content = content_of(RULES, {"rule_id": 1, "match_digest": "(("})
    content.layouts[USERS] = layout(USERS)
    content.tables[USERS] = [row(USERS, username=f"u{n}") for n in range(20_001)]
    checked = []

    def check(text):
        checked.append(text)
        return mistakes_in(text, REFERENCE)

    text = written_file(content, "yaml", "clear", check=check).text
    assert text.count("{username: ") == 20_001
    assert "#   - {rule_id: 1, match_digest: '(('}" in text
    assert USERS not in checked[0]


def test_the_places_of_a_document_are_lines_of_it():
    users = [row(USERS, username=name) for name in ("a", "mysql_servers:")]
    tables = {USERS: (layout(USERS), users), RULES: (layout(RULES), [row(RULES, rule_id=2)])}
    variables = {"mysql-threads": Commented("1"), "mysql-have_ssl": "true"}
    text, places = write_document(tables, variables, remarks={RULES: ["left out", "  - {id: 1}"]})
    found = {text.split("\n")[line - 1]: place for line, place in places.items()}
    assert [*found.values()] == [
        ("variables", "mysql-have_ssl"),
        (USERS, 0),
        (USERS, 1),
        (RULES, 0),
    ]
    assert all(str(item) in line or "  - {" in line for line, (_, item) in found.items())


def test_a_script_without_secrets_sets_none() -> None:
    content = content_of(USERS, {"username": "app", "password": "pw"})
    script = written_file(content, "sql", "omit").text
    runs = [line for line in script.splitlines() if not line.startswith("-- ")]
    assert not [line for line in runs if "password" in line or "***" in line]
    assert any(line.startswith("UPDATE mysql_users SET active=") for line in runs)
    assert [line for line in script.splitlines() if "***" in line and "INSERT" in line]


def test_a_cnf_leaves_out_a_user_without_a_password() -> None:
    content = content_of(USERS, {"username": "app", "password": KEEP})
    assert "username" not in written_file(content, "cnf", "hash").text
    assert content.warnings == [
        "not in the .cnf: user app: no password is set here, and without one anyone could log in"
    ]
