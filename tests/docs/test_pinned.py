"""Workflows run what is pinned, and a pull request reaches no secret.

Those of the repository, of the examples, and of the page about pipelines.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

from proxyctl import __version__
from tests.docs.workflows import WORKFLOWS
from tests.support.documentation.pages import blocks, page_id
from tests.support.paths import ROOT

PIPELINES = ROOT / "docs" / "how-to" / "ci-pipeline.md"
OURS = [path for path in WORKFLOWS if path.parent == ROOT / ".github" / "workflows"]
TEXTS = [
    *WORKFLOWS,
    ROOT / "action.yml",
    *ROOT.glob("*.md"),
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "examples").rglob("*.md"),
]
PLACEHOLDER = f"YOUR-ACCOUNT/proxyctl@COMMIT # v{__version__}"
"""The only action that is not pinned: nobody publishes it yet, and the page says what to write."""

Workflow = dict[str, Any]


def read_workflow(text: str) -> Workflow:
    """Parse a workflow. BaseLoader keeps text: other loaders read the key `on` as true."""
    found: Workflow = yaml.load(text, yaml.BaseLoader)
    return found


def page_workflows() -> list[Workflow]:
    """The workflows on the page about pipelines."""
    texts = [block.text for block in blocks(PIPELINES) if block.language == "yaml"]
    return [workflow for workflow in map(read_workflow, texts) if "jobs" in workflow]


ALL = {
    **{page_id(path): read_workflow(path.read_text(encoding="utf-8")) for path in WORKFLOWS},
    **{f"ci-pipeline.md {number}": workflow for number, workflow in enumerate(page_workflows())},
}
every_workflow = pytest.mark.parametrize("found", ALL.values(), ids=ALL)


def secret_of(node: Any) -> bool:
    """Whether a part of a workflow names a secret or the token of the run."""
    return re.search(r"\b(secrets|github\.token)\b", str(node)) is not None


def used_actions() -> list[str]:
    """What follows `uses:`, with its comment."""
    return [
        line
        for path in TEXTS
        for line in re.findall(r"^[ -]*uses: (.+)$", path.read_text(encoding="utf-8"), re.M)
    ]


def test_every_action_is_pinned_by_its_commit_and_names_its_version() -> None:
    used = set(used_actions())
    pinned = used - {PLACEHOLDER}
    assert PLACEHOLDER in used
    assert len(pinned) > 3
    for action in pinned:
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action), action
    names = [action.partition("@")[0] for action in pinned]
    assert len(names) == len(set(names)), "one action, one commit"


def test_pages_install_the_wheel_of_this_version() -> None:
    wheels = [
        (page_id(path), version)
        for path in TEXTS
        for version in re.findall(r"proxyctl_proxysql-([\w.]+?)-py3", path.read_text("utf-8"))
    ]
    assert "docs/how-to/install.md" in dict(wheels)
    assert {version for _, version in wheels} == {__version__}


def test_the_page_has_a_workflow() -> None:
    assert page_workflows()


@every_workflow
def test_secrets_reach_only_the_steps_that_need_them(found: Workflow) -> None:
    assert not secret_of(found.get("env"))
    for job in found["jobs"].values():
        assert not secret_of({key: value for key, value in job.items() if key != "steps"})
        for step in job["steps"]:
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] == "false"


@every_workflow
def test_a_pull_request_of_a_fork_starts_no_job_with_a_secret(found: Workflow) -> None:
    events = found["on"]
    assert "pull_request_target" not in events
    for job in found["jobs"].values():
        if "pull_request" in events and secret_of(job["steps"]):
            same = "github.event.pull_request.head.repo.full_name == github.repository"
            other = "github.event_name != 'pull_request' || "
            assert job.get("if") in (same, other + same)


READS_FILES = re.compile(r"proxyctl (validate|test|lint|plan|apply|drift|doctor)\b(?! \w+\.plan)")


def commands_of_pipelines() -> Iterator[str]:
    """The command lines of the examples' workflows and of the page that read files."""
    for name, workflow in ALL.items():
        for job in workflow["jobs"].values() if "examples" in name else ():
            yield from (step["run"] for step in job["steps"] if "run" in step)
    for block in blocks(PIPELINES):
        if block.language in ("shell", "console", "text"):
            lines = block.text.replace("\\\n", "").splitlines()
            yield from (line for line in lines if re.match(r"(\$ )?(proxyctl|docker run) ", line))


def test_commands_of_pipelines_read_no_file_outside_their_folder() -> None:
    reading = [line for line in commands_of_pipelines() if READS_FILES.search(line)]
    assert len(reading) > 10
    assert [line for line in reading if "--restrict-paths" not in line] == []
    (hooks,) = [
        yaml.safe_load(block.text)["repos"][0]["hooks"]
        for block in blocks(PIPELINES)
        if block.text.startswith("repos:")
    ]
    assert all("--restrict-paths" in hook["args"] for hook in hooks)


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.name)
def test_a_job_that_may_write_runs_no_code_without_a_hash(path: Path) -> None:
    found = read_workflow(path.read_text(encoding="utf-8"))
    assert found["permissions"] == {"contents": "read"}
    for job in found["jobs"].values():
        if "write" in job.get("permissions", {}).values():
            runs = " ".join(step.get("run", "") for step in job["steps"])
            assert not re.search(r"\bmake\b|-m build|docker (build|run)|uvx", runs)
            assert runs.count("pip install") == runs.count("pip install --require-hashes")
            assert "environment" in job
            assert "needs" in job
        else:
            assert not secret_of(job)


@pytest.mark.parametrize("name", ["action.yml", "Dockerfile"])
def test_the_action_and_the_image_install_with_hashes(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if re.search(r'pip install|"\$\{pip\[@\]\}"', line)]
    installs = [line for line in lines if "pip=(" not in line]
    assert len(installs) == 2
    for line in installs:
        assert "--require-hashes -r" in line or "--no-index --no-deps --no-build-isolation" in line


# -- requirements ----------------------------------------------------------------------------------


def declared(*groups: str) -> list[Requirement]:
    """The requirements of proxyctl and of these groups, from pyproject.toml.

    With those of proxyctl come those of `watch --metrics`, which the image runs.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    found = []
    if "build" in groups:
        extras = project["project"]["optional-dependencies"]
        found = [*project["project"]["dependencies"], *extras["metrics"]]
    for group in groups:
        found += [
            requirement
            for requirement in project["dependency-groups"][group]
            if isinstance(requirement, str)
        ]
    return [Requirement(requirement) for requirement in found]


@pytest.mark.parametrize(
    ("name", "groups"), [("run.txt", ("build",)), ("release.txt", ("release",))]
)
def test_pinned_requirements_have_hashes_and_keep_to_the_bounds(
    name: str, groups: tuple[str, ...]
) -> None:
    text = (ROOT / "requirements" / name).read_text(encoding="utf-8")
    lines = re.sub(r"^#.*\n", "", text, flags=re.M).replace("\\\n", "").splitlines()
    binary, *entries = filter(None, lines)
    assert binary == "--only-binary :all:"
    versions = {}
    for entry in entries:
        pinned = re.fullmatch(
            r"([\w.-]+)==(\S+)( ; [^#]+?)?((?: +--hash=sha256:[0-9a-f]{64})+)", entry
        )
        assert pinned is not None, entry
        versions[pinned[1]] = pinned[2]
    wanted = declared(*groups)
    assert wanted
    for requirement in wanted:
        assert requirement.name in versions, "make requirements writes it"
        assert requirement.specifier.contains(versions[requirement.name]), requirement
