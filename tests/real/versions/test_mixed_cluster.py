"""A ProxySQL Cluster during an upgrade: its members do not pull from one another."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.cluster.rig import fleet_of, join
from tests.support.commands.cli import Project, proxyctl
from tests.support.servers.instances import ProxySQL, needed_binary, other_binary

pytestmark = [pytest.mark.sweep, pytest.mark.real]

USERS = "mysql_users: [{username: app, password: x, default_hostgroup: 10}]\n"


@pytest.fixture
def mixed(tmp_path: Path, offline: Project) -> Iterator[tuple[ProxySQL, ProxySQL]]:
    """Two members of different versions that list each other, and files that name both."""
    binary, other = needed_binary(), other_binary()
    with ProxySQL(binary, tmp_path / "one") as one, ProxySQL(other, tmp_path / "two") as two:
        for member in (one, two):
            join(member, (one, two))
        offline.write(f"version: 1\n{fleet_of(one, two)}{USERS}")
        yield one, two


def test_members_of_different_versions_are_refused_together_and_take_the_change_one_by_one(
    mixed: tuple[ProxySQL, ProxySQL],
) -> None:
    [one, two] = [str(member.instance.query("SELECT @@version")[0][0]) for member in mixed]
    words = (
        "members of a ProxySQL Cluster with different versions do not synchronise:"
        f" px1 has {one}, px2 has {two} fix: upgrade all of them first"
    )
    for command in ("plan", "apply"):
        options = ["--detailed-exitcode"] if command == "plan" else ["--auto-approve"]
        refused = proxyctl(command, "--all", *options)
        assert refused.code == 3, refused.text
        assert words in " ".join(refused.text.split()), refused.text
    for member in mixed:
        assert member.instance.query("SELECT username FROM runtime_mysql_users") == []
    for name in ("px1", "px2"):
        shown = proxyctl("plan", "--instance", name)
        assert "has never answered this member and will not follow" in shown.out, shown.text
        done = proxyctl("apply", "--instance", name, "--auto-approve", "--peer-timeout", "0")
        assert done.code == 0, done.text
    assert proxyctl("plan", "--all", "--detailed-exitcode").code == 0
