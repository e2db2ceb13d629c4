"""The example of a config repository: its workflows run as a runner runs them, on sandboxes."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from proxyctl.sandbox import Sandbox
from tests.docs.pages import ROOT
from tests.support.monitor import place
from tests.support.warm import Warm

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
_SHIMS = {
    "proxyctl": 'exec {proxyctl} "$@"',
    # Keeps what would become the comment.
    "gh": 'echo "$@" >> {folder}/gh.txt; cat > {folder}/comment.md',
}


def workflow(path: Path) -> dict[str, Any]:
    """Return a workflow. BaseLoader keeps text as it is: for others the key `on` is true."""
    found: dict[str, Any] = yaml.load(path.read_text(encoding="utf-8"), yaml.BaseLoader)
    return found


def filled_in(text: str) -> str:
    """Return a text with its expressions replaced. Raises: KeyError for one that nobody gives."""
    return re.sub(r"\$\{\{ (.+?) \}\}", lambda found: CONTEXT[found[1]], text)


@dataclass
class Runner:
    """A machine that has the checkout, and instances that it reaches."""

    folder: Path
    instances: list[Sandbox]

    @property
    def checkout(self) -> Path:
        return self.folder / "checkout"

    def run(self, name: str) -> list[subprocess.CompletedProcess[str]]:
        """Run the steps of a workflow until one fails; then those that want to run nevertheless."""
        found = workflow(self.checkout / ".github" / "workflows" / name)
        (job,) = found["jobs"].values()
        assert found["defaults"]["run"]["shell"] == "bash"
        done: list[subprocess.CompletedProcess[str]] = []
        begun: set[str] = set()
        for step in job["steps"]:
            if "run" not in step:
                continue
            if "if" in step:
                condition = re.fullmatch(
                    r"\$\{\{ !cancelled\(\) && steps\.(\w+)\.outcome != 'skipped' \}\}", step["if"]
                )
                assert condition is not None
                runs = condition[1] in begun
            else:
                runs = not any(one.returncode for one in done)
            if not runs:
                continue
            begun.add(step.get("id", ""))
            with self.begin(found, step) as process:
                out, err = process.communicate()
            done.append(subprocess.CompletedProcess(step["run"], process.returncode, out, err))
        return done

    def begin(self, of: dict[str, Any], step: dict[str, Any]) -> subprocess.Popen[str]:
        """Start a step of a workflow, as a script."""
        given = {**of.get("env", {}), **step.get("env", {})}
        script = self.folder / "step.sh"
        script.write_text(step["run"], encoding="utf-8")
        return subprocess.Popen(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            cwd=self.checkout,
            env=self._environment() | {n: filled_in(text) for n, text in given.items()},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def _environment(self) -> dict[str, str]:
        return {
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "HOME": str(self.folder),
            "CI": "true",
        }

    def edit(self, old: str, new: str) -> None:
        """Change the file, as a commit does."""
        file = self.checkout / "proxyctl.yaml"
        text = file.read_text(encoding="utf-8")
        assert old in text
        file.write_text(text.replace(old, new), encoding="utf-8")


@pytest.fixture
def runner(tmp_path: Path, warm: Warm) -> Iterator[Runner]:
    """The example in a folder of its own; its instances are sandboxes."""
    (tmp_path / "bin").mkdir()
    for name, text in _SHIMS.items():
        shim = tmp_path / "bin" / name
        script = text.format(proxyctl=shlex.join(warm.command), folder=tmp_path)
        shim.write_text(f"#!/bin/sh\n{script}\n")
        shim.chmod(0o755)
    shutil.copytree(EXAMPLE, tmp_path / "checkout")
    with ExitStack() as stack:
        made = Runner(tmp_path, [stack.enter_context(Sandbox()) for _ in range(3)])
        for number, one in enumerate(made.instances, 1):
            made.edit(
                f"host: px{number}.example.com, port: 6032", f"host: {one.host}, port: {one.port}"
            )
        yield made


def codes(done: list[subprocess.CompletedProcess[str]]) -> list[int]:
    """Return the exit codes of the steps."""
    return [one.returncode for one in done]


def users(sandbox: Sandbox) -> list[str]:
    """Return who may log in at RUNTIME."""
    rows = sandbox.run("SELECT username FROM runtime_mysql_users WHERE frontend=1").rows
    return [str(name) for (name,) in rows]


def test_a_pull_request_gets_its_plan_as_a_comment_and_changes_nothing(runner: Runner) -> None:
    done = runner.run("plan.yml")
    assert codes(done) == [0, 0, 0, 0, 0], done
    comment = (runner.folder / "comment.md").read_text(encoding="utf-8")
    assert "px1, px2, px3" in comment
    assert "+ user shop" in comment
    assert not any(secret in comment for secret in SECRETS.values())
    sent = (runner.folder / "gh.txt").read_text(encoding="utf-8")
    assert sent == "pr comment 7 --edit-last --create-if-none --body-file -\n"
    assert comment.startswith("Of 0123abcd:\n\n")
    assert [users(one) for one in runner.instances] == [[], [], []]


def test_a_mistake_stops_it_before_there_is_a_plan(runner: Runner) -> None:
    runner.edit("expect: {hostgroup: reader, rule_id: 200}", "expect: {hostgroup: writer}")
    done = runner.run("plan.yml")
    assert codes(done) == [0, 1], done


def test_an_instance_that_is_gone_is_named_in_the_comment(runner: Runner) -> None:
    runner.edit(f"port: {runner.instances[2].port},", "port: 1,")
    done = runner.run("plan.yml")
    assert codes(done)[-2:] == [1, 0], done
    comment = (runner.folder / "comment.md").read_text(encoding="utf-8")
    assert "px1, px2" in comment
    assert "px3" in comment


def test_a_merge_is_applied_and_an_edit_by_hand_is_drift(runner: Runner) -> None:
    runner.edit("weight: 900", "weight: 950")
    done = runner.run("apply.yml")
    assert codes(done) == [0, 0], done
    assert [users(one) for one in runner.instances] == [["shop"], ["shop"], ["shop"]]
    for one in runner.instances:
        place(one, 10, writers=[("pxc1.example.com", 3306)])
    done = runner.run("drift.yml")
    assert set(codes(done)) == {0}, done

    px2 = runner.instances[1]
    px2.run("UPDATE mysql_servers SET weight=7")
    px2.run("LOAD MYSQL SERVERS TO RUNTIME")
    drift, doctor = runner.run("drift.yml")
    assert (drift.returncode, doctor.returncode) == (2, 0), (drift, doctor)
    assert "2 without drift, 1 drifted: px2." in drift.stdout
    # Such a LOAD leaves nobody to read until the monitor looks again, which a sandbox never does.
    assert "no server: a sandbox has no monitor" in doctor.stdout


def test_an_apply_that_is_cancelled_stops_and_says_what_it_has_done(runner: Runner) -> None:
    """Who cancels has a SIGINT sent to the process that the runner started, and to no other one."""
    found = workflow(runner.checkout / ".github" / "workflows" / "apply.yml")
    (job,) = found["jobs"].values()
    with runner.begin(found, job["steps"][-1]) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("px1: SAVE"):
                break
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate()
    assert process.returncode == 130, out
    assert out.endswith(" px1; 2 not touched: px2, px3.\n")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_the_workflows_hand_over_every_secret_of_the_files(path: Path) -> None:
    text = (EXAMPLE / "proxyctl.yaml").read_text(encoding="utf-8")
    named = set(re.findall(r"\{env: (\w+)\}", text))
    assert named == set(SECRETS)
    assert workflow(path)["env"] == {name: f"${{{{ secrets.{name} }}}}" for name in named}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_only_the_workflow_of_a_pull_request_may_write(path: Path) -> None:
    may = workflow(path)["permissions"]
    writes = {name for name, right in may.items() if right == "write"}
    assert writes == ({"pull-requests"} if path.name == "plan.yml" else set())
