"""`validate`, `render` and `import` of files: one folder per case in `config`, `render`, `import`.

A case may have `options` for its command. `pytest --update-golden` writes the expected files again:
then read the difference. Every clear-text password contains `hunter2`, which no output shows.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from proxyctl.catalog import parse_version
from proxyctl.config.files import Sources, load_project
from proxyctl.errors import ConfigError
from tests.golden.case_files import words
from tests.golden.conftest import Recorded
from tests.support.commands.cli import SECRETS, Project, proxyctl


def cases(name: str) -> pytest.MarkDecorator:
    here = Path(__file__).parent / name
    # Not __pycache__, which an older checkout may have left here.
    folders = sorted(path for path in here.iterdir() if path.is_dir() and path.name[0] != "_")
    assert folders
    return pytest.mark.parametrize("folder", folders, ids=lambda path: path.name)


@cases("config")
def test_every_mistake_is_reported_at_its_place(
    folder: Path, recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`version.txt` names the ProxySQL version where the files do not."""
    monkeypatch.chdir(folder)
    monkeypatch.delenv("VARIABLE_NOT_SET", raising=False)
    version = "".join(words(folder, "version.txt"))
    try:
        project = load_project(Sources((".",)), version=parse_version(version) if version else None)
    except ConfigError as error:
        lines = error.lines()
    else:
        lines = ["no mistakes", *project.desired.warnings]
    recorded(folder / "expected.txt", "".join(f"{line}\n" for line in lines))


@cases("render")
def test_render(folder: Path, offline: Project, recorded: Recorded) -> None:
    shutil.copy(folder / "proxyctl.yaml", offline.folder)
    options = words(folder, "options")
    for form in ("yaml", "sql", "cnf"):
        found = proxyctl("render", "--format", form, *options)
        assert found.code == 0, found.text
        shown = found.err + found.out
        recorded(folder / f"rendered.{form}", shown)
        assert not any(secret in shown for secret in ("hunter2", *SECRETS.values()))
        if form == "yaml":
            offline.write(found.out, "again.yaml")
            again = proxyctl("render", "-f", "again.yaml", *options)
            assert without_comments(again.out) == without_comments(found.out)


def without_comments(text: str) -> list[str]:
    """Return the lines without comments: secrets of variables are comments."""
    return [line for line in text.splitlines() if not line.lstrip().startswith("#")]


@cases("import")
def test_import(folder: Path, offline: Project, recorded: Recorded) -> None:
    """Compare the imported file and the messages about what could not be imported.

    The imported file is the one that is not recorded: a proxysql.cnf, or a file that holds one.
    """
    recorded_names = {"options", "proxyctl.yaml", "stderr.txt"}
    (source,) = (path.name for path in folder.iterdir() if path.name not in recorded_names)
    shutil.copy(folder / source, offline.folder)
    options = words(folder, "options")
    found = proxyctl("import", source, "-o", "proxyctl.yaml", *options)
    written = offline.folder / "proxyctl.yaml"
    got = {"stderr.txt": f"exit code {found.code}\n{found.text}"}
    if written.exists():
        got["proxyctl.yaml"] = written.read_text()
    for name, text in got.items():
        recorded(folder / name, text)
        assert "hunter2" not in text
    assert (folder / "proxyctl.yaml").exists() is (found.code == 0)
    if found.code != 0:
        return
    assert proxyctl("validate").code == 0
    for secrets in ("omit", "clear"):
        again = proxyctl("import", source, "-o", secrets, "--secrets", secrets, *options)
        assert (again.code, "hunter2" in again.text) == (0, False), again.text
        shutil.move(offline.folder / secrets, written)
        accepted = proxyctl("validate")
        assert accepted.code == 0, accepted.text
