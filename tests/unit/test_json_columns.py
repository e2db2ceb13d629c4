"""Keys and values that ProxySQL ignores in its JSON columns, in files and in an export."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from proxyctl.catalog import NO_DEVIATIONS, parse_version
from proxyctl.proxysql.cells import read_json
from tests.unit.config_files import mistakes

MYSQL, PGSQL = "mysql_hostgroup_attributes", "pgsql_hostgroup_attributes"


def file_of(table: str, column: str, value: object) -> str:
    return f"{table}: [{{hostgroup_id: 1, {column}: {json.dumps(value)}}}]\n"


@dataclass(frozen=True)
class IgnoredCase:
    """A version, a value of a JSON column that it ignores, and part of the message."""

    version: str
    table: str
    column: str
    value: object
    message: str


@pytest.mark.parametrize(
    "case",
    [
        IgnoredCase(
            version="2.7.1",
            table=MYSQL,
            column="hostgroup_settings",
            value={"handle_warning": 1},
            message="ignores this key",
        ),
        IgnoredCase(
            version="2.7.1",
            table=MYSQL,
            column="hostgroup_settings",
            value={"handle_warnings": True},
            message="integer from 0 to 1",
        ),
        IgnoredCase(
            version="2.7.1",
            table=MYSQL,
            column="hostgroup_settings",
            value={"handle_warnings": 2},
            message="integer from 0 to 1",
        ),
        IgnoredCase(
            version="2.7.1",
            table=MYSQL,
            column="hostgroup_settings",
            value=[1],
            message="reads only a mapping here",
        ),
        IgnoredCase(
            version="3.0.9",
            table=MYSQL,
            column="hostgroup_settings",
            value={"default_query_timeout": 5000},
            message="this key",
        ),
        IgnoredCase(
            version="3.0.10",
            table=MYSQL,
            column="hostgroup_settings",
            value={"default_query_timeout": 999},
            message="from 1000 to",
        ),
        IgnoredCase(
            version="3.0.3",
            table=PGSQL,
            column="hostgroup_settings",
            value={"monitor_slave_lag_when_null": 1},
            message="this key",
        ),
        IgnoredCase(
            version="3.0.3",
            table=MYSQL,
            column="servers_defaults",
            value={"weight": -1},
            message="integer from 0 to 2147483647",
        ),
        IgnoredCase(
            version="3.0.3",
            table=PGSQL,
            column="servers_defaults",
            value={"use_ssl": 1, "max_connection": 5},
            message="this key",
        ),
    ],
    ids=lambda case: f"{case.version}-{case.table}-{json.dumps(case.value)}",
)
def test_what_proxysql_ignores_is_a_mistake(tmp_path: Path, case: IgnoredCase) -> None:
    known = parse_version(case.version)
    (found,) = mistakes(tmp_path, file_of(case.table, case.column, case.value), version=known)
    assert f"{case.table}[0].{case.column}" in found
    assert case.message in found
    form = NO_DEVIATIONS.layouts(known)[case.table].column(case.column)
    kept = read_json(form, json.dumps(case.value))
    again = json.loads(kept) if kept else ""
    assert mistakes(tmp_path, file_of(case.table, case.column, again), version=known) == []


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
