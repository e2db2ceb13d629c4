"""The units of the example: what they run, and what systemd says of them."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from proxyctl.errors import ExitCode
from tests.docs.workflows import parse
from tests.support.documentation.pages import page_id
from tests.support.paths import ROOT

UNITS = sorted((ROOT / "examples" / "systemd").glob("proxyctl-*"))
SERVICES = [unit for unit in UNITS if unit.suffix == ".service"]
SECTIONS = {".service": {"Unit", "Service", "Install"}, ".timer": {"Unit", "Timer", "Install"}}
every_service = pytest.mark.parametrize("unit", SERVICES, ids=page_id)

Settings = dict[str, dict[str, list[str]]]


def settings_of(unit: Path) -> Settings:
    """Return the values of a unit by section and key."""
    found: Settings = {}
    for line in unit.read_text("utf-8").replace("\\\n", "").splitlines():
        if heading := re.fullmatch(r"\[(\w+)\]", line):
            section = found.setdefault(heading[1], {})
        elif line and line[0] not in "#;":
            key, _, value = line.partition("=")
            section.setdefault(key, []).append(value)
    return found


def command_of(unit: Path) -> list[str]:
    (command,) = settings_of(unit)["Service"]["ExecStart"]
    return shlex.split(command)


@pytest.mark.parametrize("unit", UNITS, ids=page_id)
def test_sections_fit_the_kind_of_unit(unit: Path) -> None:
    found = settings_of(unit)
    assert found.keys() <= SECTIONS[unit.suffix]
    assert all(
        key == "SystemCallFilter" or len(values) == 1
        for section in found.values()
        for key, values in section.items()
    )


def test_the_timer_starts_a_service_of_the_folder() -> None:
    (timer,) = (unit for unit in UNITS if unit.suffix == ".timer")
    assert timer.with_suffix(".service") in SERVICES


@every_service
def test_the_command_line_is_understood(unit: Path) -> None:
    program, *arguments = command_of(unit)
    assert Path(program).name == "proxyctl"
    parse(arguments)


@every_service
def test_the_password_is_a_credential(unit: Path) -> None:
    service = settings_of(unit)["Service"]
    (credential,) = service["LoadCredential"]
    name, _, _ = credential.partition(":")
    command = command_of(unit)
    password = command[command.index("--password-file") + 1]
    assert password == f"${{CREDENTIALS_DIRECTORY}}/{name}"


def test_an_interrupted_watch_has_ended_well_and_a_wrong_command_line_is_not_tried_again() -> None:
    service = settings_of(ROOT / "examples" / "systemd" / "proxyctl-watch.service")["Service"]
    assert service["SuccessExitStatus"] == [str(int(ExitCode.INTERRUPTED))]
    assert service["RestartPreventExitStatus"] == [str(int(ExitCode.USAGE))]


def test_the_report_of_a_difference_is_a_failure() -> None:
    service = settings_of(ROOT / "examples" / "systemd" / "proxyctl-drift.service")["Service"]
    assert "SuccessExitStatus" not in service


def test_both_services_are_confined_alike() -> None:
    confined = {
        re.search(r"^DynamicUser=.*?^SystemCallErrorNumber=\S+$", text, re.M | re.S)[0]  # type: ignore[index]
        for text in (unit.read_text("utf-8") for unit in SERVICES)
    }
    assert len(confined) == 1


def test_systemd_takes_the_units(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze") or pytest.skip(
        "no systemd-analyze on PATH: the units are not verified"
    )
    for unit in UNITS:
        # It looks for the program, too.
        text = unit.read_text("utf-8").replace("/usr/local/bin/proxyctl", sys.executable)
        (tmp_path / unit.name).write_text(text, "utf-8")
    copies = [str(tmp_path / unit.name) for unit in UNITS]
    done = subprocess.run([analyze, "verify", *copies], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
