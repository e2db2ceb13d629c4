import pytest

from tests.unit.config_files import load, mistakes


@pytest.mark.parametrize(
    ("table", "manage", "text", "inside", "outside"),
    [
        ("mysql_query_rules", "{rule_id: '10-20'}", "rule_id 10-20", [(10,), (20,)], [(9,), (21,)]),
        ("mysql_query_rules", "{rule_id: '1,5, 10-20'}", None, [(1,), (5,), (10,)], [(2,), (9,)]),
        ("mysql_query_rules", "{rule_id: [3, '10-20']}", None, [(3,), (10,)], [(4,)]),
        ("mysql_query_rules", "{rule_id: 7}", None, [(7,)], [(6,)]),
        (
            "mysql_users",
            "{username: ['app_*', root]}",
            "username app_*, root",
            [("app_1", 1), ("root", 0)],
            [("rooted", 1), ("APP_1", 1)],
        ),
        (
            "mysql_servers",
            "{hostgroup_id: '10-19', hostname: 'db*'}",
            "hostgroup_id 10-19 and hostname db*",
            [(10, "db1", 3306)],
            [(20, "db1", 3306), (10, "cache", 3306)],
        ),
        ("mysql_servers", "{hostgroup_id: writer}", None, [(10, "b", 1)], [(11, "b", 1)]),
    ],
)
def test_what_a_scope_owns(tmp_path, table, manage, text, inside, outside):
    files = f"hostgroups: {{writer: {{id: 10}}}}\nmanage: {{{table}: {manage}}}\n{table}: []\n"
    scope = load(tmp_path, files).desired.tables[table].scope
    assert all(map(scope.owns, inside))
    assert not any(map(scope.owns, outside))
    assert text in (None, scope.text)


def test_ignored_columns_count_only_at_insert(tmp_path):
    text = "manage: {ignore: {mysql_servers: [weight, comment]}}\nmysql_servers: []\n"
    servers = load(tmp_path, text).desired.tables["mysql_servers"]
    assert servers.keep_on_update == {"weight", "comment"}
    assert servers.scope is None


def test_a_scope_for_a_table_that_no_section_has_is_only_a_warning(tmp_path):
    project = load(tmp_path, "manage: {mysql_users: {username: a}}\nscheduler: []")
    assert [*project.desired.tables] == ["scheduler"]
    assert project.desired.warnings == (
        "manage: no section has mysql_users, so none of its rows are managed",
    )


@pytest.mark.parametrize(
    ("manage", "message"),
    [
        ("{}", "2: manage.mysql_query_rules: no key column"),
        ("{rule_id: []}", "2: manage.mysql_query_rules.rule_id: the list is empty"),
    ],
)
def test_a_scope_that_says_nothing_is_a_mistake(tmp_path, manage, message):
    text = f"mysql_query_rules: []\nmanage: {{mysql_query_rules: {manage}}}"
    (found,) = mistakes(tmp_path, text)
    assert found.startswith(message)
