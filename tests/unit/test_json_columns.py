"""Keys and values that ProxySQL ignores in its JSON columns, in files and in an export."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from proxyctl.catalog import NO_DEVIATIONS, parse_version
from proxyctl.proxysql.cells import read_json
from tests.unit.config_files import mistakes

MYSQL, PGSQL = "mysql_hostgroup_attributes", "pgsql_hostgroup_attributes"


def file_of(table: str, column: str, value: object) -> str:
    return f"{table}: [{{hostgroup_id: 1, {column}: {json.dumps(value)}}}]\n"


@pytest.mark.parametrize(
    ("version", "table", "column", "value", "message"),
    [
        ("2.7.1", MYSQL, "hostgroup_settings", {"handle_warning": 1}, "ignores this key"),
        ("2.7.1", MYSQL, "hostgroup_settings", {"handle_warnings": True}, "integer from 0 to 1"),
        ("2.7.1", MYSQL, "hostgroup_settings", {"handle_warnings": 2}, "integer from 0 to 1"),
        ("2.7.1", MYSQL, "hostgroup_settings", [1], "reads only a mapping here"),
        ("3.0.9", MYSQL, "hostgroup_settings", {"default_query_timeout": 5000}, "this key"),
        ("3.0.10", MYSQL, "hostgroup_settings", {"default_query_timeout": 999}, "from 1000 to"),
        ("3.0.3", PGSQL, "hostgroup_settings", {"monitor_slave_lag_when_null": 1}, "this key"),
        ("3.0.3", MYSQL, "servers_defaults", {"weight": -1}, "integer from 0 to 2147483647"),
        ("3.0.3", PGSQL, "servers_defaults", {"use_ssl": 1, "max_connection": 5}, "this key"),
    ],
)
def test_what_proxysql_ignores_is_a_mistake(
    tmp_path: Path, version: str, table: str, column: str, value: object, message: str
) -> None:
    known = parse_version(version)
    (found,) = mistakes(tmp_path, file_of(table, column, value), version=known)
    assert f"{table}[0].{column}" in found
    assert message in found
    form = NO_DEVIATIONS.layouts(known)[table].column(column)
    kept = read_json(form, json.dumps(value))
    again = json.loads(kept) if kept else ""
    assert mistakes(tmp_path, file_of(table, column, again), version=known) == []


@pytest.mark.parametrize("table", [MYSQL, PGSQL])
@pytest.mark.parametrize("column", ["hostgroup_settings", "servers_defaults"])
def test_every_key_is_taken_at_its_limits(tmp_path: Path, table: str, column: str) -> None:
    newest = parse_version("3.0.12")
    keys = NO_DEVIATIONS.layouts(newest)[table].column(column).json_keys
    for value in ({k.name: k.low for k in keys}, {k.name: k.high for k in keys}, {}):
        assert mistakes(tmp_path, file_of(table, column, value), version=newest) == []


def test_a_newer_proxysql_may_know_more_keys(tmp_path: Path) -> None:
    text = file_of(MYSQL, "hostgroup_settings", {"backup_weight_threshold": 5})
    assert mistakes(tmp_path, text, version=parse_version("3.1.12")) == []
