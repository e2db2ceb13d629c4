import pytest

from proxyctl.catalog import REFERENCE, Version
from proxyctl.catalog.variables import CHOICES, NEVER_EMPTY, STEPS, VARIABLES, VariableKind
from proxyctl.errors import ConfigError
from tests.unit.config_files import load, mistakes


def texts(folder, text, **options):
    tables = load(folder, text, **options).desired.tables
    return {row[0]: row[1] for table in tables.values() for row in table.rows.values()}


def test_values_are_written_as_proxysql_writes_them(tmp_path):
    text = """
variables:
  mysql-server_version: "8.0.36"
  mysql-threads: 8
  mysql-have_ssl: True
  mysql-connection_warming: 0
  mysql-init_connect: ""
  admin-restapi_enabled: false
"""
    assert texts(tmp_path, text) == {
        "mysql-server_version": "8.0.36",
        "mysql-threads": "8",
        "mysql-have_ssl": "true",
        "mysql-connection_warming": "false",
        "mysql-init_connect": "",
        "admin-restapi_enabled": "false",
    }


def test_only_the_named_variables_are_managed(tmp_path):
    text = "variables: {mysql-threads: 8, admin-web_enabled: true}"
    tables = load(tmp_path, text).desired.tables
    assert list(tables) == ["mysql_variables", "admin_variables"]
    mysql = tables["mysql_variables"]
    assert mysql.owns(("mysql-threads",))
    assert not mysql.owns(("mysql-max_connections",))
    assert mysql.where[("mysql-threads",)].line == 1


@pytest.mark.parametrize("name", sorted(VARIABLES))
def test_every_default_is_accepted(tmp_path, name):
    variable = VARIABLES[name]
    if variable.default is None or not variable.exists_in(REFERENCE):
        return
    if variable.default == "" and name in NEVER_EMPTY:
        (found,) = mistakes(tmp_path, f"variables: {{{name}: ''}}")
        assert "never makes this empty" in found
        return
    value = f'"{variable.default}"'
    if variable.kind is not VariableKind.TEXT:
        value = variable.default
    assert (
        texts(tmp_path, f"variables: {{{name}: {value}}}").items()
        >= {name: variable.default}.items()
    )


def test_the_tables_of_this_module_name_variables_that_exist():
    assert NEVER_EMPTY | set(CHOICES) | set(STEPS) <= set(VARIABLES)


def test_units_are_not_read(tmp_path):
    (found,) = mistakes(tmp_path, "variables: {mysql-query_cache_size_MB: 64M}")
    assert found.endswith("expected an integer from 0 to 10485760, got text '64M'")


def test_a_number_for_a_text_has_to_be_quoted(tmp_path):
    (found,) = mistakes(tmp_path, "variables: {mysql-server_version: 8.10}")
    assert found.endswith("expected text, got the decimal number 8.10")


def test_a_variable_that_proxysql_does_not_have(tmp_path):
    assert "no such variable" in mistakes(tmp_path, "variables: {mysql-thread: 8}")[0]
    newer = Version(2, 9, 0)
    project = load(tmp_path, "variables: {mysql-brand_new: 8, mysql-thread: on_}", version=newer)
    assert len(project.desired.warnings) == 2
    assert "did you mean 'mysql-threads'?" in project.desired.warnings[1]


def test_variables_of_postgresql_need_a_version_that_has_it(tmp_path):
    text = "variables: {pgsql-threads: 8}"
    assert "has no table pgsql_variables" in mistakes(tmp_path, text)[0]
    assert texts(tmp_path, text, version=Version(3, 0, 0)) == {"pgsql-threads": "8"}


@pytest.mark.parametrize(
    ("given", "added"),
    [
        ("mysql-default_charset: UTF8MB4", ("utf8mb4", "utf8mb4_general_ci")),
        ("mysql-default_charset: utf8mb3", ("utf8mb3", "utf8_general_ci")),
        ("mysql-default_collation_connection: latin1_BIN", ("latin1", "latin1_bin")),
        (
            "mysql-default_charset: utf8mb3, mysql-default_collation_connection: utf8_bin",
            ("utf8mb3", "utf8_bin"),
        ),
    ],
)
def test_character_set_and_collation_come_together(tmp_path, given, added):
    names = ("mysql-default_charset", "mysql-default_collation_connection")
    found = texts(tmp_path, f"variables: {{{given}}}")
    assert found == dict(zip(names, added, strict=True))


def test_a_variable_that_comes_along_says_why(tmp_path):
    table = load(tmp_path, "variables: {mysql-default_charset: utf8}").desired.tables[
        "mysql_variables"
    ]
    key = ("mysql-default_collation_connection",)
    assert table.owns(key)
    assert table.where[key].origin == "mysql-default_charset"


def test_before_there_was_a_collation_none_comes_along(tmp_path):
    text = "variables: {mysql-default_charset: utf8}"
    assert texts(tmp_path, text, version=Version(2, 0, 5)) == {"mysql-default_charset": "utf8"}


def test_a_character_set_without_a_fitting_default_needs_its_collation(tmp_path):
    (found,) = mistakes(tmp_path, "variables: {mysql-default_charset: utf16le}")
    assert "change this to 'utf16'" in found


def test_a_newer_proxysql_may_know_more_collations(tmp_path):
    text = "variables: {mysql-default_collation_connection: utf8mb4_new_ci}"
    project = load(tmp_path, text, version=Version(2, 9, 0))
    rows = project.desired.tables["mysql_variables"].rows
    assert [row[1] for row in rows.values()] == ["utf8mb4_new_ci"]
    assert "may know more" in project.desired.warnings[0]


@pytest.mark.parametrize("version", ["5.1.73", "5.1", "5.5.30"])
def test_only_one_old_version_is_changed_by_proxysql(tmp_path, version):
    text = f'variables: {{mysql-server_version: "{version}"}}'
    assert texts(tmp_path, text) == {"mysql-server_version": version}


def test_gtids_are_written_as_runtime_shows_them(tmp_path):
    text = "variables: {mysql-default_session_track_gtids: own_gtid}"
    assert texts(tmp_path, text) == {"mysql-default_session_track_gtids": "OWN_GTID"}


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("mysql-max_connection", "did you mean 'mysql-max_connections'?"),
        ("mysql-connect_timeout_max", "did you mean 'mysql-connect_timeout_server_max'?"),
        ("max_connections", "did you mean 'mysql-max_connections'?"),
        # They differ in the one word that matters: no suggestion beats a poor one.
        ("mysql-default_connect_timeout", None),
        ("mysql-monitor_ssl", None),
    ],
)
def test_a_suggestion_is_what_may_have_been_meant(tmp_path, name, hint):
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, f"variables: {{{name}: 1}}")
    assert caught.value.mistakes[0].hint == hint
