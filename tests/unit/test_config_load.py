"""What a file means: defaults, names, sections that stand for several tables."""

import pytest

from proxyctl.catalog import parse_version
from tests.unit.config_files import load, mistakes


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
    ("text", "said"),
    [
        ("mysql_users: [{username: a, attributes: '{\"a\": NaN}'}]", "NaN is not a JSON number"),
        ("mysql_servers: {csv: a, jsonl: b}", "expected a list of rows"),
        # What stands there may be a password: its type is enough.
        ("mysql_users: sesame", "mysql_users: expected a list, got text"),
        ("sesame", "expected a mapping of sections, got text"),
        ("global_variables: {}", "write `variables:`"),
        ("version: true", "expected 1, got true"),
        ("sharding: [{tables: [a], hostgroups: [1], first_rule_id: 1}]", "name is missing"),
    ],
)
def test_sections_of_the_wrong_shape(tmp_path, text, said):
    (found,) = mistakes(tmp_path, text)
    assert said in found
    assert "sesame" not in found
