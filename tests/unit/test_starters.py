"""`init`: its files, its refusals, and the next steps that it names."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from proxyctl.config.starters import starter_names
from tests.support.commands.cli import Project, proxyctl
from tests.support.paths import ROOT


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return Project(tmp_path, monkeypatch).folder


@pytest.mark.parametrize("name", starter_names())
def test_the_next_steps_work_as_written(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = proxyctl("init", "--template", name, "my shop")
    assert done.code == 0
    _, _, rest = done.err.partition(
        "next: put your own servers and users into the files, then run\n"
    )
    *setup, validate, plan = [line.strip() for line in rest.splitlines()]
    assert (setup[0], plan) == ("cd 'my shop'", validate.replace("validate", "plan"))
    script = "\n".join([*setup, validate.replace("proxyctl", f"{sys.executable} -m proxyctl")])
    for secret in ("APP_PASSWORD", "MONITOR_PASSWORD"):
        monkeypatch.delenv(secret, raising=False)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    assert subprocess.run(["sh", "-ec", script], env=environment, check=False).returncode == 0


def test_a_misspelled_template_is_guessed(folder: Path) -> None:
    done = proxyctl("init", "--template", "pcx", "shop")
    assert done.code == 64
    assert "fix: did you mean pxc?" in done.err
    assert "minimal, pxc" in proxyctl("init", "--template", "zzz", "shop").err


@pytest.mark.parametrize("target", ["file", "file/below"])
def test_a_file_is_no_folder(folder: Path, target: str) -> None:
    (folder / "file").touch()
    done = proxyctl("init", target)
    assert done.code == 1
    assert done.err.startswith("error: file")
    assert "cannot be written" in done.err


def test_nothing_is_overwritten(folder: Path) -> None:
    assert proxyctl("init", "shop").code == 0
    assert proxyctl("init", "shop").code == 3


@pytest.mark.parametrize("name", starter_names())
def test_editors_find_the_schema_of_the_files(name: str, folder: Path) -> None:
    assert proxyctl("init", "--template", name, "shop").code == 0
    for path in (folder / "shop").glob("*.yaml"):
        first = path.read_text().splitlines()[0]
        assert first == "# yaml-language-server: $schema=proxyctl.schema.json"
    assert (folder / "shop" / "proxyctl.schema.json").read_text() == proxyctl("schema").out
