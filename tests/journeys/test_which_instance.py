"""A socket of an option file, and files that nobody needs. See `golden/pages/command-lines.md`."""

from __future__ import annotations

import pytest

from tests.journeys.story import said
from tests.support.cli import Project, proxyctl
from tests.support.servers import Instance


def test_the_port_of_an_option_beats_the_socket_of_a_file(
    project: Project, instance: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PROXYCTL_HOST")
    monkeypatch.delenv("PROXYCTL_PORT")
    project.write("[client]\nsocket=/nowhere.sock\n", "my.cnf")
    where = ["--defaults-file", "my.cnf", "--port", str(instance.port)]
    assert proxyctl("export", *where).code == 0
    said(proxyctl("export", "--defaults-file", "my.cnf"), 1, "/nowhere.sock")


def test_export_needs_no_files(project: Project, instance: Instance) -> None:
    project.write("this is: [no yaml")
    assert proxyctl("export").code == 0
