"""What a user reads about wrong files: one folder a case, found by listing this folder.

A case is the files of a project and `expected.txt`; `version.txt` names the ProxySQL where the
files do not. `pytest --update-golden` writes what is expected again: then read the difference.
"""

from pathlib import Path

import pytest

from proxyctl.catalog import parse_version
from proxyctl.config.project import Sources, load_project
from proxyctl.errors import ConfigError

HERE = Path(__file__).parent
CASES = sorted(path.name for path in HERE.iterdir() if path.is_dir() and path.name[0] not in "._")


def said_about(case):
    """Return what is said about the files of a case, as a user reads it."""
    version_file = case / "version.txt"
    version = parse_version(version_file.read_text()) if version_file.exists() else None
    try:
        project = load_project(Sources((".",)), version=version)
    except ConfigError as error:
        return "\n".join(error.lines()) + "\n"
    return "no mistakes\n" + "".join(f"{line}\n" for line in project.desired.warnings)


@pytest.mark.parametrize("name", CASES)
def test_every_mistake_is_reported_at_its_place(name, request, monkeypatch):
    case = HERE / name
    monkeypatch.chdir(case)
    monkeypatch.delenv("PROXYCTL_TEST_NOT_SET", raising=False)
    said = said_about(case)
    if request.config.getoption("--update-golden", default=False):
        (case / "expected.txt").write_text(said, encoding="utf-8")
    assert said == (case / "expected.txt").read_text(encoding="utf-8")


def test_there_are_cases():
    assert len(CASES) > 20
