"""A saved plan is applied if nothing changed since, and refused otherwise."""

from __future__ import annotations

import json

import pytest

from tests.support.commands.cli import SECRETS, Project, proxyctl
from tests.support.commands.story import FILES, ended, plan
from tests.support.servers.instances import Instance
from tests.support.servers.layers import dump


def test_a_stale_plan_is_refused(project: Project, instance: Instance) -> None:
    project.write(FILES)
    made = plan("--out", "plan.out")
    assert made.code == 2, made.text
    instance.execute("INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (99, 'new')")
    before = dump(instance)
    found = proxyctl("apply", "plan.out")
    assert found.code == 3
    assert "stale" in found.err
    assert "run plan again" in found.err
    assert "--force" not in found.err
    assert dump(instance) == before


def test_a_missing_folder_is_noticed_before_planning(project: Project) -> None:
    project.write(FILES)
    found = proxyctl("plan", "--port", "1", "--out", "none/x.plan")  # nothing answers there
    ended(found, 1, "none/x.plan: cannot be written: no such folder", "create it: mkdir -p none")
    assert found.out == ""


def test_a_secret_that_changed_makes_a_plan_stale(
    project: Project, instance: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write(FILES)
    plan("--out", "plan.out")
    before = dump(instance)
    monkeypatch.setenv("APP_PASSWORD", "another one")
    found = proxyctl("apply", "plan.out")
    assert (found.code, "stale" in found.err) == (3, True)
    assert dump(instance) == before
    monkeypatch.setenv("APP_PASSWORD", SECRETS["APP_PASSWORD"])
    assert proxyctl("apply", "plan.out").code == 0


def test_an_edited_plan_cannot_bring_in_a_statement(
    sandbox_project: Project, sandbox_instance: Instance
) -> None:
    sandbox_project.write(FILES)
    plan("--out", "plan.out")
    path = sandbox_project.folder / "plan.out"
    document = json.loads(path.read_text())
    document["plan"]["modules"][0]["changes"] = []
    document["plan"]["modules"].append({"module": "DELETE FROM mysql_users", "changes": []})
    path.write_text(json.dumps(document))
    assert proxyctl("apply", "plan.out").code == 0
    assert plan().code == 0


@pytest.mark.parametrize(
    ("name", "value"),
    [("seal", "größe:1"), ("paths", ["a\0b"]), ("paths", ["\ud800"]), ("address", "\ud800")],
)
def test_a_plan_with_texts_that_none_has(project: Project, name: str, value: object) -> None:
    project.write(FILES)
    assert proxyctl("plan", "--out", "it.plan").code == 0
    path = project.folder / "it.plan"
    path.write_text(json.dumps({**json.loads(path.read_text()), name: value}, indent=2))
    ended(proxyctl("apply", "it.plan"), 1, "the saved plan is damaged")
