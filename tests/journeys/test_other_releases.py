"""What one ProxySQL has and another one lacks: the table decides that the instance has, not its
version, and rows that the monitor made are nobody's configuration."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from proxyctl.catalog import NO_DEVIATIONS, Deviations
from proxyctl.sandbox import Sandbox
from tests.journeys.layers import everywhere
from tests.journeys.story import FILES, applied, plan, said
from tests.support.cli import Project, proxyctl
from tests.support.servers import Instance

BLUE_GREEN = """
mysql_aws_rds_bgd_hostgroups:
  - {writer_hostgroup: writer, reader_hostgroup: reader, green_writer_hostgroup: 30,
     green_reader_hostgroup: 31}
"""


@contextmanager
def serving(
    project: Project, version: str, deviations: Deviations = NO_DEVIATIONS
) -> Iterator[Instance]:
    with Sandbox(
        version, variables={"mysql-monitor_enabled": "false"}, deviations=deviations
    ) as served:
        instance = Instance(served.host, served.port, sandbox=served)
        project.connect(instance)
        yield instance
        instance.close()


@pytest.fixture
def project(offline: Project) -> Project:
    return offline


def test_rows_that_the_monitor_made_are_no_drift_and_no_configuration(project: Project) -> None:
    with serving(project, "3.0.10") as instance:
        project.write(FILES + BLUE_GREEN)
        applied()
        assert instance.sandbox is not None
        rows = instance.sandbox.runtime
        made = {"writer_hostgroup": 50, "reader_hostgroup": 51, "auto_generated": 1}
        rows["mysql_aws_rds_bgd_hostgroups"] = [
            *rows["mysql_aws_rds_bgd_hostgroups"],
            {
                **made,
                "green_writer_hostgroup": None,
                "green_reader_hostgroup": None,
                "status": "NONE",
            },
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
            project.write(exported.out)
            assert plan().code == 0
        project.write(FILES + BLUE_GREEN.replace(": 30", ": 40"))
        applied()
        table = "{}mysql_aws_rds_bgd_hostgroups"
        shown = f"SELECT writer_hostgroup, green_writer_hostgroup FROM {table}"
        assert everywhere(instance, shown) == [("10", "40")]


@pytest.mark.parametrize(
    ("version", "section", "came_with"),
    [
        ("2.7.1", "pgsql_servers: []", "table pgsql_servers; it came with 3.0.0"),
        ("3.0.3", BLUE_GREEN, "table mysql_aws_rds_bgd_hostgroups; it came with 3.0.10"),
        (
            "3.0.3",
            "mysql_aws_aurora_hostgroups: [{writer_hostgroup: 1, reader_hostgroup: 2,"
            " domain_name: .a, autopurge_missing_checks: 3}]",
            "column; it came with 3.0.9",
        ),
        ("2.7.1", "variables: {mysql-resolution_family: ipv4}", "variable"),
    ],
)
def test_a_plan_names_the_release_that_has_what_the_instance_lacks(
    project: Project, version: str, section: str, came_with: str
) -> None:
    with serving(project, version):
        project.write("hostgroups: {writer: {id: 10}, reader: {id: 20}}\n" + section)
        for command in ("plan", "apply"):
            said(proxyctl(command), 1, f"ProxySQL {version} has no", "it came with", came_with)
        assert proxyctl("validate", "--proxysql-version", "3.0.12").code == 0


def test_a_table_that_the_instance_has_before_its_release_is_managed(project: Project) -> None:
    early = Deviations(tables=frozenset({"pgsql_servers_ssl_params"}))
    with serving(project, "3.0.5", early) as instance:
        project.write("pgsql_servers_ssl_params: [{hostname: pg1, ssl_ca: /etc/ca.pem}]\n")
        applied()
        shown = "SELECT hostname, ssl_ca FROM {}pgsql_servers_ssl_params"
        assert everywhere(instance, shown) == [("pg1", "/etc/ca.pem")]
        exported = proxyctl("export")
        assert "hostname: pg1" in exported.out
        project.write(exported.out)
        assert plan().code == 0


def test_what_another_build_lacks_is_named_before_an_apply(project: Project) -> None:
    missing: frozenset[str | tuple[str, str]] = frozenset(
        {"pgsql_servers_ssl_params", ("mysql_aws_aurora_hostgroups", "autopurge_missing_checks")}
    )
    with serving(project, "3.0.9", Deviations(missing=missing)):
        project.write("pgsql_servers_ssl_params: [{hostname: pg1}]\n")
        said(plan(), 1, "3.0.9 has no table pgsql_servers_ssl_params here, though the release has")
        aurora = "writer_hostgroup: 1, reader_hostgroup: 2, domain_name: .a"
        project.write(f"mysql_aws_aurora_hostgroups: [{{{aurora}, autopurge_missing_checks: 3}}]\n")
        said(plan(), 1, "3.0.9 has no such column here, though the release has it")
        project.write(f"mysql_aws_aurora_hostgroups: [{{{aurora}}}]\n")
        applied()
        assert plan().code == 0


def test_a_build_without_a_table_of_its_release_is_managed(project: Project) -> None:
    missing = Deviations(missing=frozenset({"mysql_aws_rds_bgd_hostgroups"}))
    with serving(project, "3.0.10", missing):
        project.write(FILES)
        applied()
        assert plan().code == 0


def test_a_blue_green_deployment_may_be_that_of_a_monitored_family(project: Project) -> None:
    family = (
        "mysql_replication_hostgroups: [{writer_hostgroup: writer, reader_hostgroup: reader}]\n"
    )
    project.write(FILES + family + BLUE_GREEN)
    assert "PX502" not in proxyctl("lint", "--proxysql-version", "3.0.10").out
    galera = (
        "mysql_galera_hostgroups: [{writer_hostgroup: writer, backup_writer_hostgroup: 40,"
        " reader_hostgroup: reader, offline_hostgroup: 41}]\n"
    )
    project.write(FILES + family + galera)
    assert "PX502" in proxyctl("lint").out
