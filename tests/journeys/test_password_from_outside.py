"""What other processes of the machine can see of the password."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.journeys.secret_story import SecretStory, Sentinels, writes
from tests.support.commands.cli import Project


def processes_below(pid: int) -> list[Path]:
    """Return the folders in /proc of a process and of its descendants."""
    found = [Path(f"/proc/{pid}")]
    for folder in found:
        with suppress(OSError):  # it may have ended
            for thread in folder.glob("task/*/children"):
                found += [Path(f"/proc/{child}") for child in thread.read_text().split()]
    return found


def visible(place: Path, name: str) -> bytes:
    try:
        return (place / name).read_bytes()
    except OSError:
        return b""  # it has ended


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs Linux's /proc")
def test_nobody_sees_the_password_from_outside(story: SecretStory) -> None:
    """While an apply runs, check its command line and its child processes."""
    (story.project.folder / "pw").touch(mode=0o600)
    story.project.write(story.login, "pw")
    environment = {k: v for k, v in os.environ.items() if k != "PROXYCTL_PASSWORD"}
    seen: list[bytes] = []
    children: list[Path] = []
    process: list[subprocess.Popen[bytes]] = []

    def look(sql: str) -> None:
        if writes(sql):
            mine, *others = processes_below(process[0].pid)
            children.extend(others)
            seen.append(visible(mine, "cmdline"))

    story.sandbox.options.before_statement = look
    command = [sys.executable, "-m", "proxyctl", "apply", "--auto-approve", "--password-file", "pw"]
    files = story.project.folder / "proxyctl.yaml"
    files.write_text(files.read_text().replace("{env: PROXYCTL_PASSWORD}", "''"))
    process.append(
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    )
    out, err = process[0].communicate()
    assert process[0].returncode == 0, err
    assert seen
    assert not children
    assert not story.sentinels.shown_in(b"".join(seen) + out + err)


@pytest.mark.sweep
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs Linux's /proc")
def test_no_child_gets_the_password(offline: Project) -> None:
    """The demo starts proxyctl only with the login of its own sandbox."""
    sentinels = Sentinels()
    offline.write(sentinels.secret("password-file"), "pw")
    environment = {
        **os.environ,
        "PROXYCTL_PASSWORD": sentinels.secret("password"),
        "PROXYCTL_PASSWORD_FILE": "pw",
        "PROXYCTL_HOST": "nowhere.invalid",
    }
    seen = set()
    with subprocess.Popen(
        [sys.executable, "-m", "proxyctl", "demo"],
        env=environment,
        stdout=subprocess.DEVNULL,
    ) as demo:
        while demo.poll() is None:
            for child in processes_below(demo.pid)[1:]:
                called = visible(child, "cmdline")
                # Between fork and exec it still is the demo, with all that the demo has.
                if called.split(b"\0")[3:4] not in ([], [b"demo"]):
                    seen |= {called, visible(child, "environ")}
    assert demo.returncode == 0
    assert any(b"proxyctl" in text for text in seen)
    assert not sentinels.shown_in(b"\n".join(seen))
