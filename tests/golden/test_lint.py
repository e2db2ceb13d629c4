"""The findings of lint: one page per subject in `lint/`.

The first YAML of a page begins the file of each case. A case is a heading with the codes of the
checks, the rest of its file, and the findings, which `make golden` writes again.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from proxyctl.config.files import Sources, load_project
from proxyctl.lint.check import chosen
from proxyctl.lint.run import lint
from proxyctl.lint.subject import LintSubject
from proxyctl.render.lint import lint_text
from proxyctl.render.style import Style
from tests.golden.conftest import Recorded

PAGES = sorted((Path(__file__).parent / "lint").glob("*.md"))
_FIRST = re.compile(r"```yaml\n(.*?)```\n", re.DOTALL)
_CASE = re.compile(
    r"(?P<head>## (?P<codes>PX[0-9, PX]*): [^\n]+\n\n```yaml\n(?P<rest>.*?)```\n\n```text\n)"
    r"(?P<findings>.*?)```\n",
    re.DOTALL,
)
REFERENCED = {
    "APP": "sesame",
    "ADDRESS": "192.0.2.1%",
    "DIGEST": "5EEDBAD5EEDBAD00",
    "SCRIPT": "/opt/hunter2_galera_check.sh",
}
"""What the cases name with {env: ...}."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recorded: Recorded
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, value in REFERENCED.items():
        monkeypatch.setenv(name, value)
    text = page.read_text(encoding="utf-8")
    first = _FIRST.search(text)
    assert first is not None

    def with_findings(case: re.Match[str]) -> str:
        Path("proxyctl.yaml").write_text(first[1] + case["rest"], encoding="utf-8")
        return f"{case['head']}{finding_lines(case['codes'].split(', '))}```\n"

    written, count = _CASE.subn(with_findings, text)
    assert count == text.count("\n## ")
    recorded(page, written)


def finding_lines(codes: list[str]) -> str:
    """Return the findings of these checks for the file."""
    project = load_project(Sources(("proxyctl.yaml",)), takes_dead_rules=True)
    found = lint_text(
        lint(LintSubject(project.configuration, policies=project.policies), chosen(codes, ())),
        Style(),
    )
    assert not re.search("sesame|hunter2|192[.]0[.]2|5EEDBAD", found)
    return found
