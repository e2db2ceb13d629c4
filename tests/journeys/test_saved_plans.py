"""A saved plan is a receipt: applied if nothing changed since, else refused."""

from __future__ import annotations

import json

import pytest

from tests.journeys.layers import dump
from tests.journeys.story import FILES, plan
from tests.support.cli import SECRETS, Project, proxyctl
from tests.support.servers import Instance


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


@pytest.mark.parametrize(
    ("old", "new", "code", "message"),
    [
        ('"plan": {', '"plan": [], "was": {', 1, "damaged"),
        ('"kind": "proxyctl plan"', '"kind": "else"', 1, "not a saved plan"),
        ('"format": 1', '"format": 99', 1, "reads format 1"),
        ('"options": []', '"options": ["--force"]', 0, ""),
        ("", "\ud800", 1, "not JSON"),
    ],
)
def test_a_damaged_plan_file_is_reported(
    sandbox_project: Project,
    sandbox_instance: Instance,
    old: str,
    new: str,
    code: int,
    message: str,
) -> None:
    sandbox_project.write(FILES)
    plan("--out", "plan.out")
    path = sandbox_project.folder / "plan.out"
    text = path.read_text().replace(old, new, 1) if old else "\udcff\udcfe"
    path.write_text(text, errors="surrogateescape")
    before = dump(sandbox_instance)
    found = proxyctl("apply", "plan.out")
    assert found.code == code, found.text
    assert message in found.err
    assert "Traceback" not in found.err
    assert (dump(sandbox_instance) == before) is (code != 0)


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


def test_the_text_of_a_plan_file_moves_no_cursor(sandbox_project: Project) -> None:
    sandbox_project.write(FILES)
    plan("--out", "plan.out")
    path = sandbox_project.folder / "plan.out"
    path.write_text(path.read_text().replace('"text": "', '"text": "\\u001b[2J'))
    shown = proxyctl("show", "plan.out").out
    assert "MYSQL SERVERS" in shown
    assert "\x1b" not in shown
