"""The Python API: the results of the commands, and selections that lack something."""

from __future__ import annotations

import pytest

from proxyctl import api
from proxyctl.apply.request import ApplyRequest, Approval
from proxyctl.errors import ConfigError, RefusedError, UsageError
from proxyctl.instance.connect import Login
from proxyctl.plan.drift import pattern_of
from proxyctl.plan.make import PlanOptions
from proxyctl.routing.query import ClientQuery
from tests.support.commands.cli import Project
from tests.support.servers.instances import Instance

FILES = """
instances:
  - {name: prod, host: 127.0.0.1, port: PORT, password: {env: PROXYCTL_PASSWORD_OF_PROD}}
hostgroups: {writer: {id: 10}, reader: {id: 20}}
mysql_servers:
  - {hostgroup_id: writer, hostname: db1.example.com}
  - {hostgroup_id: reader, hostname: db2.example.com}
mysql_query_rules:
  - {rule_id: 100, match_digest: '^SELECT', destination_hostgroup: reader, apply: true}
  - {rule_id: 110, match_digest: '^SELECT 1', destination_hostgroup: writer, apply: true}
"""


@pytest.fixture
def files(project: Project, instance: Instance) -> Project:
    project.write(
        FILES.replace("PORT", str(instance.port)).replace(
            "PROXYCTL_PASSWORD_OF_PROD", "PROD_PASSWORD"
        )
    )
    project.monkeypatch.setenv("PROD_PASSWORD", instance.password)
    return project


def test_plan_apply_drift_and_export(files: Project, instance: Instance) -> None:
    selection = api.Selection.of("proxyctl.yaml", instance="prod")
    plan = api.plan(selection)
    assert plan.name == "prod"
    assert plan.counts() == {"add": 4, "change": 0, "delete": 0}
    _, result = api.apply(selection, ApplyRequest(PlanOptions(), Approval(plan)))
    assert result is not None
    assert [state.disk for state in result.modules] == ["as in the files"] * 2
    assert api.apply(selection)[1] is None

    instance.execute("UPDATE mysql_query_rules SET destination_hostgroup=10 WHERE rule_id=100")
    found = api.drift(selection, only=["mysql_query_rules"])
    (change,) = [change for module in found.modules for change in module.changes]
    assert pattern_of(change).name == "memory"
    assert "destination_hostgroup: 20" in api.export(selection).text


def test_a_plan_that_changed_since_its_approval_is_refused(
    files: Project, instance: Instance
) -> None:
    selection = api.Selection.of("proxyctl.yaml", instance="prod")
    plan = api.plan(selection)
    files.write(FILES.replace("PORT", str(instance.port)).replace("rule_id: 100", "rule_id: 101"))
    changed = api.Selection.of("proxyctl.yaml", login=selection.login)
    with pytest.raises(RefusedError, match="the plan is stale"):
        api.apply(changed, ApplyRequest(PlanOptions(), Approval(plan)))


def test_files_and_instance_answer_the_same_calls(files: Project) -> None:
    described = api.Selection.of("proxyctl.yaml", instance="prod")
    api.apply(described)
    query = ClientQuery(b"SELECT * FROM orders FOR UPDATE")
    alone = api.Selection.of("proxyctl.yaml"), api.Selection.of(login=described.login)
    for selection in (described, *alone):
        assert api.explain(selection, query).route.destination_hostgroup == 20
        report = api.lint(selection)
        assert "PX201" in {located.check.code for located in report.findings}
    assert [*api.digests(described).hostgroup_names] == [10, 20]


def test_a_selection_that_lacks_something() -> None:
    with pytest.raises(UsageError, match="needs files"):
        api.plan(api.Selection.of(login=Login()))
    with pytest.raises(UsageError, match="needs an instance"):
        api.plan(api.Selection.of("."))
    with pytest.raises(UsageError, match="needs an instance"):
        api.export(api.Selection())
    with pytest.raises(UsageError, match="require files"):
        api.Selection.of(instance="prod")
    with pytest.raises(UsageError, match="needs files or an instance"):
        api.lint(api.Selection())


def test_all_instances_of_the_files(files: Project, instance: Instance) -> None:
    (selection,) = api.Selection.all_of("proxyctl.yaml")
    assert selection.login is not None
    assert (selection.login.name, selection.login.port) == ("prod", instance.port)
    assert api.plan(selection).name == "prod"


def test_no_instance_is_no_empty_list(files: Project) -> None:
    """A loop over nothing would look like a rollout that went well."""
    files.write("mysql_servers: []\n")
    with pytest.raises(UsageError, match="list no instances"):
        api.Selection.all_of("proxyctl.yaml")
    files.write("instances: [\n")
    with pytest.raises(ConfigError):
        api.Selection.all_of("proxyctl.yaml")
    with pytest.raises(ConfigError):
        api.Selection.of("proxyctl.yaml", instance="prod")


def test_mistakes_in_files(files: Project) -> None:
    with pytest.raises(UsageError, match="no such instance in the files") as unknown:
        api.Selection.of("proxyctl.yaml", instance="prdo")
    assert unknown.value.fix == "choose from prod"
    files.write("mysql_serverz: []\n")
    with pytest.raises(ConfigError) as error:
        api.validate(api.Selection.of("proxyctl.yaml"))
    assert [mistake.key for mistake in error.value.mistakes] == ["mysql_serverz"]
