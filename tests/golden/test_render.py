"""What `render` makes of files, in every format: one folder a case.

A case has `proxyctl.yaml` and may have `options`. `rendered.*` is recorded: what stdout gets, and
what stderr says in front of it. Clear text of a password holds `hunter2`, and is not shown.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.golden.test_plan import words
from tests.support.cli import SECRETS, Project, proxyctl

CASES = sorted(path for path in (Path(__file__).parent / "render").iterdir() if path.is_dir())


@pytest.mark.parametrize("folder", CASES, ids=lambda path: path.name)
def test_render(folder: Path, offline: Project, pytestconfig: pytest.Config) -> None:
    shutil.copy(folder / "proxyctl.yaml", offline.folder)
    options = words(folder, "options")
    for form in ("yaml", "sql", "cnf"):
        found = proxyctl("render", "--format", form, *options)
        assert found.code == 0, found.text
        shown = found.err + found.out
        path = folder / f"rendered.{form}"
        if pytestconfig.getoption("--update-golden"):
            path.write_text(shown, encoding="utf-8")
        assert shown == path.read_text(encoding="utf-8")
        assert not any(secret in shown for secret in ("hunter2", *SECRETS.values()))
        if form == "yaml":
            offline.write(found.out, "again.yaml")
            again = proxyctl("render", "-f", "again.yaml", *options)
            assert without_comments(again.out) == without_comments(found.out)


def without_comments(text: str) -> list[str]:
    """Return the lines that say something: secrets of variables are comments."""
    return [line for line in text.splitlines() if not line.lstrip().startswith("#")]
