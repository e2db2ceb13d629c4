"""The workflow of the pipeline page: nobody runs it here, so its parts are checked one by one."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest
import yaml

from proxyctl.cli.app import build
from tests.docs.pages import ROOT, blocks, pages

PAGE = ROOT / "docs" / "how-to" / "ci-pipeline.md"


def workflow() -> dict[str, Any]:
    (text,) = [b.text for b in blocks(PAGE) if b.language == "yaml" and "\njobs:" in b.text]
    # BaseLoader keeps text as it is: for others the key `on` is true.
    found: dict[str, Any] = yaml.load(text, yaml.BaseLoader)
    return found


def steps() -> list[dict[str, Any]]:
    return [step for job in workflow()["jobs"].values() for step in job["steps"]]


def command_lines() -> list[str]:
    """The commands of the workflow, and those of the pages that are not run."""
    texts = [step.get("run", "") for step in steps()]
    texts += [b.text for page in pages() for b in blocks(page) if "not run" in b.says]
    return [
        line.removeprefix("$ ")
        for text in texts
        for line in text.splitlines()
        if re.match(r"(\$ )?proxyctl ", line)
    ]


def parse(arguments: list[str]) -> None:
    """Let Typer read a command line without running it. Raises its errors."""
    root = build()
    context = root.make_context("proxyctl", list(arguments), resilient_parsing=True)
    name = arguments[0]
    root.commands[name].make_context(name, arguments[1:], parent=context)


@pytest.mark.parametrize("line", command_lines())
def test_command_lines_are_understood(line: str) -> None:
    words = shlex.split(line.split(" > ")[0], comments=True)[1:]
    if words != ["--version"]:
        parse(words)


def test_an_unknown_option_would_be_noticed() -> None:
    with pytest.raises(Exception, match="No such option"):
        parse(["plan", "--formt", "json"])


def test_its_shape_is_that_of_a_workflow() -> None:
    found = workflow()
    assert set(found) == {"name", "on", "permissions", "env", "jobs"}
    assert set(found["on"]) == {"pull_request", "push", "schedule"}
    assert all(re.fullmatch(r"(\S+ ){4}\S+", one["cron"]) for one in found["on"]["schedule"])
    assert all("runs-on" in job for job in found["jobs"].values())
    for step in steps():
        assert ("run" in step) != ("uses" in step)
        assert set(step) <= {"run", "uses", "if", "env", "with"}
        assert re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step.get("uses", "actions/checkout@v4"))
    events = re.findall(r"github\.event_name == '(\w+)'", str(steps()))
    assert set(events) == set(found["on"])


def test_its_expressions_name_what_there_is() -> None:
    contexts = re.findall(r"\$\{\{ (.+?) \}\}", str(workflow()))
    assert contexts
    for one in contexts:
        assert re.fullmatch(r"secrets\.[A-Z_]+|github\.(token|event\.number)", one)


def test_its_environment_is_what_the_commands_and_files_read() -> None:
    names = {p.envvar for p in build().commands["plan"].params if p.envvar} | {"PROXYCTL_PASSWORD"}
    starter = ROOT / "templates" / "read-write-split" / "proxyctl.yaml"
    secrets = set(re.findall(r"\{env: (\w+)\}", starter.read_text(encoding="utf-8")))
    given = set(workflow()["env"])
    assert given <= names | secrets
    assert secrets <= given
