"""The GitHub action and the hooks for pre-commit: their commands run as their callers run them."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from proxyctl.sandbox import Sandbox
from tests.docs.pages import ROOT, blocks
from tests.docs.test_workflow import parse
from tests.support.warm import Warm

FILE = """\
version: 1
mysql_query_rules:
  - {rule_id: 1, match_digest: ^SELECT, destination_hostgroup: 20, apply: true}
"""


def steps() -> dict[str, Any]:
    """Return the steps of the action that have a script, by name."""
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    return {step["name"]: step for step in action["runs"]["steps"] if "run" in step}


@dataclass
class Workflow:
    """A pull request whose workflow uses the action."""

    folder: Path
    port: int

    def run(self, step: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run one step, in the shell that GitHub takes for `shell: bash`."""
        files = {
            name: str(self.folder / name.lower())
            for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")
        }
        connection = {"PROXYCTL_PORT": str(self.port), "PROXYCTL_PASSWORD": "admin"}
        state = {"PROXYCTL_STATE_DIR": str(self.folder / "state")}
        path = {"PATH": f"{self.folder}:{os.environ['PATH']}", "RUNNER_TEMP": str(self.folder)}
        assert environment.keys() == steps()[step]["env"].keys()
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", steps()[step]["run"]],
            cwd=self.folder,
            env={**os.environ, **files, **connection, **state, **path, **environment},
            capture_output=True,
            text=True,
            check=False,
        )

    def proxyctl(self, command: str, arguments: str = "") -> tuple[int, str]:
        """Run a command through the action; return how its step ended, and its output."""
        (self.folder / "github_output").unlink(missing_ok=True)
        done = self.run("run", COMMAND=command, FILE="proxyctl.yaml", ARGUMENTS=arguments)
        given = self.folder / "github_output"
        return done.returncode, given.read_text().strip() if given.exists() else done.stdout


@pytest.fixture
def workflow(tmp_path: Path, warm: Warm) -> Iterator[Workflow]:
    shims = {
        "proxyctl": f'exec {shlex.join(warm.command)} "$@"',
        "gh": f'echo "$@" > {tmp_path}/gh.txt; cat > {tmp_path}/comment.md',
    }
    for name, script in shims.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "proxyctl.yaml").write_text(FILE)
    with Sandbox() as sandbox:
        yield Workflow(tmp_path, sandbox.port)


def test_a_change_is_planned_applied_and_then_no_drift(workflow: Workflow) -> None:
    assert workflow.proxyctl("drift") == (2, "exit-code=2")
    assert workflow.proxyctl("plan") == (0, "exit-code=2")
    assert "rule 1" in (workflow.folder / "github_step_summary").read_text()
    assert workflow.proxyctl("apply", "--lock-timeout 5") == (0, "exit-code=0")
    assert workflow.proxyctl("plan") == (0, "exit-code=0")
    assert workflow.proxyctl("drift") == (0, "exit-code=0")


def test_the_plan_is_a_comment_on_the_pull_request(workflow: Workflow) -> None:
    workflow.proxyctl("plan")
    given = {"PULL_REQUEST": "7", "COMMIT": "0123abcd", "GH_TOKEN": "a-token", "GH_REPO": "o/r"}
    assert workflow.run("comment", **given).returncode == 0
    assert (workflow.folder / "gh.txt").read_text().startswith("pr comment 7 --edit-last")
    comment = (workflow.folder / "comment.md").read_text()
    assert comment.startswith("Of 0123abcd:\n")
    assert "rule 1" in comment


def test_mistakes_and_unknown_commands_fail_the_step(workflow: Workflow) -> None:
    (workflow.folder / "proxyctl.yaml").write_text("version: 2\n")
    assert workflow.proxyctl("plan") == (1, "exit-code=1")
    code, output = workflow.proxyctl("destroy")
    assert (code, "command is plan, apply or drift" in output) == (64, True)


def test_the_hooks_for_pre_commit_are_commands(workflow: Workflow) -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert [hook["entry"] for hook in hooks] == ["proxyctl validate", "proxyctl lint"]
    for hook in hooks:
        words = shlex.split(hook["entry"])[1:]
        parse(words)
        command = [str(workflow.folder / "proxyctl"), *words]
        done = subprocess.run(command, cwd=workflow.folder, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr


def examples(key: str) -> list[Any]:
    """Return the lists with this key in the examples of the page about pipelines."""
    page = ROOT / "docs" / "how-to" / "ci-pipeline.md"
    texts = [block.text for block in blocks(page) if block.language == "yaml"]
    return [found for text in texts for found in _values(yaml.safe_load(text), key)]


def _values(node: Any, key: str) -> Iterator[Any]:
    children = node.items() if isinstance(node, dict) else enumerate(node)
    for name, child in children:
        if name == key:
            yield child
        if isinstance(child, dict | list):
            yield from _values(child, key)


def test_the_page_gives_the_action_what_it_takes() -> None:
    inputs = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))["inputs"]
    (found,) = examples("steps")
    given = [step["with"] for step in found if "/proxyctl@" in step["uses"]]
    assert given
    for one in given:
        assert set(one) <= set(inputs)
        assert one["command"] in inputs["command"]["description"]


def test_the_page_names_the_hooks() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    (found,) = examples("hooks")
    assert [hook["id"] for hook in found] == [hook["id"] for hook in hooks]
    for hook in found:
        parse([hook["id"].removeprefix("proxyctl-"), *hook["args"]])
