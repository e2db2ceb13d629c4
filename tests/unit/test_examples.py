"""Starter layouts and examples are complete and valid, and their texts are right."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from proxyctl.config.files import load_project
from proxyctl.config.project import Project
from proxyctl.config.sources import Sources
from proxyctl.interchange.cnf_reader import read_cnf
from proxyctl.rows.row import KEEP
from tests.support.paths import ROOT

TEMPLATES = sorted(mark.parent for mark in (ROOT / "templates").glob("*/proxyctl.yaml"))
EXAMPLES = sorted(path for path in (ROOT / "examples").iterdir() if path.is_dir())
SHARDING = ROOT / "examples" / "sharding-sysbench"


@pytest.fixture(autouse=True)
def _secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in (*TEMPLATES, *EXAMPLES):
        for file in folder.rglob("*.y*ml*"):
            for name in re.findall(r"\{env: (\w+)\}", file.read_text()):
                monkeypatch.setenv(name, f"secret of {name}")


def loaded(folder: Path, **variables: str) -> Project:
    return load_project(Sources((str(folder),), variables))


@pytest.mark.parametrize("shards", range(1, 7))
def test_sysbench_over_any_number_of_shards(shards: int) -> None:
    project = loaded(SHARDING / "any-number", shards=str(shards))
    assert len(project.desired.tables["mysql_query_rules"].rows) == shards
    assert len(project.routing_tests) == 60


def test_the_take_over_is_what_import_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = ROOT / "examples" / "take-over"
    imported = read_cnf((folder / "proxysql.cnf").read_text(), "proxysql.cnf").content
    users = imported.layouts["mysql_users"]
    password = imported.tables["mysql_users"][0][users.index["password"]]
    monkeypatch.setenv("APP_PASSWORD", str(password))
    monkeypatch.setenv("MONITOR_PASSWORD", imported.variables["mysql-monitor_password"])
    desired = loaded(folder).desired
    for name, layout in imported.layouts.items():
        found = [
            tuple(
                column.default if value is KEEP else value
                for column, value in zip(layout.columns, row, strict=True)
            )
            for row in desired.tables[name].rows.values()
        ]
        assert found == imported.tables[name]
    for variable, text in desired.tables["mysql_variables"].rows.values():
        assert imported.variables[str(variable)] == text
    table = (folder / "README.md").read_text()
    assert len(imported.warnings) == table.count("\n| ") - 2
