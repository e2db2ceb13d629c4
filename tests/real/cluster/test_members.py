"""A native cluster of real ProxySQL: who counts as a member."""

from __future__ import annotations

import pytest

from tests.real.cluster.files import USER, apply, hostgroups, name, write
from tests.real.cluster.rig import set_admin, wait_until
from tests.support.cli import Project, proxyctl
from tests.support.servers import ProxySQL

pytestmark = [pytest.mark.real, pytest.mark.since("2.6.0", "mysql_servers_v2")]


def lists(*instances: ProxySQL) -> str:
    rows = (f"  - {{hostname: 127.0.0.1, port: {one.port}}}\n" for one in instances)
    return "proxysql_servers:\n" + "".join(rows)


def listed_at(one: ProxySQL) -> set[str]:
    rows = one.instance.query("SELECT hostname, port FROM runtime_proxysql_servers")
    return {f"{host}:{port}" for host, port in rows}


def test_who_is_listed_by_two_addresses_counts_once(
    three: list[ProxySQL], project: Project
) -> None:
    for one in three[:2]:
        three[0].instance.execute(
            f"INSERT INTO proxysql_servers (hostname, port) VALUES ('localhost', {one.port})"
        )
    three[0].instance.execute("LOAD PROXYSQL SERVERS TO RUNTIME")
    write(project, USER.format(10))
    done = apply("--format", "json")
    assert done.code == 0, done.text
    assert [one["name"] for one in done.json["peers"]] == sorted(map(name, three[1:]))


def test_an_instance_knows_itself_whatever_way_it_was_come_by(
    three: list[ProxySQL], project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a socket, while its listed address does not let us in."""
    first = three[0]
    socket = first.folder / "admin.sock"
    set_admin(first, mysql_ifaces=f"127.0.0.1:{first.port};{socket}")
    wait_until(socket.exists)
    for name_ in ("USER", "PASSWORD", "HOST", "PORT"):
        monkeypatch.delenv(f"PROXYCTL_{name_}")
    write(
        project,
        USER.format(10)
        + "instances:\n"
        + f"  - {{name: px1, socket: {socket}, password: admin}}\n"
        + f"  - {{name: listed, host: 127.0.0.1, port: {first.port}, password: wrong}}\n",
    )
    done = apply("--instance", "px1", "--format", "json")
    assert done.code == 0, done.text
    assert [one["name"] for one in done.json["peers"]] == sorted(map(name, three[1:]))
    assert "no lock there" not in done.err


def test_who_is_no_member_any_more_is_named(three: list[ProxySQL], project: Project) -> None:
    write(project, USER.format(10) + lists(*three[:2]))
    done = apply()
    assert done.code == 0, done.text
    gone = f"{name(three[2])} is no member any more: not waited for\n"
    assert gone in done.err
    assert f"warning      {name(three[2])} leaves the cluster, but goes on to take" in done.out
    assert f"1 peer follows: {name(three[1])}" in done.out
    write(project, "proxysql_servers: []\n")
    done = apply("--force")
    assert done.code == 0, done.text
    assert f"{name(three[1])} is no member any more: not waited for\n" in done.err


def test_who_leaves_goes_on_until_it_lists_nobody_and_comes_back_with_a_rollback(
    three: list[ProxySQL], project: Project
) -> None:
    first, second, third = three
    write(project, USER.format(10))
    assert apply().code == 0
    write(project, USER.format(20) + lists(first, second))
    done = apply("--format", "json").json
    assert done["plan"]["leaving_members"] == [name(third)]
    assert [one["name"] for one in done["peers"]] == [name(second)]
    wait_until(lambda: hostgroups(third) == {"20"})

    back = proxyctl("rollback", "--auto-approve", "--format", "json")
    assert back.code == 0, back.text
    assert {one["name"]: one["follows"] for one in back.json["peers"]} == {
        name(second): True,
        name(third): True,
    }
    assert [hostgroups(one) for one in three] == [{"10"}] * 3

    write(project, lists(first, second))
    assert apply().code == 0
    wait_until(lambda: listed_at(third) == listed_at(first))
    write(project, "proxysql_servers: []\n")
    at_third = ("--host", "127.0.0.1", "--port", str(third.port))
    alone = apply("--force", "--format", "json", *at_third)
    assert alone.code == 0, alone.text
    assert sorted(alone.json["plan"]["leaving_members"]) == sorted(map(name, (first, second)))
    assert not any("leaves the cluster" in text for text in alone.json["plan"]["warnings"])
    write(project, USER.format(30))
    assert apply().code == 0
    assert [hostgroups(one) for one in three] == [{"30"}, {"30"}, {"10"}]
    assert listed_at(first) == listed_at(second) == {name(first), name(second)}
