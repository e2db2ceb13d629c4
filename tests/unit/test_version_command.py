"""What `make test-version` says where there is no ProxySQL to run on."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

import pytest

SAYS = "#!/bin/sh\necho {}\n"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.versions", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def program(folder: Path, output: str) -> str:
    path = folder / "program"
    path.write_text(SAYS.format(output))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        (None, "No such file or directory"),
        ("'GNU bash, version 5.2.15(1)-release'", "names no version of ProxySQL"),
        ("'ProxySQL version 2.3.1-8-g0, codename Truls'", "does not know ProxySQL 2.3.1"),
    ],
)
def test_one_sentence_where_nothing_can_be_run(
    tmp_path: Path, output: str | None, reason: str
) -> None:
    binary = program(tmp_path, output) if output else str(tmp_path / "none")
    done = run(binary)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    for part in (binary, reason, "; name a" if "2.3.1" not in reason else "; take one"):
        assert part in done.stderr


def test_an_image_that_docker_does_not_give(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    done = run("--image", "some/image:1")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "image some/image:1: there is no docker here; name an image" in done.stderr
