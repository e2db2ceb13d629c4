"""BLOB cells, which others write with X'...': ProxySQL takes them for text, and so do we."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import Project, proxyctl
from tests.support.servers import Instance

SHA2 = b"$A$005$" + bytes(range(65, 85)) + b"a" * 43
FILE = f"""\
version: 1
mysql_users:
  - {{username: a, password: x}}
  - {{username: b, password: {{hex: '{SHA2.hex()}'}}}}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, instance: Instance) -> Project:
    made = Project(tmp_path, monkeypatch)
    made.connect(instance)
    instance.run("INSERT INTO mysql_users (username, password) VALUES ('a','x')")
    instance.run(f"INSERT INTO mysql_users (username, password) VALUES ('b',X'{SHA2.hex()}')")
    for command in ("LOAD MYSQL USERS TO RUNTIME", "SAVE MYSQL USERS TO DISK"):
        instance.run(command)
    return made


@pytest.mark.since("2.6.0", "no caching_sha2_password")
def test_a_blob_equals_the_text_of_its_bytes(project: Project) -> None:
    project.write(FILE)
    assert proxyctl("plan", "--detailed-exitcode").code == 0


@pytest.mark.since("2.6.0", "no caching_sha2_password")
@pytest.mark.parametrize("layer", ["runtime", "memory", "disk"])
def test_an_export_has_the_row_and_its_neighbours(project: Project, layer: str) -> None:
    exported = proxyctl("export", "--layer", layer)
    assert SHA2.decode() in exported.out
    project.write(exported.out)
    assert proxyctl("plan", "--detailed-exitcode").code == 0


@pytest.mark.since("2.6.0", "no caching_sha2_password")
def test_an_apply_changes_such_a_row(project: Project, instance: Instance) -> None:
    project.write(FILE.replace("'}}", "'}, comment: new}"))
    assert proxyctl("apply", "--auto-approve").code == 0
    assert proxyctl("plan", "--detailed-exitcode").code == 0
    assert instance.query("SELECT comment FROM disk.mysql_users WHERE username='b'") == [("new",)]
