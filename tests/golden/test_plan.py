"""The output of a plan: one folder per case, recorded whole from the command line.

A case has `proxyctl.yaml` and `current.sql`: the statements that the instance ran before. A line
`-- place HOSTGROUP HOST:PORT` lets the monitor make that node the writer, `-- shun` shuns it. A
case may have `options` for plan and apply, `flags` for the apply alone, and the `version` of
ProxySQL. The test records `plan.*` and `drift.txt`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from proxyctl.sandbox import Sandbox
from tests.golden.case_files import words
from tests.golden.conftest import Recorded
from tests.support.commands.cli import SECRETS, Project, proxyctl
from tests.support.servers.instances import Instance
from tests.support.servers.monitor import place

CASES = sorted(path for path in (Path(__file__).parent / "plan").iterdir() if path.is_dir())
_FORMATS = {"plan.txt": "text", "plan.json": "json", "plan.md": "markdown", "plan.sql": "sql"}
COMMANDS = {
    **{
        name: ["plan", "--detailed-exitcode", "--format", format]
        for name, format in _FORMATS.items()
    },
    "drift.txt": ["drift"],
}
INPUTS = {"proxyctl.yaml", "current.sql", "options", "flags", "version"}

_FILTERS = (
    (re.compile(r"127\.0\.0\.1:\d{4,5}"), "HOST:PORT"),
    (re.compile(r"--port \d{4,5}"), "--port PORT"),
    (re.compile(r"(2\.7\.1|4\.0\.12)-sandbox"), "VERSION"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"), "TIME"),
    (re.compile(r'("fingerprint": )"[0-9a-f]{64}"'), r'\1"FINGERPRINT"'),
)


def filtered(text: str) -> str:
    """Replace the parts that differ from run to run."""
    for pattern, replacement in _FILTERS:
        text = pattern.sub(replacement, text)
    return text


def _statements(text: str) -> Iterator[str]:
    for statement in text.split(";\n"):
        if statement.strip():
            yield statement.strip()


def prepare(sandbox: Sandbox, text: str) -> None:
    """Run `current.sql`."""
    for statement in _statements(text):
        played = re.match(r"-- (place|shun) (\d+) (\S+):(\d+)", statement)
        if played is None:
            sandbox.run(statement)
            continue
        hostgroup, node = int(played[2]), (played[3], int(played[4]))
        if played[1] == "place":
            place(sandbox, hostgroup, writers=[node])
        else:
            sandbox.shun(hostgroup, *node)


@pytest.fixture
def sandbox(folder: Path) -> Iterator[Sandbox]:
    """A sandbox of the case's version, with its monitor off."""
    off = {"mysql-monitor_enabled": "false"}
    with Sandbox(*words(folder, "version"), variables=off) as served:
        yield served


@pytest.mark.parametrize("folder", CASES, ids=lambda path: path.name)
def test_plan(folder: Path, sandbox: Sandbox, offline: Project, recorded: Recorded) -> None:
    unknown = {path.name for path in folder.iterdir()} - INPUTS - COMMANDS.keys()
    assert not unknown, unknown
    offline.connect(Instance(sandbox.host, sandbox.port))
    offline.write((folder / "proxyctl.yaml").read_text(errors="surrogateescape"))
    prepare(sandbox, (folder / "current.sql").read_text(errors="surrogateescape"))
    options = words(folder, "options")
    before = _layers(sandbox)

    for name, command in COMMANDS.items():
        is_drift = command == ["drift"]
        found = proxyctl(*command, *(_drift_options(options) if is_drift else options))
        shown = filtered(found.text)
        if name in ("plan.txt", "drift.txt"):
            shown = f"exit code {found.code}\n{shown}"
        recorded(folder / name, shown)
        assert not any(secret in shown for secret in SECRETS.values())
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", found.text)
    assert _layers(sandbox) == before

    flags = words(folder, "flags")
    applied = proxyctl("apply", "--auto-approve", *options, *flags)
    if "refused " in (folder / "plan.txt").read_text(errors="surrogateescape") and not flags:
        assert applied.code == 3, applied.text
        assert _layers(sandbox) == before
        return
    assert applied.code == 0, applied.text
    again = proxyctl("plan", "--detailed-exitcode", *options)
    assert (again.code, "No changes" in again.out) == (0, True), again.text


def _drift_options(options: list[str]) -> list[str]:
    """Return the options that drift has too: without those that let an apply do more."""
    return [option for option in options if option != "--discard-pending"]


def _layers(sandbox: Sandbox) -> list[object]:
    """Return the rows of all three layers, in the tables that the cases change."""
    tables = [
        *("mysql_servers", "mysql_users", "mysql_query_rules", "mysql_query_rules_fast_routing"),
        *("mysql_galera_hostgroups", "mysql_hostgroup_attributes", "global_variables"),
    ]
    schemas = ("main.", "main.runtime_", "disk.")
    return [
        sorted(sandbox.query(f"SELECT * FROM {schema}{table}"), key=repr)
        for table in tables
        for schema in schemas
    ]
