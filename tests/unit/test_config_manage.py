import pytest

from tests.unit.config_files import load, mistakes


def scope_of(folder, manage, table):
    tables = load(folder, f"manage: {{{table}: {manage}}}\n{table}: []\n").desired.tables
    return tables[table].scope


@pytest.mark.parametrize(
    ("manage", "inside", "outside"),
    [
        ("{rule_id: '10-20'}", [10, 15, 20], [9, 21]),
        ("{rule_id: '1,5, 10-20'}", [1, 5, 10], [2, 9]),
        ("{rule_id: [3, '10-20']}", [3, 10], [4]),
        ("{rule_id: 7}", [7], [6]),
    ],
)
def test_a_scope_of_numbers(tmp_path, manage, inside, outside):
    scope = scope_of(tmp_path, manage, "mysql_query_rules")
    assert all(scope.owns((rule_id,)) for rule_id in inside)
    assert not any(scope.owns((rule_id,)) for rule_id in outside)


def test_a_scope_of_names(tmp_path):
    scope = scope_of(tmp_path, "{username: ['app_*', root]}", "mysql_users")
    assert scope.owns(("app_1", 1))
    assert scope.owns(("root", 0))
    assert not scope.owns(("rooted", 1))
    assert not scope.owns(("APP_1", 1))
    assert scope.text == "username app_*, root"


def test_a_scope_of_several_columns_needs_all_of_them(tmp_path):
    scope = scope_of(tmp_path, "{hostgroup_id: '10-19', hostname: 'db*'}", "mysql_servers")
    assert scope.owns((10, "db1", 3306))
    assert not scope.owns((20, "db1", 3306))
    assert not scope.owns((10, "cache", 3306))
    assert scope.text == "hostgroup_id 10-19 and hostname db*"


def test_a_scope_takes_hostgroup_names(tmp_path):
    text = """
hostgroups: {writer: {id: 10}}
manage: {mysql_servers: {hostgroup_id: writer}}
mysql_servers: [{hostgroup_id: writer, hostname: a}]
"""
    servers = load(tmp_path, text).desired.tables["mysql_servers"]
    assert servers.scope.owns((10, "b", 1))
    assert not servers.scope.owns((11, "b", 1))


def test_a_row_outside_the_scope_is_a_mistake(tmp_path):
    text = """
manage: {mysql_query_rules: {rule_id: "10-20"}}
mysql_query_rules: [{rule_id: 10}, {rule_id: 30}]
"""
    assert mistakes(tmp_path, text) == [
        "3: mysql_query_rules: rule_id 30 is outside manage: rule_id 10-20"
    ]


def test_ignored_columns_count_only_at_insert(tmp_path):
    text = "manage: {ignore: {mysql_servers: [weight, comment]}}\nmysql_servers: []\n"
    servers = load(tmp_path, text).desired.tables["mysql_servers"]
    assert servers.keep_on_update == {"weight", "comment"}
    assert servers.scope is None


def test_a_scope_for_a_table_that_no_section_has_is_only_a_warning(tmp_path):
    project = load(tmp_path, "manage: {mysql_users: {username: a}}")
    assert project.desired.tables == {}
    assert project.desired.warnings == (
        "manage: mysql_users is in no section, so nothing of it is managed",
    )


@pytest.mark.parametrize(
    ("manage", "said"),
    [
        ("{}", "2: manage.mysql_query_rules: no key column"),
        ("{rule_id: []}", "2: manage.mysql_query_rules.rule_id: an empty list"),
    ],
)
def test_a_scope_that_says_nothing_is_a_mistake(tmp_path, manage, said):
    text = f"mysql_query_rules: []\nmanage: {{mysql_query_rules: {manage}}}"
    (found,) = mistakes(tmp_path, text)
    assert found.startswith(said)
