"""The wheel holds what the commands need at run time."""

from __future__ import annotations

import zipfile
from pathlib import Path

from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[2]


def test_the_starters_of_init_are_in_the_wheel(tmp_path: Path) -> None:
    (built,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    names = set(zipfile.ZipFile(built).namelist())
    assert "proxyctl/py.typed" in names
    templates = [p.relative_to(ROOT) for p in (ROOT / "templates").rglob("*") if p.is_file()]
    assert templates
    for path in templates:
        assert any(name.endswith(path.as_posix()) for name in names), path
