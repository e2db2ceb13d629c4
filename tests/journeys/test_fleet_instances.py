"""Which instances a command of all means: each address is one instance."""

from __future__ import annotations

import json

import pytest

from tests.journeys.story import said
from tests.journeys.test_fleet import SERVERS, listed
from tests.support.cli import Project, proxyctl


@pytest.mark.parametrize("command", ["plan", "apply", "drift", "doctor"])
def test_one_address_under_two_names_is_a_slip(offline: Project, command: str) -> None:
    """px3 was copied from px2, and its port forgotten: nobody would ever change the real one."""
    offline.write(SERVERS + listed([6141, 6142, 6142]))
    found = proxyctl(command, "--all")
    said(found, 1, "proxyctl.yaml:6:5: instances.px3: the address of px2, at proxyctl.yaml:5:5")
    assert found.out == ""


def test_also_in_what_a_command_prints(offline: Project) -> None:
    offline.write(SERVERS)
    socket = {"socket": "/run/proxysql.sock"}
    offline.write(json.dumps([{"name": "a", **socket}, {"name": "b", **socket}]), "found.json")
    found = proxyctl("plan", "--all", "--instances-from", "cat found.json")
    said(found, 1, "<cat>:1:", "instances.b: the address of a, at <cat>:1:")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"host": "localhost", "port": 6042}, {"host": "127.0.0.1", "port": 6042}),
        ({"host": "::1", "port": 6042}, {"host": "LocalHost", "port": 6042}),
        ({"host": "Proxy1.example.com"}, {"host": "proxy1.example.com."}),
        ({"host": "fd00::0:7"}, {"host": "FD00::7"}),
        ({"socket": "/run/proxysql.sock"}, {"socket": "/run/../run//proxysql.sock"}),
    ],
)
def test_also_in_another_spelling(
    offline: Project, one: dict[str, object], other: dict[str, object]
) -> None:
    offline.write(SERVERS)
    offline.write(json.dumps([{"name": "a", **one}, {"name": "b", **other}]), "found.json")
    found = proxyctl("plan", "--all", "--instances-from", "cat found.json")
    said(found, 1, "<cat>:1:", "instances.b: the address of a, at <cat>:1:")


def test_for_one_of_them_it_may_be(offline: Project) -> None:
    """A tunnel has one address, and leads to another instance tomorrow."""
    offline.write(SERVERS + listed([1, 1]))
    said(proxyctl("plan", "--instance", "px2"), 1, "cannot connect to 127.0.0.1:1")
