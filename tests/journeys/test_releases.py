"""Tables, columns and variables that one release of ProxySQL has and another lacks.

The instance's own tables decide, not its version.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from proxyctl.catalog import NO_DEVIATIONS, Column, Deviations
from proxyctl.sandbox import Sandbox
from tests.support.commands.cli import Project, proxyctl
from tests.support.commands.story import FILES, applied, ended, plan
from tests.support.servers.instances import Instance
from tests.support.servers.layers import everywhere

BLUE_GREEN = """
mysql_aws_rds_bgd_hostgroups:
  - {writer_hostgroup: writer, reader_hostgroup: reader, green_writer_hostgroup: 30,
     green_reader_hostgroup: 31}
"""


TIMEOUT = "variables: {mysql-default_query_timeout: 5000}\n"


@contextmanager
def serving(
    project: Project, version: str, deviations: Deviations = NO_DEVIATIONS
) -> Iterator[Instance]:
    off = {"mysql-monitor_enabled": "false"}
    with Sandbox(version, variables=off, deviations=deviations) as served:
        instance = Instance(served.host, served.port, sandbox=served)
        project.connect(instance)
        yield instance
        instance.close()


def test_rows_that_the_monitor_made_are_no_drift_and_no_configuration(offline: Project) -> None:
    with serving(offline, "3.0.10") as instance:
        offline.write(FILES + BLUE_GREEN)
        applied()
        assert instance.sandbox is not None
        rows = instance.sandbox.runtime
        made = {"writer_hostgroup": 50, "reader_hostgroup": 51, "auto_generated": 1}
        green = {"green_writer_hostgroup": None, "green_reader_hostgroup": None, "status": "NONE"}
        rows["mysql_aws_rds_bgd_hostgroups"] = [
            *rows["mysql_aws_rds_bgd_hostgroups"],
            {**made, **green},
        ]
        rows["mysql_servers"] = [
            {**row, "status": "SHUNNED_AWS_BGD"} if row["hostname"] == "db3" else row
            for row in rows["mysql_servers"]
        ]
        for command in ("plan", "drift"):
            found = proxyctl(command)
            assert (found.code, re.findall(r"\b51\b", found.out)) == (0, []), found.text
        for layer in ("runtime", "memory"):
            exported = proxyctl("export", "--layer", layer)
            assert "writer_hostgroup: 10" in exported.out
            assert "SHUNNED" not in exported.out
            assert "50" not in exported.out.split("mysql_aws_rds_bgd")[1].split("\n\n")[0]
            offline.write(exported.out)
            assert plan().code == 0
        offline.write(FILES + BLUE_GREEN.replace(": 30", ": 40"))
        applied()
        table = "{}mysql_aws_rds_bgd_hostgroups"
        shown = f"SELECT writer_hostgroup, green_writer_hostgroup FROM {table}"
        assert everywhere(instance, shown) == [("10", "40")]


def test_a_table_that_the_instance_has_before_its_release_is_managed(offline: Project) -> None:
    early = Deviations(tables=frozenset({"pgsql_servers_ssl_params"}))
    with serving(offline, "3.0.5", early) as instance:
        offline.write("pgsql_servers_ssl_params: [{hostname: pg1, ssl_ca: /etc/ca.pem}]\n")
        applied()
        shown = "SELECT hostname, ssl_ca FROM {}pgsql_servers_ssl_params"
        assert everywhere(instance, shown) == [("pg1", "/etc/ca.pem")]
        exported = proxyctl("export")
        assert "hostname: pg1" in exported.out
        offline.write(exported.out)
        assert plan().code == 0


def test_what_another_build_lacks_is_named_before_an_apply(offline: Project) -> None:
    missing: frozenset[str | tuple[str, str]] = frozenset(
        {"pgsql_servers_ssl_params", ("mysql_aws_aurora_hostgroups", "autopurge_missing_checks")}
    )
    with serving(offline, "3.0.9", Deviations(missing=missing)):
        offline.write("pgsql_servers_ssl_params: [{hostname: pg1}]\n")
        ended(plan(), 1, "3.0.9 has no table pgsql_servers_ssl_params here, though the release has")
        aurora = "writer_hostgroup: 1, reader_hostgroup: 2, domain_name: .a"
        offline.write(f"mysql_aws_aurora_hostgroups: [{{{aurora}, autopurge_missing_checks: 3}}]\n")
        ended(plan(), 1, "3.0.9 has no such column here, though the release has it")
        offline.write(f"mysql_aws_aurora_hostgroups: [{{{aurora}}}]\n")
        applied()
        assert plan().code == 0


@pytest.mark.parametrize(("version", "is_reported"), [("3.0.12", False), ("3.0.14", True)])
def test_a_plan_for_a_newer_release_warns(
    offline: Project, version: str, is_reported: bool
) -> None:
    new = Deviations(variables=frozenset({"mysql-of_tomorrow"})) if is_reported else NO_DEVIATIONS
    with serving(offline, version, new):
        offline.write(TIMEOUT)
        words = "ProxySQL 3.0.14 is newer than 3.0.12, the newest known release: columns and"
        assert (words in plan().out) == is_reported
        applied()
        assert "newer" not in plan().out


@pytest.mark.parametrize("version", ["2.4.0", "2.4.8", "2.5.5", "2.7.3", "3.0.0"])
def test_the_doctor_examines_every_release(offline: Project, version: str) -> None:
    with serving(offline, version) as instance:
        instance.execute("INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (10, 'db1')")
        instance.execute("LOAD MYSQL SERVERS TO RUNTIME")
        ignored = ("--ignore", "monitor-off")
        found = proxyctl("doctor", "--no-ask", "--memory", *ignored, "--format", "json")
        assert found.code == 0, found.text
        assert {finding["code"] for finding in found.json["findings"]} == {"not-saved"}


# -- columns and variables that proxyctl has never heard of ----------------------------------------


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
    """A ProxySQL of a future release."""
    with serving(offline, "2.7.1", TOMORROW) as served:
        yield served


def test_files_that_do_not_name_such_a_column_leave_it_alone(
    project: Project, instance: Instance
) -> None:
    instance.execute(
        "INSERT INTO mysql_servers (hostgroup_id, hostname, max_connections, zone, burst)"
        " VALUES (10, 'db1', 7, 'eu-1', 50000)"
    )
    instance.load("MYSQL SERVERS", saves=True)
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
    instance.load("MYSQL SERVERS", "MYSQL QUERY RULES", "MYSQL VARIABLES", saves=True)
    exported = proxyctl("export")
    assert exported.code == 0
    assert "burst: 9, zone: eu-2" in exported.out
    assert "mysql-time_travel: " in exported.out
    assert "proxyctl does not know this column; plan and apply accept it" in exported.err
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
    ended(plan(), 1, "mysql_servers[1].zonne: no such key", "did you mean 'zone'?")
    project.write(FILES.replace("variables:", "variables:\n  mysql-time_travell: x"))
    ended(plan(), 1, "variables.mysql-time_travell: ProxySQL has no such variable")


def test_an_unknown_table_is_left_alone_and_reported(project: Project, instance: Instance) -> None:
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
    ended(plan(), 1, "mysql_shards: no such section")
