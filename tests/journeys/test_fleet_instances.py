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


# -- instances that a command prints ---------------------------------------------------------------


def test_instances_that_a_command_prints(offline: Project, ports: list[int]) -> None:
    offline.write(SERVERS)
    instances = [
        {"name": f"px{n}", "host": "127.0.0.1", "port": port, "password": "admin"}
        for n, port in enumerate(ports, 1)
    ]
    offline.write(json.dumps(instances), "found.json")
    found = proxyctl("plan", "--all", "--instances-from", "cat found.json")
    assert "px1, px2, px3  3 instances alike" in found.out
    offline.write(json.dumps({"instances": instances[:1]}), "found.json")
    assert "px1" in proxyctl("plan", "--all", "--instances-from", "cat found.json").out

    offline.write('[{"name": "px1", "prot": 6032}]', "found.json")
    wrong = proxyctl("plan", "--all", "--instances-from", "cat found.json")
    said(wrong, 1, "<cat>:1:", "prot")
    said(
        proxyctl("plan", "--all", "--instances-from", "cat gone.json"),
        1,
        "the command exited with 1",
    )
    said(proxyctl("plan", "--all", "--instances-from", "no-such-command"), 1, "No such file")
    said(proxyctl("plan", "--all", "--instances-from", "'"), 64, "no closing quotation")


def test_a_command_that_is_empty_or_names_nobody_does_not_mean_those_of_the_files(
    offline: Project, ports: list[int]
) -> None:
    """An empty one is what a variable of the environment gives that nobody set."""
    offline.write(SERVERS + listed(ports))
    for command in ("plan", "drift", "doctor", "apply"):
        for empty in ("", "  "):
            found = proxyctl(command, "--all", "--instances-from", empty)
            said(found, 64, "--instances-from: the command is empty")
        said(proxyctl(command, "--instances-from", ""), 64, "--instances-from needs --all")
    nobody = proxyctl("plan", "--all", "--instances-from", "echo []")
    said(nobody, 64, "--instances-from echo: the command printed no instance")
    assert "of the files" not in nobody.err


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


def test_other_sections_beside_the_instances_are_named(offline: Project) -> None:
    """They would count for nothing, and who prints them may believe that they do."""
    offline.write(SERVERS)
    printed = {"version": 1, "instances": [{"name": "px1", "host": "h.invalid"}]}
    offline.write(json.dumps(printed), "found.json")
    command = ("plan", "--all", "--instances-from", "cat found.json")
    assert "1 not read: px1." in proxyctl(*command).out

    more = {"mysql_servers": list[str](), "guards": {"max_deletes": 1}}
    offline.write(json.dumps({**printed, **more}, indent=1), "found.json")
    found = proxyctl(*command)
    said(found, 1, "2 mistakes in the files")
    for section in more:
        assert f": {section}: a command may print `instances` only" in found.err
    offline.write(json.dumps({"version": 7, "instances": printed["instances"]}), "found.json")
    said(proxyctl(*command), 1, "<cat>:1:13: version: ")
