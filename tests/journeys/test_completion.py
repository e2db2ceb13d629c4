"""Shell completion, called as bash calls it."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.support.commands.cli import Project
from tests.support.commands.story import FILES, applied
from tests.support.commands.warm import Warm

INSTANCES = """\
version: 1
instances:
  - {name: px1, host: 127.0.0.1}
  - {name: px2, host: 127.0.0.1, port: 7032}
mysql_servers:
  - {hostgroup_id: 10, hostname: pxc1}
  - {hostgroup_id: 20, hostname: pxc1}
  - {hostgroup_id: 20, hostname: pxc2, port: 3307}
"""


def offered(warm: Warm, project: Project, line: str) -> list[str]:
    """Return the completions that bash offers for the last word of a command line."""
    asked = {"_PROXYCTL_COMPLETE": "complete_bash", "COMP_WORDS": line}
    done = subprocess.run(
        warm.command,
        cwd=project.folder,
        env={**os.environ, **asked, "COMP_CWORD": str(line.count(" "))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("proxyctl plan --instance px", ["px1", "px2"]),
        ("proxyctl plan -f broken.yaml --instance px", []),
        ("proxyctl plan --only mysql_us", ["mysql_users"]),
        ("proxyctl plan --only MYSQL-US", ["MYSQL-USERS"]),
        ("proxyctl lint --explain PX30", ["PX301", "PX302", "PX304", "PX307"]),
        ("proxyctl schema --key guards.max_deletes.r", ["guards.max_deletes.rows"]),
        ("proxyctl schema --key mysql-thread", ["mysql-threads"]),
        ("proxyctl nodes dr", ["drain"]),
        ("proxyctl doctor --ignore peer-d", ["peer-differs"]),
        ("proxyctl init --template p", ["pxc"]),
        ("proxyctl nodes drain pxc", ["pxc1", "pxc2:3307"]),
        ("proxyctl nodes restore -f broken.yaml pxc", []),
    ],
)
def test_names_are_offered(warm: Warm, offline: Project, line: str, names: list[str]) -> None:
    offline.write(INSTANCES)
    offline.write("version: [\n", "broken.yaml")
    assert offered(warm, offline, line) == names


def test_snapshots_of_the_instance_are_offered(warm: Warm, sandbox_project: Project) -> None:
    sandbox_project.write(FILES)
    applied()
    (name,) = offered(warm, sandbox_project, "proxyctl rollback 20")
    assert name.endswith("Z")
