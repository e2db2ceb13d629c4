"""The workflows of GitHub cannot run here: their parts are checked one by one."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from proxyctl.cli.app import COMMANDS
from tests.docs.workflows import WORKFLOWS, command_lines, parse, steps
from tests.support.documentation.pages import page_id
from tests.support.paths import ROOT

ACTIONLINT = shutil.which("actionlint")


@pytest.mark.parametrize("line", command_lines())
def test_command_lines_are_understood(line: str) -> None:
    words = shlex.split(line.split(" > ")[0], comments=True)[1:]
    if words != ["--version"]:
        parse(words)


@pytest.mark.parametrize("example", [command.example for command in COMMANDS.values()])
def test_examples_of_the_help_are_understood(example: str) -> None:
    parse(shlex.split(example))


def test_an_unknown_option_would_be_noticed() -> None:
    with pytest.raises(Exception, match="No such option"):
        parse(["plan", "--formt", "json"])


@pytest.mark.parametrize("path", WORKFLOWS, ids=page_id)
def test_their_steps_are_those_of_a_workflow(path: Path) -> None:
    for step in steps(path):
        assert ("run" in step) != ("uses" in step)
        assert set(step) <= {"run", "uses", "if", "id", "env", "with"}
        assert "uses" not in step or re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", step["uses"])


@pytest.mark.parametrize(
    ("are_named", "code", "outcome"), [(True, 1, "1 error"), (False, 0, "1 skipped")]
)
def test_a_workflow_without_its_containers_does_not_pass(
    are_named: bool, code: int, outcome: str
) -> None:
    """A run of all tests without images skips the tests with containers."""
    ci = ROOT / ".github" / "workflows" / "ci.yml"
    images = yaml.safe_load(ci.read_text(encoding="utf-8"))["jobs"]["containers"]["env"]
    kept = {name: value for name, value in os.environ.items() if name not in images}
    environment = kept | {"DOCKER_HOST": "unix:///nowhere/docker.sock"}
    tests = "tests/real/containers/test_pxc.py::test_the_plan_stays_empty_while_nodes_come_and_go"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", tests],
        cwd=ROOT,
        env=environment | images if are_named else environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, outcome in done.stdout) == (code, True), done.stdout
    assert "no Docker that answers" in done.stdout


@pytest.mark.skipif(ACTIONLINT is None, reason="actionlint is not on PATH")
@pytest.mark.parametrize("path", WORKFLOWS, ids=page_id)
def test_actionlint_finds_nothing(path: Path) -> None:
    done = subprocess.run([str(ACTIONLINT), str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
