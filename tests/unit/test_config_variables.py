import json

import pytest

from proxyctl.catalog import REFERENCE, VariableKind, Version, parse_version
from proxyctl.catalog.variable_rules import CHARSET, COLLATION
from proxyctl.catalog.variables import CHOICES, NEVER_EMPTY, STEPS, VARIABLES
from tests.unit.config_files import load, mistakes


def texts(folder, text, **options):
    tables = load(folder, text, **options).desired.tables
    return {row[0]: row[1] for table in tables.values() for row in table.rows.values()}


@pytest.mark.parametrize(
    ("name", "given", "written"),
    [
        ("mysql-server_version", '"8.0.36"', "8.0.36"),
        ("mysql-server_version", '"5.1.73"', "5.1.73"),
        ("mysql-server_version", '"5.5.30"', "5.5.30"),
        ("mysql-threads", "8", "8"),
        ("mysql-have_ssl", "True", "true"),
        ("mysql-connection_warming", "0", "false"),
        ("mysql-init_connect", '""', ""),
        ("admin-restapi_enabled", "false", "false"),
        ("mysql-default_session_track_gtids", "own_gtid", "OWN_GTID"),
    ],
)
def test_values_are_written_as_proxysql_writes_them(tmp_path, name, given, written):
    assert texts(tmp_path, f"variables: {{{name}: {given}}}") == {name: written}


def test_every_default_is_accepted(tmp_path):
    known = {
        name: variable for name, variable in VARIABLES.items() if variable.exists_in(REFERENCE)
    }
    given = {
        name: variable.default
        for name, variable in known.items()
        if variable.default is not None and not (variable.default == "" and name in NEVER_EMPTY)
    }
    lines = (
        f"  {name}: {json.dumps(text) if known[name].kind is VariableKind.TEXT else text}\n"
        for name, text in given.items()
    )
    assert texts(tmp_path, "variables:\n" + "".join(lines)) == given
    for name in NEVER_EMPTY & known.keys():
        (found,) = mistakes(tmp_path, f"variables: {{{name}: ''}}")
        assert "never sets this to an empty value" in found


def test_the_tables_of_this_module_name_variables_that_exist():
    assert NEVER_EMPTY | set(CHOICES) | set(STEPS) <= set(VARIABLES)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            "mysql-default_charset: latin1",
            "ProxySQL accepts a character set only together with one of its collations",
        ),
        (
            "mysql-default_collation_connection: latin1_bin",
            "ProxySQL sets the character set of the collation",
        ),
        (
            "mysql-default_charset: utf16le, mysql-default_collation_connection: utf16_bin",
            "makes ProxySQL change this to 'utf16'",
        ),
        (
            "mysql-passthrough_auth_enabled: true",
            "ProxySQL 3.0.3 has no such variable and would drop it; it came with 3.0.10",
        ),
    ],
)
def test_values_that_proxysql_would_not_take(tmp_path, given, message):
    (found,) = mistakes(tmp_path, f"variables: {{{given}}}")
    assert found.endswith(message)


@pytest.mark.parametrize(
    ("version", "given", "message"),
    [
        (
            "2.7.1",
            "mysql-query_digests_groups_grouping_limit: 200",
            "a query with a list can crash",
        ),
        ("3.0.3", "pgsql-default_charset: UTF8", "it was last in 3.0.0"),
        ("3.0.3", "pgsql-default_collation_connection: x", "it was last in 3.0.0"),
        ("3.0.3", "pgsql-server_capabilities: 569867", "it was last in 3.0.0"),
    ],
)
def test_what_one_version_does_not_take(tmp_path, version, given, message):
    (found,) = mistakes(tmp_path, f"variables: {{{given}}}", version=parse_version(version))
    assert message in found


def test_grouping_limits_beyond_a_signed_byte_are_taken_from_3_0_on(tmp_path):
    given = {f"mysql-query_digests_{name}grouping_limit": "200" for name in ("", "groups_")}
    listed = ", ".join(f"{name}: {number}" for name, number in given.items())
    text = f"variables: {{{listed}, mysql-passthrough_auth_enabled: false}}"
    assert texts(tmp_path, text, version=Version(3, 0, 12)).items() >= given.items()


def test_a_variable_newer_than_the_catalogue_is_taken(tmp_path):
    newer = Version(3, 0, 99)
    project = load(tmp_path, "variables: {mysql-brand_new: 8, mysql-thread: on_}", version=newer)
    assert len(project.desired.warnings) == 2
    assert "did you mean 'mysql-threads'?" in project.desired.warnings[1]


def test_variables_of_postgresql(tmp_path):
    found = texts(tmp_path, "variables: {pgsql-threads: 8}", version=Version(3, 0, 0))
    assert found == {"pgsql-threads": "8"}


def test_character_set_and_collation_are_named_together(tmp_path):
    given = {"mysql-default_charset": "utf8mb3", "mysql-default_collation_connection": "utf8_BIN"}
    listed = ", ".join(f"{name}: {text}" for name, text in given.items())
    assert texts(tmp_path, f"variables: {{{listed}}}") == {**given, COLLATION: "utf8_bin"}


def test_a_newer_proxysql_may_know_more_collations(tmp_path):
    text = f"variables: {{{CHARSET}: utf8mb4, {COLLATION}: utf8mb4_new_ci}}"
    project = load(tmp_path, text, version=Version(3, 0, 99))
    rows = project.desired.tables["mysql_variables"].rows
    assert [row[1] for row in rows.values()] == ["utf8mb4", "utf8mb4_new_ci"]
    assert "may be newer" in project.desired.warnings[0]
