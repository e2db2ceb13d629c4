"""A native cluster of real ProxySQL with a member whose name no name server answers for."""

from __future__ import annotations

import pytest

from tests.real.cluster.files import USER, apply, hostgroups, name, write
from tests.support.cli import Project
from tests.support.servers import ProxySQL
from tests.support.slow_names import SLOW, slow_names

pytestmark = [pytest.mark.real, pytest.mark.since("2.6.0", "mysql_servers_v2")]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_it_is_named_and_the_others_follow(
    three: list[ProxySQL], project: Project, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    """By another name than the listed one it is to be found out who is the instance itself."""
    first = three[0]
    run = first.instance.execute
    run(f"INSERT INTO proxysql_servers (hostname, port) VALUES ('{SLOW}', {first.port})")
    run("LOAD PROXYSQL SERVERS TO RUNTIME")
    write(project, USER.format(10))
    with slow_names(monkeypatch):
        done = apply("--host", host, "--peer-timeout", "2")
    assert done.code == 4, done.text
    slow = f"{SLOW}:{first.port}"
    assert f"{slow} does not answer yet: 5 s at most\n" in done.err
    assert (
        f"{slow}: no lock there (cannot connect to {slow}: its name is not found within 5 s)"
    ) in done.err
    assert f"peer {slow} does not follow:\n" in done.out
    assert f"peer {name(first)}" not in done.out
    assert [hostgroups(one) for one in three] == [{"10"}] * 3
