"""The action for GitHub, the pre-commit hooks, and the example of a config repository.

Steps run as on a GitHub runner, on sandboxes; a fake `gh` keeps the comment that it is given.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml

from proxyctl.sandbox import Sandbox
from tests.docs.workflows import parse
from tests.support.commands.warm import Warm
from tests.support.documentation.pages import blocks
from tests.support.paths import ROOT
from tests.support.servers.monitor import place

Done = subprocess.CompletedProcess[str]
_SHIMS = {
    "proxyctl": 'exec {proxyctl} "$@"',
    "gh": 'echo "$@" >> {folder}/gh.txt; cat > {folder}/comment.md',
}


class Machine:
    """A runner with a folder of files, and its sandboxes."""

    def __init__(self, folder: Path, warm: Warm, instances: list[Sandbox]) -> None:
        self.folder = folder
        self.files = folder / "files"
        self.instances = instances
        (folder / "bin").mkdir()
        for name, text in _SHIMS.items():
            shim = folder / "bin" / name
            script = text.format(proxyctl=shlex.join(warm.command), folder=folder)
            shim.write_text(f"#!/bin/sh\n{script}\n")
            shim.chmod(0o755)

    def begin(self, step: Mapping[str, Any], environment: Mapping[str, str]) -> Any:
        """Start a step as GitHub does for `shell: bash`."""
        return subprocess.Popen(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.files,
            env={
                "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
                "PYTHONPATH": str(ROOT),
                "HOME": str(self.folder),
                "CI": "true",
                **environment,
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, step: Mapping[str, Any], environment: Mapping[str, str]) -> Done:
        """Run a step to its end."""
        with self.begin(step, environment) as process:
            out, err = process.communicate()
        return subprocess.CompletedProcess(step["run"], process.returncode, out, err)

    def comment(self) -> str:
        return (self.folder / "comment.md").read_text(encoding="utf-8")


# -- the action and the hooks ----------------------------------------------------------------------

FILE = """\
version: 1
mysql_query_rules:
  - {rule_id: 1, match_digest: ^SELECT, destination_hostgroup: 20, apply: true}
"""
RIGHT_FILE = """\
version: 1
mysql_servers:
  - {hostgroup_id: 10, hostname: db1.example.com}
mysql_users:
  - {username: app, password: {env: APP_PASSWORD}, default_hostgroup: 10}
"""
"""A file in which lint finds no error."""


class Action(Machine):
    """A pull request whose workflow uses the action."""

    def step(self, name: str, **environment: str) -> Done:
        action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
        (step,) = [step for step in action["runs"]["steps"] if step.get("name") == name]
        assert environment.keys() == step["env"].keys()
        (one,) = self.instances
        files = ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")
        given = {
            "PROXYCTL_PORT": str(one.port),
            "PROXYCTL_PASSWORD": "admin",
            "RUNNER_TEMP": str(self.folder),
            **{name: str(self.folder / name.lower()) for name in files},
        }
        return self.run(step, {**given, **environment})

    def proxyctl(
        self, command: str, arguments: str = "", *, restricted: str = "true"
    ) -> tuple[int, str]:
        """Run a command through the action; return the step's result and outputs."""
        output = self.folder / "github_output"
        output.unlink(missing_ok=True)
        inputs = {"COMMAND": command, "FILE": "proxyctl.yaml", "ARGUMENTS": arguments}
        done = self.step("run", **inputs, RESTRICT_PATHS=restricted)
        return done.returncode, output.read_text().strip() if output.exists() else done.stdout


@pytest.fixture
def action(tmp_path: Path, warm: Warm) -> Iterator[Action]:
    with Sandbox() as sandbox:
        made = Action(tmp_path, warm, [sandbox])
        made.files.mkdir()
        (made.files / "proxyctl.yaml").write_text(FILE)
        yield made


def test_a_change_is_planned_applied_and_then_no_drift(action: Action) -> None:
    assert action.proxyctl("drift") == (2, "exit-code=2")
    assert action.proxyctl("plan") == (0, "exit-code=2")
    assert "rule 1" in (action.folder / "github_step_summary").read_text()
    given = {"PULL_REQUEST": "7", "COMMIT": "0123abcd", "GH_TOKEN": "a-token", "GH_REPO": "o/r"}
    assert action.step("comment", **given).returncode == 0
    assert (action.folder / "gh.txt").read_text().startswith("pr comment 7 --edit-last")
    assert action.comment().startswith("Of 0123abcd:\n")
    assert "rule 1" in action.comment()
    assert action.proxyctl("apply", "--lock-timeout 5") == (0, "exit-code=0")
    assert action.proxyctl("plan") == (0, "exit-code=0")
    assert action.proxyctl("drift") == (0, "exit-code=0")


def test_mistakes_and_unknown_commands_fail_the_step(action: Action) -> None:
    (action.files / "proxyctl.yaml").write_text("version: 2\n")
    assert action.proxyctl("plan") == (1, "exit-code=1")
    code, output = action.proxyctl("destroy")
    assert (code, "command is plan, apply or drift" in output) == (64, True)


@pytest.mark.parametrize(("restricted", "code"), [("true", 1), ("", 1), ("no", 1), ("false", 0)])
def test_the_action_reads_no_file_outside_its_folder_unless_told(
    action: Action, restricted: str, code: int
) -> None:
    (action.folder / "comment").write_text("of another folder")
    (action.files / "proxyctl.yaml").write_text(
        FILE.replace("apply: true", "apply: true, comment: {file: ../comment}")
    )
    assert action.proxyctl("plan", restricted=restricted)[0] == code


def test_the_hooks_for_pre_commit_are_commands(action: Action) -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert [hook["entry"] for hook in hooks] == ["proxyctl validate", "proxyctl lint"]
    for hook in hooks:
        done = action.run({"run": hook["entry"]}, {})
        assert done.returncode == 0, done.stderr
    (found,) = examples("hooks")
    assert [hook["id"] for hook in found] == [hook["id"] for hook in hooks]
    for hook in found:
        parse([hook["id"].removeprefix("proxyctl-"), *hook["args"]])


def examples(key: str) -> list[Any]:
    """Return the lists under this key in the examples of the page about pipelines."""
    page = ROOT / "docs" / "how-to" / "ci-pipeline.md"
    texts = [block.text for block in blocks(page) if block.language == "yaml"]
    return [value for text in texts for value in _values(yaml.safe_load(text), key)]


def _values(node: Any, key: str) -> Iterator[Any]:
    children = node.items() if isinstance(node, dict) else enumerate(node)
    for name, child in children:
        if name == key:
            yield child
        if isinstance(child, dict | list):
            yield from _values(child, key)


def test_the_page_gives_the_action_what_it_takes() -> None:
    inputs = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))["inputs"]
    found = [step for steps in examples("steps") for step in steps]
    given = [step["with"] for step in found if "/proxyctl@" in step.get("uses", "")]
    assert given
    for arguments in given:
        assert set(arguments) <= set(inputs)
        assert arguments["command"] in inputs["command"]["description"]


def test_the_workflow_without_the_action_applies_what_was_planned(action: Action) -> None:
    (jobs,) = [jobs for jobs in examples("jobs") if "apply" in jobs]
    assert jobs["apply"]["needs"] == "plan"
    used = {step["uses"].partition("@")[0]: step["with"] for step in steps_of(jobs, "uses")}
    saved, fetched = used["actions/upload-artifact"], used["actions/download-artifact"]
    assert saved["name"] == fetched["name"]
    (action.files / "config").mkdir()
    (action.files / "config" / "proxyctl.yaml").write_text(RIGHT_FILE)
    (one,) = action.instances
    given = {"PROXYCTL_PORT": str(one.port)}
    secrets = {"PROXYCTL_PASSWORD": "admin", "APP_PASSWORD": "s3cret-of-app"}
    # The second time, nothing differs, and the plan is empty.
    for _ in range(2):
        for step in steps_of(jobs, "run"):
            assert step.get("env", {}).keys() in (set(), set(secrets))
            if "pip install" not in step["run"]:
                done = action.run(step, given | (secrets if "env" in step else {}))
                assert done.returncode == 0, done.stderr
        assert (action.files / saved["path"]).exists()
        assert users(one) == ["app"]
        (action.files / saved["path"]).unlink()


def steps_of(jobs: Mapping[str, Any], key: str) -> list[Any]:
    """Return the steps of all jobs that have this key."""
    return [step for job in jobs.values() for step in job["steps"] if key in step]


# -- the config repository -------------------------------------------------------------------------

EXAMPLE = ROOT / "examples" / "config-repository"
WORKFLOWS = sorted((EXAMPLE / ".github" / "workflows").glob("*.yml"))
SECRETS = {
    "PROXYSQL_ADMIN_PASSWORD": "radmin",
    "MONITOR_PASSWORD": "s3cret-of-monitor",
    "SHOP_PASSWORD": "s3cret-of-shop",
}
CONTEXT = {
    **{f"secrets.{name}": value for name, value in SECRETS.items()},
    "github.event.number": "7",
    "github.event.pull_request.head.sha": "0123abcd",
    "github.token": "a-token",
}


def workflow(path: Path) -> dict[str, Any]:
    """Return a workflow. BaseLoader keeps text: other loaders read the key `on` as true."""
    found: dict[str, Any] = yaml.load(path.read_text(encoding="utf-8"), yaml.BaseLoader)
    return found


def filled_in(text: str) -> str:
    """Return a text with its expressions replaced. Raises: KeyError for an unknown expression."""
    return re.sub(r"\$\{\{ (.+?) \}\}", lambda expression: CONTEXT[expression[1]], text)


class Runner(Machine):
    """The example in a folder of its own."""

    def workflow(self, name: str) -> list[Done]:
        """Run the steps of a workflow until one fails; then the steps that run after a failure."""
        found = workflow(self.files / ".github" / "workflows" / name)
        (job,) = found["jobs"].values()
        assert found["defaults"]["run"]["shell"] == "bash"
        done: list[Done] = []
        begun: set[str] = set()
        for step in (step for step in job["steps"] if "run" in step):
            if "if" in step:
                condition = re.fullmatch(
                    r"\$\{\{ !cancelled\(\) && steps\.(\w+)\.outcome != 'skipped' \}\}", step["if"]
                )
                assert condition is not None
                runs = condition[1] in begun
            else:
                runs = not any(earlier.returncode for earlier in done)
            if runs:
                begun.add(step.get("id", ""))
                done.append(self.run(step, environment(found, step)))
        return done

    def edit(self, old: str, new: str) -> None:
        """Change the file, as a commit does."""
        file = self.files / "proxyctl.yaml"
        text = file.read_text(encoding="utf-8")
        assert old in text
        file.write_text(text.replace(old, new), encoding="utf-8")


def environment(of: dict[str, Any], step: dict[str, Any]) -> dict[str, str]:
    """Return the variables of a step of a workflow."""
    given = {**of.get("env", {}), **step.get("env", {})}
    return {name: filled_in(text) for name, text in given.items()}


@pytest.fixture
def runner(tmp_path: Path, warm: Warm) -> Iterator[Runner]:
    with ExitStack() as stack:
        made = Runner(tmp_path, warm, [stack.enter_context(Sandbox()) for _ in range(3)])
        shutil.copytree(EXAMPLE, made.files)
        for number, instance in enumerate(made.instances, 1):
            made.edit(
                f"host: px{number}.example.com, port: 6032",
                f"host: {instance.host}, port: {instance.port}",
            )
        yield made


def codes(done: list[Done]) -> list[int]:
    """Return the exit codes of the steps."""
    return [step.returncode for step in done]


def users(sandbox: Sandbox) -> list[str]:
    """Return the users at RUNTIME."""
    rows = sandbox.run("SELECT username FROM runtime_mysql_users WHERE frontend=1").rows
    return [str(name) for (name,) in rows]


def test_a_pull_request_gets_its_plan_as_a_comment_and_changes_nothing(runner: Runner) -> None:
    done = runner.workflow("plan.yml")
    assert codes(done) == [0, 0, 0, 0], done
    comment = runner.comment()
    assert "px1, px2, px3" in comment
    assert "+ user shop" in comment
    assert not any(secret in comment for secret in SECRETS.values())
    sent = (runner.folder / "gh.txt").read_text(encoding="utf-8")
    assert sent == "pr comment 7 --edit-last --create-if-none --body-file -\n"
    assert comment.startswith("Of 0123abcd:\n\n")
    assert [users(instance) for instance in runner.instances] == [[], [], []]


def test_a_mistake_stops_it_before_there_is_a_plan(runner: Runner) -> None:
    runner.edit("expect: {hostgroup: reader, rule_id: 200}", "expect: {hostgroup: writer}")
    done = runner.workflow("plan.yml")
    assert codes(done) == [1], done


def test_an_instance_that_is_gone_is_named_in_the_comment(runner: Runner) -> None:
    runner.edit(f"port: {runner.instances[2].port},", "port: 1,")
    done = runner.workflow("plan.yml")
    assert codes(done)[-2:] == [1, 0], done
    comment = runner.comment()
    assert "px1, px2" in comment
    assert "px3" in comment


def test_a_merge_is_applied_and_an_edit_by_hand_is_drift(runner: Runner) -> None:
    runner.edit("weight: 900", "weight: 950")
    done = runner.workflow("apply.yml")
    assert codes(done) == [0, 0], done
    assert [users(instance) for instance in runner.instances] == [["shop"], ["shop"], ["shop"]]
    for instance in runner.instances:
        place(instance, 10, writers=[("pxc1.example.com", 3306)])
    done = runner.workflow("drift.yml")
    assert set(codes(done)) == {0}, done

    px2 = runner.instances[1]
    px2.run("UPDATE mysql_servers SET weight=7")
    px2.run("LOAD MYSQL SERVERS TO RUNTIME")
    drift, doctor = runner.workflow("drift.yml")
    assert (drift.returncode, doctor.returncode) == (2, 0), (drift, doctor)
    assert "2 without drift, 1 drifted: px2." in drift.stdout
    # Such a LOAD leaves nobody to read until the monitor looks again, which a sandbox never does.
    assert "no servers: a sandbox has no monitor" in doctor.stdout


def test_an_apply_that_is_cancelled_stops_and_says_what_it_has_done(runner: Runner) -> None:
    """A runner that cancels sends SIGINT only to the process that it started."""
    found = workflow(runner.files / ".github" / "workflows" / "apply.yml")
    (job,) = found["jobs"].values()
    step = job["steps"][-1]
    with runner.begin(step, environment(found, step)) as process:
        for line in process.stderr:
            if line.startswith("px1: SAVE"):
                break
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate()
    assert process.returncode == 130, out
    assert out.endswith(" px1; 2 not touched: px2, px3.\n")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_steps_that_connect_get_every_secret_and_only_that_of_a_pull_request_may_write(
    path: Path,
) -> None:
    text = (EXAMPLE / "proxyctl.yaml").read_text(encoding="utf-8")
    named = set(re.findall(r"\{env: (\w+)\}", text))
    assert named == set(SECRETS)
    (job,) = workflow(path)["jobs"].values()
    secrets = {name: f"${{{{ secrets.{name} }}}}" for name in named}
    for step in job["steps"]:
        connects = re.search(r"proxyctl (plan|apply|drift|doctor)", step.get("run", ""))
        given = {name: text for name, text in step.get("env", {}).items() if "secrets." in text}
        assert given == (secrets if connects else {})
    may = workflow(path)["permissions"]
    writes = {name for name, right in may.items() if right == "write"}
    assert writes == ({"pull-requests"} if path.name == "plan.yml" else set())
