"""What the command of --instances-from may print: no file outside the fence, no other section."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from proxyctl.sandbox import Sandbox
from tests.journeys.story import said
from tests.support.cli import Project, proxyctl

SERVERS = "version: 1\nmysql_servers: [{hostgroup_id: 10, hostname: db1}]\n"


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
        assert f": {section}: only `instances` are taken from what a command prints" in found.err
    offline.write(json.dumps({"version": 7, "instances": printed["instances"]}), "found.json")
    said(proxyctl(*command), 1, "<cat>:1:13: version: ")
