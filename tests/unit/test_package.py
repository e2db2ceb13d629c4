"""The content of the wheel, and a bug of early Python 3.11 releases."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

from hatchling.builders.wheel import WheelBuilder

from tests.support.paths import ROOT


def test_the_files_that_are_not_code_are_in_the_wheel(tmp_path: Path) -> None:
    (built,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    names = set(zipfile.ZipFile(built).namelist())
    assert {"proxyctl/py.typed", "proxyctl/catalog/sentences.toml"} <= names
    templates = [p.relative_to(ROOT) for p in (ROOT / "templates").rglob("*") if p.is_file()]
    assert templates
    for path in templates:
        assert any(name.endswith(path.as_posix()) for name in names), path


FOR_PROXYSQL = {"px106_repeated_group.py", "px402_rewrites_quoted_text.py"}
"""Files whose possessive groups are for ProxySQL's PCRE."""
POSSESSIVE_GROUP = re.compile(r"\)(?:\*\+|\+\+|\?\+)|\)\{[0-9,]*\}\+")


def test_no_expression_of_ours_has_a_possessive_group() -> None:
    """Python before 3.11.5 misreads possessive groups: a digest was silently a different text."""
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in sorted((ROOT / "proxyctl").rglob("*.py"))
        if path.name not in FOR_PROXYSQL
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if POSSESSIVE_GROUP.search(line)
    ]
    assert found == []
