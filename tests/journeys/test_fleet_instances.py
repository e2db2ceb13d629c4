"""Which instances a command of all means: those of the files, or those that a command prints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from proxyctl.cli.connect import printed_instances
from proxyctl.errors import ProxyctlError
from proxyctl.sandbox import Sandbox
from tests.journeys.fleet import SERVERS, listed
from tests.journeys.story import said
from tests.support.cli import Project, proxyctl


@pytest.mark.parametrize("command", ["plan", "apply", "drift", "doctor"])
def test_one_address_under_two_names_is_a_slip(offline: Project, command: str) -> None:
    """px3 was copied from px2, and its port forgotten: nobody would ever change the real one."""
    offline.write(SERVERS + listed([6141, 6142, 6142]))
    found = proxyctl(command, "--all")
    said(found, 1, "proxyctl.yaml:6:5: instances.px3: the address of px2, at proxyctl.yaml:5:5")
    assert found.out == ""


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


# -- instances that a command prints ---------------------------------------------------------------


def test_a_command_that_does_not_end_is_ended() -> None:
    with pytest.raises(ProxyctlError) as found:
        printed_instances("sleep 600", timeout_s=0.1)
    assert found.value.message == "--instances-from sleep: the command did not finish within 0.1 s"


@pytest.mark.parametrize("restricted", [False, True])
def test_files_that_it_names_stay_in_the_fence(
    offline: Project, tmp_path: Path, restricted: bool
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("admin\n")
    secret.chmod(0o600)
    inside = offline.folder / "inside"
    inside.mkdir()
    (inside / "proxyctl.yaml").write_text(SERVERS)
    with Sandbox() as sandbox:
        named = {"file": str(secret)}
        instance = {"name": "px1", "host": "127.0.0.1", "port": sandbox.port, "password": named}
        offline.write(json.dumps([instance]), "found.json")
        options = ("--restrict-paths",) if restricted else ()
        command = ("--instances-from", "cat found.json", *options)
        found = proxyctl("plan", "--all", "-f", "inside", *command)
        instance["tls_ca"] = str(secret)
        offline.write(json.dumps([instance]), "found.json")
        of_ca = proxyctl("plan", "--all", "-f", "inside", *command)
    if restricted:
        said(
            found, 1, "instances.px1.password", "the path leads out of the folders of the -f paths"
        )
        said(of_ca, 1, "instances[0].tls_ca", "the path leads out of the folders of the -f paths")
    else:
        assert found.code == 0, found.text
