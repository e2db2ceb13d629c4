"""What `import` writes of a proxysql.cnf, and what it says of the rest: one folder a case.

A case has `proxysql.cnf` and may have `options`. `proxyctl.yaml`, what is written, and `said.txt`
are recorded. Every password of the cases holds `hunter2`.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.golden.test_plan import words
from tests.support.cli import Project, proxyctl

CASES = sorted(path for path in (Path(__file__).parent / "import").iterdir() if path.is_dir())


@pytest.mark.parametrize("folder", CASES, ids=lambda path: path.name)
def test_import(folder: Path, offline: Project, pytestconfig: pytest.Config) -> None:
    shutil.copy(folder / "proxysql.cnf", offline.folder)
    options = words(folder, "options")
    found = proxyctl("import", "proxysql.cnf", "-o", "proxyctl.yaml", *options)
    written = offline.folder / "proxyctl.yaml"
    got = {"said.txt": f"exit code {found.code}\n{found.text}"}
    if written.exists():
        got["proxyctl.yaml"] = written.read_text()
    for name, text in got.items():
        if pytestconfig.getoption("--update-golden"):
            (folder / name).write_text(text)
        assert text == (folder / name).read_text(), name
        assert "hunter2" not in text
    assert (folder / "proxyctl.yaml").exists() is (found.code == 0)
    if found.code != 0:
        return
    assert proxyctl("validate").code == 0
    for secrets in ("omit", "clear"):
        again = proxyctl("import", "proxysql.cnf", "-o", secrets, "--secrets", secrets, *options)
        assert (again.code, "hunter2" in again.text) == (0, False), again.text
        shutil.move(offline.folder / secrets, written)
        accepted = proxyctl("validate")
        assert accepted.code == 0, accepted.text
