"""A ProxySQL of tomorrow: columns and variables that proxyctl has never heard of."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from proxyctl.catalog import Column, Deviations
from tests.journeys.layers import everywhere
from tests.journeys.story import FILES, applied, plan, said
from tests.journeys.test_releases import serving
from tests.support.cli import Project, proxyctl
from tests.support.servers import Instance


def _column(name: str, sql_type: str, default: int | str | None, *, notnull: bool = True) -> Column:
    return Column(name, sql_type, notnull, default, kept=True, is_listed=False)


TOMORROW = Deviations(
    frozenset(
        {
            ("mysql_servers", _column("zone", "VARCHAR", "")),
            ("mysql_servers", _column("burst", "BIGINT", -1)),
            ("mysql_query_rules", _column("sample_rate", "INT", None, notnull=False)),
            ("mysql_users", _column("second_password", "VARCHAR", "")),
            ("scheduler", _column("api_key", "VARCHAR", "")),
        }
    ),
    frozenset({"mysql-time_travel", "mysql-vault_token", "mysql-encryption_key"}),
)
ALL = "SELECT hostgroup_id, hostname, zone, burst FROM {}mysql_servers ORDER BY 1, 2"


@pytest.fixture
def instance(offline: Project) -> Iterator[Instance]:
    with serving(offline, "2.7.1", TOMORROW) as served:
        yield served


def test_files_that_do_not_name_such_a_column_leave_it_alone(
    project: Project, instance: Instance
) -> None:
    instance.execute(
        "INSERT INTO mysql_servers (hostgroup_id, hostname, max_connections, zone, burst)"
        " VALUES (10, 'db1', 7, 'eu-1', 50000)"
    )
    instance.execute("LOAD MYSQL SERVERS TO RUNTIME")
    instance.execute("SAVE MYSQL SERVERS TO DISK")
    project.write(FILES)
    assert "zone" not in plan().out
    applied()
    held = everywhere(instance, ALL)
    assert held[:2] == [("10", "db1", "eu-1", "50000"), ("20", "db1", "", "-1")]
    assert plan().code == 0


def test_such_a_column_and_variable_are_planned_and_applied_as_they_are_given(
    project: Project, instance: Instance
) -> None:
    project.write(FILES)
    applied()
    project.write(
        FILES.replace("max_connections: 500}", "max_connections: 500, zone: eu-1, burst: -7}")
        .replace("apply: true}", "apply: true, sample_rate: 50}", 1)
        .replace("variables:", 'variables:\n  mysql-time_travel: "on"')
    )
    shown = " ".join(plan().out.split())
    assert "burst -1 -> -7" in shown
    assert "zone '' -> eu-1" in shown
    assert "sample_rate NULL -> 50" in shown
    assert "mysql-time_travel '' -> on" in shown
    applied()
    assert everywhere(instance, ALL)[0] == ("10", "db1", "eu-1", "-7")
    assert everywhere(
        instance, "SELECT rule_id, sample_rate FROM {}mysql_query_rules ORDER BY 1"
    ) == [("10", "50"), ("20", None)]
    assert everywhere(
        instance,
        "SELECT variable_value FROM {}global_variables WHERE variable_name='mysql-time_travel'",
    ) == [("on",)]
    assert plan().code == 0


def test_an_export_holds_them_and_plans_to_nothing(project: Project, instance: Instance) -> None:
    project.write(FILES)
    applied()
    instance.execute("UPDATE mysql_servers SET zone='eu-2', burst=9 WHERE hostname='db3'")
    instance.execute("UPDATE mysql_query_rules SET sample_rate=7 WHERE rule_id=20")
    instance.execute(
        "UPDATE global_variables SET variable_value='x' WHERE variable_name='mysql-time_travel'"
    )
    for module in ("MYSQL SERVERS", "MYSQL QUERY RULES", "MYSQL VARIABLES"):
        instance.execute(f"LOAD {module} TO RUNTIME")
        instance.execute(f"SAVE {module} TO DISK")
    exported = proxyctl("export")
    assert exported.code == 0
    assert "burst: 9, zone: eu-2" in exported.out
    assert "mysql-time_travel: " in exported.out
    assert "proxyctl does not know this column; plan and apply take it" in exported.err
    project.write(exported.out)
    assert plan().code == 0
    assert proxyctl("validate").code == 1


def test_what_may_be_a_password_is_not_shown(project: Project, instance: Instance) -> None:
    project.write(FILES)
    applied()
    project.write(FILES.replace("default_hostgroup: reader}", "second_password: hunter2}"))
    shown = plan("--format", "json")
    assert ("second_password" in shown.out, "hunter2" in shown.text) == (True, False)

    jobs = "scheduler: [{id: 1, interval_ms: 1000, filename: /bin/true}]\n"
    token = "  mysql-vault_token: hunter3\n  mysql-encryption_key: hunter4\n"
    project.write((FILES + jobs).replace("variables:\n", f"variables:\n{token}"))
    applied()
    instance.execute("UPDATE scheduler SET api_key='hunter2'")
    instance.execute(
        "UPDATE global_variables SET variable_value='hunter2'"
        " WHERE variable_name IN ('mysql-vault_token', 'mysql-encryption_key')"
    )
    for layer in ("runtime", "memory"):
        for form in ("yaml", "sql", "cnf"):
            assert "hunter" not in proxyctl("export", "--layer", layer, "--format", form).text
    for command in (("plan",), ("plan", "--format", "json"), ("drift",)):
        assert "hunter" not in proxyctl(*command, "--debug").text
    project.write(FILES.replace("variables:\n", f"variables:\n{token}"))
    assert "hunter" not in plan("--format", "sql").text


def test_a_misspelt_column_is_still_a_mistake(project: Project, instance: Instance) -> None:
    project.write(FILES.replace("weight: 1}", "zonne: eu-1}"))
    said(plan(), 1, "mysql_servers[1].zonne: no such key", "did you mean 'zone'?")
    project.write(FILES.replace("variables:", "variables:\n  mysql-time_travell: x"))
    said(plan(), 1, "variables.mysql-time_travell: ProxySQL has no such variable")


def test_a_table_of_tomorrow_is_left_alone_and_said(project: Project, instance: Instance) -> None:
    for name in ("mysql_shards", "runtime_mysql_shards", "disk.mysql_shards"):
        instance.execute(f"CREATE TABLE {name} (id INTEGER PRIMARY KEY)")
    instance.execute("INSERT INTO mysql_shards VALUES (7)")
    project.write(FILES)
    applied()
    assert instance.query("SELECT * FROM mysql_shards") == [("7",)]
    exported = proxyctl("export")
    assert "mysql_shards: left out: proxyctl does not know this table" in exported.err
    project.write(exported.out)
    assert plan().code == 0
    project.write(FILES + "mysql_shards: []\n")
    said(plan(), 1, "mysql_shards: no such section")
