from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.unit.config_files import load, mistakes


@dataclass(frozen=True)
class ScopeCase:
    """A scope of a table, keys of rows inside and outside of it, and its text where that tells."""

    table: str
    manage: str
    inside: list[tuple[object, ...]]
    outside: list[tuple[object, ...]]
    text: str | None = None


@pytest.mark.parametrize(
    "case",
    [
        ScopeCase(
            table="mysql_query_rules",
            manage="{rule_id: '10-20'}",
            text="rule_id 10-20",
            inside=[(10,), (20,)],
            outside=[(9,), (21,)],
        ),
        ScopeCase(
            table="mysql_query_rules",
            manage="{rule_id: '1,5, 10-20'}",
            inside=[(1,), (5,), (10,)],
            outside=[(2,), (9,)],
        ),
        ScopeCase(
            table="mysql_query_rules",
            manage="{rule_id: [3, '10-20']}",
            inside=[(3,), (10,)],
            outside=[(4,)],
        ),
        ScopeCase(table="mysql_query_rules", manage="{rule_id: 7}", inside=[(7,)], outside=[(6,)]),
        ScopeCase(
            table="mysql_users",
            manage="{username: ['app_*', root]}",
            text="username app_*, root",
            inside=[("app_1", 1), ("root", 0)],
            outside=[("rooted", 1), ("APP_1", 1)],
        ),
        ScopeCase(
            table="mysql_servers",
            manage="{hostgroup_id: '10-19', hostname: 'db*'}",
            text="hostgroup_id 10-19 and hostname db*",
            inside=[(10, "db1", 3306)],
            outside=[(20, "db1", 3306), (10, "cache", 3306)],
        ),
        ScopeCase(
            table="mysql_servers",
            manage="{hostgroup_id: writer}",
            inside=[(10, "b", 1)],
            outside=[(11, "b", 1)],
        ),
    ],
    ids=lambda case: case.manage,
)
def test_what_a_scope_owns(tmp_path, case):
    hostgroups = "hostgroups: {writer: {id: 10}}\n"
    files = f"{hostgroups}manage: {{{case.table}: {case.manage}}}\n{case.table}: []\n"
    scope = load(tmp_path, files).desired.tables[case.table].scope
    assert all(map(scope.owns, case.inside))
    assert not any(map(scope.owns, case.outside))
    assert case.text in (None, scope.text)


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
