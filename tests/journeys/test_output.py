"""Closed or full output streams: an apply continues, or reports its changes."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.support.commands.cli import Project, proxyctl
from tests.support.commands.pseudo_terminal import shown
from tests.support.commands.story import FILES, applied, plan
from tests.support.commands.warm import Warm
from tests.support.servers.instances import Instance, free_port

Shell = Callable[[str], subprocess.CompletedProcess[str]]


@pytest.fixture
def shell(warm: Warm) -> Shell:
    """Run a shell command line, where $proxyctl and $cold are the program.

    Only $cold can start without one of its streams.
    """

    def run(command: str) -> subprocess.CompletedProcess[str]:
        programs = {"proxyctl": shlex.join(warm.command), "cold": f"{sys.executable} -m proxyctl"}
        return subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            env={**os.environ, **programs},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.mark.parametrize(
    "command",
    [
        "$proxyctl apply --auto-approve 2>&1 | head -n 2",
        "$proxyctl apply --auto-approve | true",
        "$cold apply --auto-approve >&-",
        "$cold apply --auto-approve 2>&-",
        "$proxyctl apply --auto-approve 2>/dev/full",
    ],
)
def test_an_apply_does_not_depend_on_a_reader(project: Project, shell: Shell, command: str) -> None:
    project.write(FILES)
    assert shell("$proxyctl drift | true").returncode == 2
    found = shell(command)
    assert found.returncode == 0, found.stderr
    assert "Traceback" not in found.stderr
    assert plan().code == 0


def test_a_full_disk_behind_stdout(project: Project, shell: Shell) -> None:
    project.write(FILES)
    found = shell("$proxyctl plan > /dev/full")
    assert found.returncode == 1
    assert "stdout cannot be written" in found.stderr
    found = shell("$proxyctl apply --auto-approve --format json > /dev/full")
    assert found.returncode == 4
    assert "applied and read back, but then: stdout cannot be written" in found.stderr
    assert "MYSQL SERVERS: MEMORY as in the files" in found.stderr
    assert plan().code == 0


def test_a_full_disk_behind_the_report_of_all_instances(
    project: Project, instance: Instance, shell: Shell
) -> None:
    named = f"{{name: px1, host: {instance.host}, port: {instance.port}, user: {instance.user}}}"
    project.write(f"{FILES}instances: [{named}]\n")
    apply = "$proxyctl apply --all --auto-approve --format json > /dev/full"
    found = shell(apply)
    assert found.returncode == 4, found.stderr
    assert "changed, but then: stdout cannot be written: no space left" in found.stderr
    assert "  Fleet of 1 instance: 1 applied: px1.\n" in found.stderr
    again = shell(apply)
    assert again.returncode == 1, again.stderr
    assert "changed" not in again.stderr


def test_files_with_passwords_are_private_and_others_as_the_umask_says(
    project: Project, instance: Instance
) -> None:
    project.write(FILES)
    applied()
    before = os.umask(0o027)
    try:
        assert proxyctl("export", "-o", "all.yaml").code == 0
        assert proxyctl("export", "--secrets", "omit", "-o", "without.yaml").code == 0
        assert proxyctl("export", "--secrets", "clear", "-o", "clear.yaml").code == 0
        assert proxyctl("render", "--secrets", "omit", "-o", "rendered.yaml").code == 0
    finally:
        os.umask(before)
    modes = {p.name: oct(p.stat().st_mode & 0o777) for p in project.folder.glob("*.yaml")}
    assert {modes[name] for name in ("all.yaml", "clear.yaml")} == {"0o600"}
    assert {modes[name] for name in ("without.yaml", "rendered.yaml")} == {"0o640"}


@pytest.mark.parametrize("command", [("export",), ("render",), ("import", "proxysql.cnf")])
def test_no_command_overwrites_files(sandbox_project: Project, command: tuple[str, ...]) -> None:
    sandbox_project.write(FILES)
    sandbox_project.write("", "proxysql.cnf")
    found = proxyctl(*command, "-o", "proxyctl.yaml")
    assert found.code == 3
    assert "error: proxyctl.yaml: already exists" in found.err
    assert (sandbox_project.folder / "proxyctl.yaml").read_text() == FILES


@pytest.mark.parametrize("folder", ["/dev/null/x", "/proc/none"])
def test_no_place_for_a_snapshot(
    project: Project, instance: Instance, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    project.write(FILES)
    monkeypatch.setenv("PROXYCTL_STATE_DIR", folder)
    found = proxyctl("apply", "--auto-approve")
    assert found.code == 1
    assert "cannot write a snapshot" in found.err
    assert "PROXYCTL_STATE_DIR" in found.err
    assert plan().code == 2


def test_with_json_on_stdout_the_plan_to_approve_can_be_read_on_stderr(
    project: Project, instance: Instance
) -> None:
    project.write(FILES)
    asked = proxyctl("apply", "--format", "json")
    assert asked.code == 64
    assert "\n\nMYSQL SERVERS       5 to add\n" in asked.err

    assert proxyctl("apply", "--auto-approve").code == 0
    asked = proxyctl("rollback", "--force", "--format", "json")
    assert asked.code == 64
    assert "\n\nMYSQL SERVERS       5 to delete\n" in asked.err

    named = f"{{name: px1, host: {instance.host}, port: {instance.port}, user: {instance.user}}}"
    project.write(f"mysql_servers: [{{hostgroup_id: 10, hostname: db9}}]\ninstances: [{named}]\n")
    asked = proxyctl("apply", "--all", "--force", "--format", "json")
    assert asked.code == 64
    assert "\n\nMYSQL SERVERS       1 to add, 4 to delete\n" in asked.err


_COLOUR = re.compile(r"\x1b\[(?:\d+;)*[349]\d")


@pytest.mark.parametrize("no_colour", ["", "--no-color", "NO_COLOR"])
@pytest.mark.parametrize("line", ["schema -o none/x", "plan --nothing", "plna", "plan --help"])
def test_errors_and_help_have_colour_on_a_terminal_unless_disabled(
    warm: Warm, line: str, no_colour: str
) -> None:
    words = [*([no_colour] if no_colour.startswith("-") else []), *line.split()]
    env = {"NO_COLOR": "1" if no_colour == "NO_COLOR" else "", "TERM": "xterm"}
    text = shown([*warm.command, *words], **env)
    assert (_COLOUR.search(text) is None) == bool(no_colour)


@pytest.mark.parametrize(
    "text", ["", "# nothing yet\n", "instances: [{name: px1, host: 127.0.0.1}]\n"]
)
def test_files_that_manage_nothing_are_warned_of(sandbox_project: Project, text: str) -> None:
    sandbox_project.write(text)
    port = ("--host", "127.0.0.1") if text.startswith("instances") else ()
    for command in (("plan", *port), ("validate",)):
        found = proxyctl(*command)
        assert found.code == 0, found.text
        words = " ".join(found.text.split())
        assert "the files have no table section and no variable" in words
        assert "proxyctl export -o FILE" in words
    sandbox_project.write(f"{text}\nmysql_query_rules: []\n")
    assert "no section" not in proxyctl("validate").text


WRAPPED = {
    "a warning": ("mysql_query_rules: [{rule_id: 1, active: false, digest: none}]", "validate"),
    "an error": ("version: 1", "drift --quiet --format prometheus"),
    "why an instance was not read": (
        f"instances: [{{name: px1, host: 127.0.0.1, port: {free_port()}}}]\nmysql_servers: []",
        "plan --all",
    ),
    "where a rollback leads": (
        "mysql_query_rules: [{rule_id: 1, match_digest: x}]",
        "rollback --dry-run",
    ),
}


@pytest.mark.parametrize(("files", "command"), WRAPPED.values(), ids=WRAPPED)
def test_lines_are_wrapped_on_a_terminal(
    warm: Warm, sandbox_project: Project, files: str, command: str
) -> None:
    sandbox_project.write(files)
    if command.startswith("rollback"):
        assert proxyctl("apply", "--auto-approve", "--force").code == 0
    lines = shown([*warm.command, *command.split()], NO_COLOR="1").splitlines()
    assert max(map(len, lines)) <= 80
    assert any(line.startswith("  ") for line in lines)
